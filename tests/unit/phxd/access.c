/* Granting and taking roles, and what is shown of them (cmd/phxd/access.c, people.c): what is
 * refused before the core hears of it, and who is looked at again afterwards. The core is real, but
 * events are kept instead of applied; root and nobody are users of every machine. */
#include "unit/core/world.h"

#include "fake/request.h"

#include <grp.h>

#include "phxd/access.c" /* parts of a program, not of the library */
#include "phxd/identity.c"
#include "phxd/parse.c"
#include "fake/starts.h"
#include "phxd/people.c"
#include "fake/submitted.h"

#define NOBODYS "phx-no-such-user"

static struct daemon d;
static struct world *w;
static struct phx_buf fake_looked; /* who was told that rights have changed */

/* what of the daemon it calls */

void accounts_look(struct accounts *a)
{
	(void)a;
	phx_buf_addf(&fake_looked, "accounts ");
}
void waits_wake(struct waits *of, uint64_t seq)
{
	(void)of;
	assert_int_equal(seq, 0);
	assert_true(d.rights > 0); /* before they are woken */
	phx_buf_addf(&fake_looked, "waits ");
}
void holds_wake(struct holds *h)
{
	(void)h;
	phx_buf_addf(&fake_looked, "holds ");
}
void asks_wake(struct asks *k)
{
	(void)k;
	phx_buf_addf(&fake_looked, "asks ");
}
void feed_wake(struct feed *f, uint64_t seq)
{
	(void)f, (void)seq;
	phx_buf_addf(&fake_looked, "feed ");
}
void seldom_tell(struct seldom *s, const struct seldom_fact *f)
{
	(void)s, (void)f;
}

static int setup(void **state)
{
	fake_engine_begin();
	fake_requests_begin();
	world_setup(state);
	w = *state;
	fake_state = &w->s;
	d = (struct daemon){0};
	return 0;
}

static int teardown(void **state)
{
	phx_buf_fini(&fake_looked);
	return world_teardown(state);
}

static void assert_looked(const char *who)
{
	assert_string_equal(fake_looked.n ? fake_looked.data : "", who);
}

static struct phx_http_request ordered(const char *body)
{
	struct phx_http_request q = {.body = body, .peer = {.via = PHX_HTTP_UNIX}};
	api_access_order(&q, &d);
	assert_true(q.code);
	return q;
}

/* ---- granting ---- */

static void a_grant_says_whose_it_is_and_of_whom(void **state)
{
	(void)state;
	fake_changed = true;
	struct phx_http_request q = ordered("{\"identity\":\"nobody\",\"role\":\"operator\"}");
	assert_int_equal(q.code, 200);
	assert_string_equal(phx_json_str(q.json, "identity", ""), "unix:nobody");
	assert_true(phx_json_bool(q.json, "changed", false));
	assert_int_equal(fake_events.n, 1);
	const struct phx_event *ev = fake_event(0);
	assert_int_equal(ev->kind, PHX_EV_access);
	assert_string_equal(ev->by, "uid:0");
	assert_string_equal(ev->access.identity, "unix:nobody");
	assert_int_equal(ev->access.role, PHX_WHO_OPERATOR);
	assert_string_equal(ev->access.login, "");
	assert_false(ev->access.revoke);
	fake_request_fini(&q);
}

static void whoever_is_held_is_looked_at_again_when_it_changed_something(void **state)
{
	(void)state;
	struct phx_http_request same = ordered("{\"identity\":\"nobody\",\"role\":\"operator\"}");
	assert_false(phx_json_bool(same.json, "changed", true));
	assert_looked("");
	assert_int_equal(d.rights, 0);
	fake_changed = true;
	struct phx_http_request q =
		ordered("{\"identity\":\"nobody\",\"role\":\"operator\",\"revoke\":true}");
	assert_true(fake_event(1)->access.revoke);
	assert_looked("accounts waits holds asks feed ");
	assert_int_equal(d.rights, 1);
	fake_request_fini(&same);
	fake_request_fini(&q);
}

static void what_is_not_journalled_wakes_nobody(void **state)
{
	(void)state;
	fake_changed = true;
	fake_submit_result = -EROFS;
	struct phx_http_request q = ordered("{\"identity\":\"nobody\",\"role\":\"operator\"}");
	assert_int_equal(q.code, -EROFS);
	assert_looked("");
}

static void what_makes_no_sense_does_not_reach_the_core(void **state)
{
	static const char *const bodies[] = {
		"[]",
		"{\"identity\":\"nobody\",\"role\":\"king\"}",
		"{\"identity\":\"nobody\",\"role\":7}",
		"{\"identity\":\"a b\",\"role\":\"operator\"}",
		"{\"role\":\"operator\"}",
		"{\"identity\":\"nobody\",\"role\":\"operator\",\"revoke\":\"no\"}",
		"{\"identity\":\"nobody\",\"role\":\"operator\",\"revok\":true}",
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bodies); i++) {
		struct phx_http_request q = ordered(bodies[i]);
		assert_int_equal(q.code, -EINVAL);
		assert_true(q.text[0]);
	}
	assert_int_equal(fake_events.n, 0);
}

