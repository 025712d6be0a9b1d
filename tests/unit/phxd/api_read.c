/* What is read of nodes, roles, images, rules, erases and metrics (cmd/phxd/api_read.c), and by
 * whom: hardware and what is in roles by the resource provider and by who holds the node or runs
 * the role; names by everybody. Lists in pages leave nothing out. The state, the store and what is
 * shown of a node are real. */
#include "fake/journal.h"
#include "fake/person.h"

#include "phxd/api_read.c" /* parts of a program, not of the library */
#include "phxd/asker.c"
#include "phxd/parse.c"
#include "phxd/view_hide.c"
#include "phxd/view_node.c"

static struct daemon head;
static struct phx_state core;
static const char *member_in; /* the RE of which the asker is a member; NULL: of none */
static struct phx_buf seen;   /* of metrics: whose; of events: what was held */
static unsigned n_breathed;
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- what is behind ---- */

void live_version(struct live *l, const char *name, char ret[PHX_TOLD_VERSION_MAX])
{
	(void)l, (void)name;
	phx_str_copy(ret, PHX_TOLD_VERSION_MAX, "0.1.0");
}

void live_put_monitor(struct live *l, const char *name, struct phx_buf *b)
{
	(void)l, (void)name;
	phx_buf_addf(b, "null");
}

enum site_standing site_standing(struct daemon *d, const struct phx_state *s,
				 const struct phx_node *n, char ret_error[BEAT_ERROR_MAX])
{
	(void)d, (void)s, (void)n;
	ret_error[0] = '\0';
	return SITE_NONE;
}

int names_parse(struct daemon *d, const struct phx_http_peer *peer, const char *text,
		struct phx_nodeset *ret, struct phx_err *err)
{
	(void)d, (void)peer;
	assert_false(fake_engine_held);
	return phx_nodeset_parse(strcmp(text, "@all") ? text : "n[1-3]", NULL, NULL, ret, err);
}

void reads_breathe(int64_t since_us)
{
	(void)since_us;
	assert_false(fake_engine_held);
	n_breathed++;
}

json_t *view_status(struct daemon *d, bool whole)
{
	(void)d;
	return json_pack("{s:b}", "whole", whole);
}

void keys_ca_said(struct daemon *d, char ret[PHX_CA_TEXT_MAX])
{
	(void)d;
	phx_str_copy(ret, PHX_CA_TEXT_MAX, "the CA");
}

json_t *catalog_mistakes(struct daemon *d)
{
	(void)d;
	return json_pack("[s]", "wrong");
}

int catalog_no_role(struct daemon *d, const char *name, struct phx_err *err)
{
	(void)d;
	return phx_err_set(err, -ENOENT, "roles/%s.conf:3: is wrong", name);
}

json_t *catalog_images(struct daemon *d)
{
	(void)d;
	return json_pack("{s:[{s:s,s:s},{s:s,s:s},{s:s,s:s},{s:s,s:s}],s:[s]}", "images", "name",
			 "debian", "version", "1", "name", "debian", "version", "2", "name",
			 "rocky", "version", "1", "name", "rocky", "version", "2", "bad", "x");
}

json_t *catalog_packages(struct daemon *d)
{
	(void)d;
	return json_pack("{s:[]}", "packages");
}

char *view_metrics(struct daemon *d, const struct view_reader *reader)
{
	(void)d;
	fake_engine_held = true; /* as it is there */
	PHX_LIST_EACH(struct phx_re, re, &core.res)
		if (reader->sees(reader->arg, re))
			phx_buf_addf(&seen, "%s ", re->name);
	fake_engine_held = false;
	return strdup("metrics");
}

void metrics_reply(struct metrics *m, struct phx_http_request *q, uint32_t page)
{
	(void)m;
	phx_buf_addf(&seen, "everything, page %u", page);
	phx_http_reply_text(q, 200, "text/plain", "metrics");
}

void waits_hold(struct waits *w, struct phx_http_request *q, uint64_t after, uint32_t limit,
		const char *node, int64_t wait_ms)
{
	(void)w;
	phx_http_suspend(q);
	phx_buf_addf(&seen, "after %llu limit %u node %s wait %lld", (unsigned long long)after,
		     limit, node, (long long)wait_ms);
}

void member_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right,
	       struct member *ret)
{
	(void)d, (void)q;
	assert_int_equal(right, PHX_RIGHT_re_know);
	*ret = (struct member){0};
}

bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group)
{
	(void)m, (void)ret_group;
	return member_in && !strcmp(a->name, member_in);
}

void member_fini(struct member *m)
{
	(void)m;
}

/* ---- the state ---- */

static void role(const char *name, const char *image)
{
	struct phx_role *r = phx_list_push(&core.roles, sizeof(*r));
	PHX_STR_SET(r->name, name);
	PHX_STR_SET(r->image, image);
	PHX_STR_SET(r->image_version, "1");
}

static struct phx_re *re(const char *name, const char *owner, const char *role)
{
	struct phx_re *r = phx_list_push(&core.res, sizeof(*r));
	PHX_STR_SET(r->name, name);
	PHX_STR_SET(r->agreement.name, name);
	PHX_STR_SET(r->agreement.owner, owner);
	PHX_STR_SET(r->agreement.role, role);
	r->agreement.relationship = PHX_RE_AFFILIATED;
	r->state = PHX_RE_STATE_RUNNING;
	return r;
}

static void node(const char *name, const char *pool)
{
	struct phx_node *n = phx_list_push(&core.nodes, sizeof(*n));
	n->number = core.nodes.n;
	PHX_STR_SET(n->name, name);
	PHX_STR_SET(n->pool, pool);
	PHX_STR_SET(n->serial, "SN");
	PHX_STR_SET(n->system_version, "12");
	PHX_STR_SET(n->key_fp, "key");
}

/* RE "hpc" of unix:hpc has n1 and runs role "compute"; "web" is another's, with n2; n3 is free. */
static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	if (fake_journal_begin() < 0 || phx_state_init(&core) < 0)
		return -1;
	fake_state = &core;
	role("compute", "debian");
	role("web", "rocky");
	re("hpc", "unix:hpc", "compute");
	re("web", "unix:web", "web");
	node("n1", "hpc");
	node("n2", "web");
	node("n3", "free");
	head = (struct daemon){0};
	member_in = NULL;
	seen = (struct phx_buf){0};
	n_breathed = 0;
	answer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	json_decref(PHX_TAKE(answer));
	phx_buf_fini(&seen);
	phx_state_fini(&core);
	return fake_journal_end();
}

static void is(unsigned roles, const char *identity)
{
	fake_roles = roles;
	fake_identity = identity;
}
#define ADMIN is(FAKE_ADMIN, "unix:root")
#define AUDITOR is(FAKE_AUDITOR, "unix:eve")
#define OWNER is(FAKE_PROVIDER, "unix:hpc")
#define USER is(FAKE_USER, "unix:alice")

static int asks(phx_http_handler handler, const char *param, const struct fake_word *query)
{
	FAKE_REQUEST q = {.params = {param}};
	for (size_t i = 0; query && query[i].name; i++)
		q.query[i] = query[i];
	json_decref(PHX_TAKE(answer));
	handler(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = q.json ? json_incref(q.json) : json_loads(q.text, 0, NULL);
	return q.held ? -EINPROGRESS : q.code;
}
#define Q(...) ((const struct fake_word[]){__VA_ARGS__, {NULL, NULL}})

/* ---- nodes ---- */

static bool shows(const json_t *of, const char *member)
{
	return json_object_get(of, member);
}

/* A node is longer than what the fake request keeps. */
#define FIELDS Q({"fields", "name,pool,serial,system_version,expected,key_fp"})

static void assert_node(size_t i, bool serial, bool version, bool key)
{
	const json_t *n = json_array_get(json_object_get(answer, "nodes"), i);
	assert_int_equal(shows(n, "serial"), serial);
	assert_int_equal(shows(n, "system_version"), version);
	assert_int_equal(shows(n, "expected"), version);
	assert_int_equal(shows(n, "key_fp"), key);
	assert_true(shows(n, "name") && shows(n, "pool"));
}

static void who_holds_a_node_sees_its_hardware_and_software(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		USER;
		assert_int_equal(asks(api_nodes, NULL, FIELDS), 200);
		assert_node(i, false, false, false);
		OWNER;
		assert_int_equal(asks(api_nodes, NULL, FIELDS), 200);
		assert_node(i, i == 0, i == 0, false);
		AUDITOR;
		assert_int_equal(asks(api_nodes, NULL, FIELDS), 200);
		assert_node(i, true, true, true);
	}
	OWNER;
	assert_int_equal(asks(api_node, "n1", FIELDS), 200);
	assert_true(shows(answer, "serial"));
	assert_int_equal(asks(api_node, "n2", FIELDS), 200);
	assert_false(shows(answer, "serial") || shows(answer, "system_version"));
	assert_int_equal(asks(api_node, "n2", Q({"fields", "name,serial"})), 200);
	assert_string_equal(error, "{\"name\":\"n2\"}");
	assert_int_equal(asks(api_node, "n9", NULL), -ENOENT);
	assert_string_equal(error, "there is no node 'n9'");
}

/* "n1 n2 2+": the names, the last number and whether there may be more. */
static void assert_page(const struct fake_word *query, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *n;
	if (asks(api_nodes, NULL, query) != 200)
		fail_msg("%s", error);
	json_array_foreach(json_object_get(answer, "nodes"), i, n)
		phx_buf_addf(&b, "%s ", phx_json_str(n, "name", ""));
	if (shows(answer, "last"))
		phx_buf_addf(&b, "%lld%s", (long long)phx_json_int(answer, "last", 0),
			     phx_json_bool(answer, "more", false) ? "+" : "");
	assert_string_equal(b.n ? b.data : "", want);
}

#define NAMES \
	{ \
		"fields", "name" \
	}

static void pages_leave_no_node_out(void **state)
{
	(void)state;
	USER;
	assert_page(Q(NAMES), "n1 n2 n3 ");
	assert_page(Q(NAMES, {"limit", "2"}), "n1 n2 2+");
	assert_page(Q(NAMES, {"limit", "2"}, {"after", "2"}), "n3 3");
	assert_page(Q(NAMES, {"limit", "2"}, {"after", "3"}), "3");
	assert_page(Q(NAMES, {"limit", "0"}), "0+");
	assert_page(Q(NAMES, {"names", "n[3,1,9]"}), "n1 n3 ");
	assert_page(Q(NAMES, {"names", "n[1-3]"}, {"limit", "1"}, {"after", "1"}), "n2 2+");
	PHX_LIST_AT(&core.nodes, struct phx_node, 2)->number = 7; /* others were removed */
	assert_page(Q(NAMES, {"limit", "3"}), "n1 n2 n3 7+");
	assert_page(Q(NAMES, {"limit", "3"}, {"after", "2"}), "n3 7");
	core.nodes.n = 0;
	for (int i = 1; i <= 20000; i++) {
		char name[16];
		snprintf(name, sizeof(name), "m%d", i);
		node(name, "free");
	}
	assert_int_equal(asks(api_nodes, NULL, Q({"fields", "number"})), 200);
	assert_true(n_breathed > 0);
	const char *at = error; /* as far as a test keeps it */
	for (int i = 1; i <= 20; i++) {
		char want[32];
		snprintf(want, sizeof(want), "{\"number\":%d}", i);
		assert_non_null(at = strstr(at, want));
	}
}

static void what_is_wrong_with_a_list_is_told(void **state)
{
	(void)state;
	USER;
	assert_int_equal(asks(api_nodes, NULL, Q({"after", "x"})), -EINVAL);
	assert_string_equal(error, "after: must be a number from 0 to 4294967295");
	assert_int_equal(asks(api_nodes, NULL, Q({"limit", "-1"})), -EINVAL);
	assert_int_equal(asks(api_nodes, NULL, Q({"names", "n[1-"})), -EINVAL);
	assert_int_equal(asks(api_nodes, NULL, Q({"fields", "name,colour"})), -EINVAL);
	assert_string_equal(error, "fields: a node has no member 'colour'");
	assert_int_equal(asks(api_node, "n1", Q({"fields", "colour"})), -EINVAL);
}

static void the_head_tells_of_itself(void **state)
{
	(void)state;
	USER;
	assert_int_equal(asks(api_status, NULL, NULL), 200);
	assert_false(phx_json_bool(answer, "whole", true));
	assert_false(shows(answer, "ca") || shows(answer, "mistakes"));
	ADMIN;
	assert_int_equal(asks(api_status, NULL, NULL), 200);
	assert_true(phx_json_bool(answer, "whole", false));
	assert_string_equal(phx_json_str(answer, "ca", ""), "the CA");
}

/* ---- roles, images, rules ---- */