static void nobody_works_as_root_or_as_who_is_not_there(void **state)
{
	(void)state;
	struct phx_http_request
		root = ordered("{\"identity\":\"cert:campus\",\"role\":\"login:root\"}"),
		gone = ordered("{\"identity\":\"cert:campus\",\"role\":\"login:" NOBODYS "\"}"),
		none = ordered("{\"identity\":\"cert:campus\",\"role\":\"login:\"}");
	assert_int_equal(root.code, -EINVAL);
	assert_non_null(strstr(root.text, "nobody works as root"));
	assert_int_equal(gone.code, -EINVAL);
	assert_int_equal(none.code, -EINVAL);
	assert_int_equal(fake_events.n, 0);
	/* but such a grant can be taken */
	struct phx_http_request taken = ordered(
		"{\"identity\":\"cert:campus\",\"role\":\"login:" NOBODYS "\",\"revoke\":true}");
	assert_int_equal(taken.code, 200);
	assert_string_equal(fake_event(0)->access.login, NOBODYS);
	struct phx_http_request q =
		ordered("{\"identity\":\"cert:campus\",\"role\":\"login:nobody\"}");
	assert_int_equal(q.code, 200);
	assert_string_equal(fake_event(1)->access.login, "nobody");
	fake_request_fini(&taken);
	fake_request_fini(&q);
}

/* ---- what is shown ---- */

static void grants(const char *identity, enum phx_who role, const char *login)
{
	struct phx_event ev = {.kind = PHX_EV_access, .by = "uid:0", .access.role = (int)role};
	PHX_STR_SET(ev.access.identity, identity);
	PHX_STR_SET(ev.access.login, login);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
}

static bool has_way(const json_t *rows, const char *identity, const char *role, const char *way)
{
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)rows, i, row) {
		if (!strcmp(phx_json_str(row, "identity", ""), identity) &&
		    !strcmp(phx_json_str(row, "role", ""), role) &&
		    !strcmp(phx_json_str(row, "way", ""), way))
			return true;
	}
	return false;
}

static void each_way_to_a_role_is_shown(void **state)
{
	struct phx_http_request q = {0};
	(void)state;
	const struct group *g = getgrgid(0);
	PHX_STR_SET(d.cfg.operator_group, g ? g->gr_name : "root");
	grants("cert:campus", PHX_WHO_PROVIDER, "");
	grants("cert:campus", PHX_WHO_PROVIDER, "nobody");
	api_access(&q, &d);
	const json_t *rows = json_object_get(q.json, "access");
	assert_true(has_way(rows, "unix:root", "admin", "root"));
	assert_true(has_way(rows, "unix:root", "operator", "group"));
	assert_true(has_way(rows, "cert:campus", "provider", "grant"));
	assert_true(has_way(rows, "cert:campus", "login:nobody", "grant"));
	assert_false(has_way(rows, "unix:root", "auditor", "group"));
	fake_request_fini(&q);
}

static struct phx_http_request who(struct phx_http_peer peer)
{
	struct phx_http_request q = {.peer = peer};
	api_whoami(&q, &d);
	assert_int_equal(q.code, 200);
	return q;
}

static bool has_role(const struct phx_http_request *q, const char *role)
{
	size_t i;
	json_t *name;
	json_array_foreach(json_object_get(q->json, "roles"), i, name) {
		if (!strcmp(json_string_value(name), role))
			return true;
	}
	return false;
}

static uid_t uid_of_nobody(void)
{
	struct person_login login;
	assert_true(person_login("nobody", &login));
	return login.uid;
}

static void people_learn_which_roles_they_have_and_why(void **state)
{
	(void)state;
	grants("unix:nobody", PHX_WHO_AUDITOR, "");
	grants("cert:campus", PHX_WHO_OPERATOR, "");
	struct phx_http_request root = who((struct phx_http_peer){.via = PHX_HTTP_UNIX}),
				q = who((struct phx_http_peer){
					.via = PHX_HTTP_UNIX, .uid = uid_of_nobody(), .gid = 1});
	assert_true(has_role(&root, "admin"));
	assert_true(has_way(json_object_get(root.json, "ways"), "unix:root", "admin", "root"));
	assert_string_equal(phx_json_str(q.json, "identity", ""), "unix:nobody");
	assert_true(has_role(&q, "user"));
	assert_true(has_role(&q, "auditor"));
	assert_false(has_role(&q, "admin"));
	assert_false(has_role(&q, "operator"));
	const json_t *ways = json_object_get(q.json, "ways");
	assert_int_equal(json_array_size(ways), 1); /* and not those of others */
	assert_true(has_way(ways, "unix:nobody", "auditor", "grant"));
	const json_t *rights = json_object_get(q.json, "rights");
	assert_string_equal(phx_json_str(rights, "journal", ""), "all");
	assert_string_equal(phx_json_str(rights, "nodes", ""), "-");
	fake_request_fini(&root);
	fake_request_fini(&q);
}

/* A node is no person: a grant to its identity is none. */
static void who_has_no_name_has_no_roles(void **state)
{
	(void)state;
	struct phx_http_peer peer = {.via = PHX_HTTP_TLS, .uid = (uid_t)-1};
	PHX_STR_SET(peer.address, "10.0.0.9");
	struct phx_http_request q = who(peer);
	assert_int_equal(json_array_size(json_object_get(q.json, "roles")), 0);
	assert_int_equal(json_array_size(json_object_get(q.json, "ways")), 0);
	assert_string_equal(phx_json_str(q.json, "by", ""), "10.0.0.9");
	fake_request_fini(&q);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_grant_says_whose_it_is_and_of_whom),
		TEST(whoever_is_held_is_looked_at_again_when_it_changed_something),
		TEST(what_is_not_journalled_wakes_nobody),
		TEST(what_makes_no_sense_does_not_reach_the_core),
		TEST(nobody_works_as_root_or_as_who_is_not_there),
		TEST(each_way_to_a_role_is_shown),
		TEST(people_learn_which_roles_they_have_and_why),
		TEST(who_has_no_name_has_no_roles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