/* "compute: debian; web": with the image where it is shown. */
static void assert_roles(const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *r;
	assert_int_equal(asks(api_roles, NULL, NULL), 200);
	json_array_foreach(json_object_get(answer, "roles"), i, r) {
		const char *image = phx_json_str(r, "image", "");
		phx_buf_addf(&b, "%s%s%s%s", i ? "; " : "", phx_json_str(r, "name", ""),
			     *image ? ": " : "", image);
		assert_true(*image || json_object_size(r) == 1);
	}
	assert_string_equal(b.data, want);
}

static void what_is_in_a_role_is_for_who_runs_it(void **state)
{
	(void)state;
	USER;
	assert_roles("compute; web");
	OWNER;
	assert_roles("compute: debian; web");
	AUDITOR;
	assert_roles("compute: debian; web: rocky");
	/* to ask for an RE gives nothing */
	re("wish", "unix:hpc", "web")->state = PHX_RE_STATE_NONE;
	OWNER;
	assert_roles("compute: debian; web");
	assert_int_equal(asks(api_role, "web", NULL), 200);
	assert_string_equal(error, "{\"name\":\"web\"}");
	assert_int_equal(asks(api_role, "compute", NULL), 200);
	assert_string_equal(phx_json_str(answer, "image", ""), "debian");
	assert_int_equal(asks(api_role, "gone", NULL), -ENOENT);
	assert_string_equal(error, "there is no role 'gone'");
	ADMIN;
	assert_int_equal(asks(api_role, "gone", NULL), -ENOENT);
	assert_string_equal(error, "roles/gone.conf:3: is wrong");
}

/* "debian 1, debian 2, rocky": with the version where it is shown. */
static void assert_images(const char *want, size_t n_bad)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *im;
	assert_int_equal(asks(api_images, NULL, NULL), 200);
	json_array_foreach(json_object_get(answer, "images"), i, im)
		phx_buf_addf(&b, "%s%s %s", i ? ", " : "", phx_json_str(im, "name", ""),
			     phx_json_str(im, "version", ""));
	assert_string_equal(b.data, want);
	assert_int_equal(json_array_size(json_object_get(answer, "bad")), n_bad);
}

static void images_likewise(void **state)
{
	(void)state;
	USER;
	assert_images("debian , rocky ", 0);
	OWNER;
	assert_images("debian 1, debian 2, rocky ", 0);
	ADMIN;
	assert_images("debian 1, debian 2, rocky 1, rocky 2", 1);
}

static void rules_are_asked_of_nodes(void **state)
{
	(void)state;
	ADMIN;
	struct phx_rule *rule = phx_list_push(&core.rules, sizeof(*rule));
	PHX_STR_SET(rule->role, "compute");
	struct phx_rule_term *term = phx_list_push(&rule->terms, sizeof(*term));
	PHX_STR_SET(term->fact, "cpus");
	term->op = PHX_RULE_GE;
	PHX_STR_SET(term->value, "4");
	PHX_LIST_AT(&core.nodes, struct phx_node, 1)->facts.cpus = 4;
	assert_int_equal(asks(api_rules_match, NULL, Q({"nodes", "n[2,3,9]"})), 200);
	const json_t *list = json_object_get(answer, "matches");
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(phx_json_str(json_array_get(list, 0), "node", ""), "n2");
	assert_string_equal(phx_json_str(json_array_get(list, 0), "role", "?"), "compute");
	assert_string_equal(phx_json_str(json_array_get(list, 1), "role", "?"), "");
	assert_int_equal(asks(api_rules_match, NULL, NULL), 200); /* of all */
	assert_int_equal(json_array_size(json_object_get(answer, "matches")), 3);
	assert_int_equal(asks(api_rules_match, NULL, Q({"nodes", "n["})), -EINVAL);
}

/* ---- erases, events ---- */

static void erased(const char *node, const char *from, const char *to)
{
	char record[200];
	struct phx_err err = {0};
	uint64_t seq = phx_store_last(fake_store) + 1;
	snprintf(record, sizeof(record),
		 "{\"from_owner\":\"%s\",\"to_owner\":\"%s\",\"disk\":\"wwn-1\",\"disks\":[],"
		 "\"method\":\"discard\"}",
		 from, to);
	struct phx_store_erasure e = {seq, node, record, "signed"};
	if (append_one(fake_store, seq, 1000, "step_result", node, "{}", "[]", &e, &err) != 0)
		fail_msg("%s", err.text);
}

/* n: the number of records; -ENOENT and so on. With ids of disks? */
static void assert_erasures(const char *node, int n, bool whole)
{
	int code = asks(api_erasures, node, NULL);
	const json_t *list = json_object_get(answer, "erasures");
	assert_int_equal(code, n < 0 ? n : 200);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *e = json_array_get(list, i);
		assert_int_equal(shows(e, "disk"), whole);
		assert_int_equal(shows(e, "disks"), whole);
		assert_int_equal(shows(e, "signature"), whole);
		assert_int_equal(shows(e, "record"), whole);
		assert_string_equal(phx_json_str(e, "method", ""), "discard");
	}
	assert_int_equal(n < 0 ? 0 : json_array_size(list), n < 0 ? 0 : n);
}

static void erases_are_told_to_whose_the_node_was(void **state)
{
	(void)state;
	erased("n1", "unix:web", "");         /* he has it now */
	erased("n2", "unix:hpc", "unix:web"); /* it was his */
	erased("n2", "unix:web", "");
	erased("n2", "unix:web", "unix:hpc"); /* it was to be his */
	erased("n3", "unix:web", "unix:other");
	erased("n7", "", "unix:web"); /* it is gone */
	OWNER;
	assert_erasures("n1", 1, true);
	assert_erasures("n2", 2, false);
	assert_erasures("n3", -ENOENT, false);
	assert_string_equal(error, "there is no erase of 'n3' that is yours");
	assert_erasures("n9", -ENOENT, false);
	AUDITOR;
	assert_erasures("n2", 3, true);
	assert_erasures("n7", 1, true);
	ADMIN;
	assert_erasures("n9", -ENOENT, false);
	assert_string_equal(error, "there is no node 'n9', and nothing is kept of one");
	node("n4", "free");
	assert_erasures("n4", 0, false);
}

static void events_are_awaited_of_what_there_is(void **state)
{
	(void)state;
	USER;
	assert_int_equal(asks(api_events, NULL,
			      Q({"after", "7"}, {"limit", "5"}, {"wait", "60"}, {"node", "n1"})),
			 -EINPROGRESS);
	assert_string_equal(seen.data, "after 7 limit 5 node n1 wait 60000");
	phx_buf_fini(&seen);
	seen = (struct phx_buf){0};
	assert_int_equal(asks(api_events, NULL, Q({"limit", "0"})), -EINPROGRESS);
	assert_string_equal(seen.data, "after 0 limit 1000 node  wait 0");
	assert_int_equal(asks(api_events, NULL, Q({"wait", "61"})), -EINVAL);
	assert_int_equal(asks(api_events, NULL, Q({"limit", "1001"})), -EINVAL);
	assert_int_equal(asks(api_events, NULL, Q({"after", "-1"})), -EINVAL);
	assert_int_equal(asks(api_events, NULL, Q({"node", "n9"})), -ENOENT);
	happens("node_remove", "n9", "{}", "[]"); /* it was there */
	assert_int_equal(asks(api_events, NULL, Q({"node", "n9"})), -EINPROGRESS);
}

/* ---- metrics ---- */

static void assert_metrics(const char *want)
{
	FAKE_REQUEST q = {0};
	phx_buf_fini(&seen);
	seen = (struct phx_buf){0};
	api_metrics(&q, &head);
	assert_int_equal(q.code, 200);
	assert_string_equal(q.text, "metrics");
	assert_string_equal(seen.n ? seen.data : "", want);
}

static void metrics_are_of_res_that_one_knows(void **state)
{
	(void)state;
	ADMIN;
	assert_metrics("everything, page 1");
	OWNER;
	assert_metrics("hpc ");
	USER;
	assert_metrics("");
	member_in = "web";
	assert_metrics("web ");
	assert_int_equal(asks(api_metrics, NULL, Q({"page", "0"})), -EINVAL);
	assert_int_equal(asks(api_metrics, NULL, Q({"page", "2 OR 1"})), -EINVAL);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(who_holds_a_node_sees_its_hardware_and_software),
		T(pages_leave_no_node_out),
		T(what_is_wrong_with_a_list_is_told),
		T(the_head_tells_of_itself),
		T(what_is_in_a_role_is_for_who_runs_it),
		T(images_likewise),
		T(rules_are_asked_of_nodes),
		T(erases_are_told_to_whose_the_node_was),
		T(events_are_awaited_of_what_there_is),
		T(metrics_are_of_res_that_one_knows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
