/* Runtime environments requested, ordered and shown (cmd/phxd/api_re.c, api_agreement.c): what the
 * resource provider, the service provider, a member and anybody else see of one and may do with it;
 * that who may not know of an RE is told the same as of one that is not there; a dry run leaves all
 * as it is. The core is real, what is submitted to it is only kept. */
#include "unit/core/pair.h"

#include "fake/submitted.h"
#include "fake/person.h"

#define settle settle_agreement /* pair.h has one */
#include "phxd/api_agreement.c" /* parts of a program, not of the library */
#undef settle
#include "phxd/api_re.c"
#include "phxd/asker.c"
#include "phxd/parse.c"

static struct world *w;
static struct daemon head;
static const char *member_in; /* the RE of which the asker is a member; NULL: of none */
static unsigned n_members, n_synced, n_looked;
static const struct holds_wish *held_wish;
static bool serves;
static int image_result;
static bool image_packages;
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- what is behind ---- */

void member_of(struct daemon *d, const struct phx_http_request *q, enum phx_right right,
	       struct member *ret)
{
	(void)d, (void)q, (void)right;
	assert_false(fake_engine_held);
	*ret = (struct member){0};
	n_members++;
}

bool member_is(const struct member *m, const struct phx_agreement *a, const char **ret_group)
{
	(void)m, (void)ret_group;
	assert_true(fake_engine_held);
	return member_in && !strcmp(a->name, member_in);
}

void member_fini(struct member *m)
{
	(void)m;
}

void identity_add_name(json_t *j, const char *owner)
{
	assert_false(fake_engine_held); /* it asks the user database */
	json_object_set_new(j, "owner_name", json_string(owner));
}

int identity_settle(const char *word, const char *known, char ret[PHX_IDENTITY_MAX],
		    struct phx_err *err)
{
	(void)known;
	if (!strcmp(word, "ghost"))
		return phx_err_set(err, -EINVAL, "'ghost' is no name");
	return phx_str_copy(ret, PHX_IDENTITY_MAX, word);
}

int identity_settle_list(char *list, size_t size, struct phx_err *err)
{
	(void)size;
	assert_false(fake_engine_held);
	return strstr(list, "a/b") ? phx_err_set(err, -EINVAL, "'a/b' is no name") : 0;
}

int re_image_settle(struct daemon *d, struct phx_agreement *g, bool packages, struct phx_err *err)
{
	(void)d, (void)g;
	assert_false(fake_engine_held);
	image_packages = packages;
	return image_result < 0 ? phx_err_set(err, image_result, "image: there is none") : 0;
}

json_t *view_re(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		int64_t now_ms)
{
	(void)d, (void)now_ms;
	assert_ptr_equal(s, &w->s);
	assert_true(fake_engine_held);
	json_t *j = json_pack("{s:s,s:b}", "name", re->name, "whole", true);
	json_object_set_new(j, "agreement",
			    phx_json_from_record(&phx_agreement_record, &re->agreement));
	return j;
}

bool view_re_serves(const struct phx_state *s, const struct phx_re *re)
{
	(void)s, (void)re;
	return serves;
}

bool view_re_returned(const struct phx_state *s, const struct phx_re *re)
{
	(void)s, (void)re;
	return false;
}

json_t *view_ends_re(const struct phx_state *s, const char *re)
{
	assert_ptr_equal(s, &w->s);
	return json_pack("[s]", re);
}

json_t *view_notes(const struct phx_outcome *out)
{
	(void)out;
	return json_array();
}

void view_use_notes(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		    json_t *notes)
{
	(void)d, (void)s;
	assert_true(fake_engine_held);
	json_array_append_new(notes, json_sprintf("use of %s", re->name));
}

void re_dirs_sync(struct daemon *d)
{
	(void)d;
	assert_false(fake_engine_held);
	n_synced++;
}

void accounts_look(struct accounts *a)
{
	(void)a;
	n_looked++;
}

void holds_take(struct holds *h, struct phx_http_request *q, const struct holds_wish *wish,
		unsigned rights, int64_t wait_ms)
{
	(void)h;
	assert_int_equal(wait_ms, 9000);
	assert_int_equal(rights, head.rights);
	phx_http_suspend(q);
	held_wish = wish;
}

/* ---- requests ---- */

static int setup(void **state)
{
	fake_engine_begin();
	fake_requests_begin();
	world_setup(state);
	w = *state;
	pair_running(w, 2, 2);
	PHX_LIST_EACH(struct phx_re, re, &w->s.res)
		re->agreement.relationship = PHX_RE_AFFILIATED;
	fake_state = &w->s;
	fake_now_ms = w->now;
	member_in = NULL;
	n_members = n_synced = n_looked = 0;
	held_wish = NULL;
	serves = false;
	image_result = 0;
	answer = NULL;
	return phx_store_open(":memory:", &fake_store, NULL);
}

static int teardown(void **state)
{
	fake_engine_is_free();
	json_decref(PHX_TAKE(answer));
	phx_store_close(PHX_TAKE(fake_store));
	phx_list_fini(&fake_events);
	fake_events = (struct phx_list){0};
	return world_teardown(state);
}

static void is(unsigned roles, const char *identity)
{
	fake_roles = roles;
	fake_identity = identity;
}
#define ADMIN is(FAKE_ADMIN, "unix:root")
#define AUDITOR is(FAKE_AUDITOR, "unix:eve")
#define OWNER is(FAKE_PROVIDER, "hpc") /* of "queue" */
#define OTHER is(FAKE_PROVIDER, "shop")
#define USER is(FAKE_USER, "unix:alice")

static int asks_with(phx_http_handler handler, const char *re, const char *order,
		     const struct fake_word *query, const char *body)
{
	FAKE_REQUEST q = {.params = {re, order}, .body = body};
	for (size_t i = 0; query && query[i].name; i++)
		q.query[i] = query[i];
	json_decref(PHX_TAKE(answer));
	handler(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.held ? -EINPROGRESS : q.code;
}

static int orders_re(const char *re, const char *order, const char *body)
{
	return asks_with(api_re_order, re, order, NULL, body);
}

static void assert_order(const char *re, const char *order, const char *body, int code,
			 const char *says)
{
	uint32_t n = fake_events.n;
	if (orders_re(re, order, body) != code || !phx_str_starts(error, says))
		fail_msg("%s %s %s: %s", re, order, body ? body : "", error);
	assert_int_equal(fake_events.n, n + (code == 200));
}

/* "queue: data members ...; shop brief"; each RE of the list. */
static void assert_list(const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i, k;
	json_t *re, *may;
	assert_int_equal(asks_with(api_res, NULL, NULL, NULL, NULL), 200);
	json_array_foreach(json_object_get(answer, "res"), i, re) {
		bool whole = phx_json_bool(re, "whole", false);
		phx_buf_addf(&b, "%s%s%s", i ? "; " : "", phx_json_str(re, "name", ""),
			     whole ? ":" : " brief");
		json_array_foreach(json_object_get(re, "may"), k, may)
			phx_buf_addf(&b, " %s", json_string_value(may));
		assert_int_equal(json_object_get(re, "agreement") != NULL, whole);
	}
	assert_string_equal(b.n ? b.data : "", want);
}

/* ---- who sees what, and may do what ---- */

static void each_sees_what_is_his(void **state)
{
	(void)state;
	ADMIN;
	assert_list("queue: use; shop: use");
	AUDITOR;
	assert_list("queue:; shop:");
	OWNER;
	assert_list("queue: suspend deactivate safe-deactivate members data");
	OTHER;
	assert_list("shop: suspend deactivate safe-deactivate members data");
	USER;
	assert_list("");
	member_in = "queue";
	assert_list("queue brief");
	member_in = "shop"; /* nobody submits jobs to it */
	assert_list("");
	member_in = "queue";
	assert_int_equal(operate(w, PHX_EV_re_suspend, "queue"), 0);
	assert_list("");
	OWNER;
	assert_list("queue: resume deactivate safe-deactivate members data");
}

static void an_re_that_gives_back_is_not_destroyed(void **state)
{
	(void)state;
	assert_int_equal(operate(w, PHX_EV_re_deactivate, "queue"), 0);
	struct phx_re *re = phx_state_re(&w->s, "queue");
	re->active = true; /* a node of it is drained still */
	ADMIN;
	assert_list("queue: use; shop: use");
	OWNER;
	assert_list("queue: members data");
	re->active = false;
	ADMIN;
	assert_list("queue: destroy use; shop: use");
	OWNER;
	assert_list("queue: activate members data");
}

static void refusals_are_told_to_who_asked(void **state)
{
	(void)state;
	struct phx_re_refusal *r = phx_list_push(&w->s.refusals, sizeof(*r));
	PHX_STR_SET(r->owner, "hpc");
	static const struct {
		unsigned roles;
		const char *identity;
		size_t n;
	} rows[] = {{FAKE_ADMIN, "unix:root", 1},
		    {FAKE_AUDITOR, "unix:eve", 1},
		    {FAKE_PROVIDER, "hpc", 1},
		    {FAKE_PROVIDER, "shop", 0},
		    {FAKE_USER, "hpc", 0}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		is(rows[i].roles, rows[i].identity);
		assert_int_equal(asks_with(api_res, NULL, NULL, NULL, NULL), 200);
		assert_int_equal(json_array_size(json_object_get(answer, "refused")), rows[i].n);
	}
}

#define Q(...) ((const struct fake_word[]){__VA_ARGS__, {NULL, NULL}})

static int shows(const char *re, const struct fake_word *query)
{
	return asks_with(api_re, re, NULL, query, NULL);
}

static void one_re_is_shown_likewise(void **state)
{
	(void)state;
	OTHER;
	assert_int_equal(shows("queue", NULL), -ENOENT);
	assert_string_equal(error, "there is no RE 'queue'");
	assert_int_equal(shows("gone", NULL), -ENOENT);
	assert_string_equal(error, "there is no RE 'gone'");
	OWNER;
	assert_int_equal(shows("queue", NULL), 200);
	assert_true(phx_json_bool(answer, "whole", false));
	assert_string_equal(phx_json_str(answer, "owner_name", ""), "hpc");
	assert_non_null(strstr(phx_json_str(answer, "conf", ""), "queue"));
	USER;
	member_in = "queue";
	assert_int_equal(shows("queue", NULL), 200);
	assert_null(json_object_get(answer, "whole"));
	assert_null(json_object_get(answer, "may"));
	assert_non_null(json_object_get(answer, "agreement"));
	assert_int_equal(phx_json_int(json_object_get(answer, "nodes"), "idle", -1), 2);
	assert_int_equal(shows("shop", NULL), -ENOENT);
	/* a request alone is nobody's business but of who made it */
	phx_state_re(&w->s, "queue")->state = PHX_RE_STATE_NONE;
	assert_int_equal(shows("queue", NULL), -ENOENT);
	phx_state_re(&w->s, "queue")->state = PHX_RE_STATE_RUNNING;
	/* its owner, who is no service provider any more, sees it and orders nothing */
	is(FAKE_USER, "hpc");
	assert_int_equal(shows("queue", NULL), 200);
	PHX_AUTO_FREE char *may = json_dumps(json_object_get(answer, "may"), JSON_COMPACT);
	assert_string_equal(may, "[\"data\"]");
}

static void who_may_not_see_it_does_not_wait_for_it(void **state)
{
	(void)state;
	OTHER;
	assert_int_equal(shows("queue", Q({"until", "serves"}, {"wait", "9"})), -ENOENT);
	assert_null(held_wish);
	OWNER;
	assert_int_equal(shows("queue", Q({"until", "idle"})), -EINVAL);
	assert_string_equal(error, "until: must be 'serves' or 'returned'");
	assert_int_equal(shows("queue", Q({"until", "serves"}, {"wait", "61"})), -EINVAL);
	assert_int_equal(shows("queue", Q({"until", "serves"})), 200);
	assert_false(phx_json_bool(answer, "reached", true));
	assert_int_equal(shows("queue", Q({"until", "serves"}, {"wait", "9"})), -EINPROGRESS);
	assert_int_equal(held_wish->right, PHX_RIGHT_re_see);
	FAKE_REQUEST q = {.params = {"queue"}, .query = {{"until", "serves"}}};
	assert_false(held_wish->reached(&w->s, &q));
	serves = true;
	assert_true(held_wish->reached(&w->s, &q));
	PHX_AUTO_JSON json_t *shown = held_wish->show(&q, &head);
	assert_true(phx_json_bool(shown, "reached", false));
	assert_int_equal(q.code, 0);
	q.params[0] = "gone"; /* there is nothing left to wait for */
	serves = false;
	assert_true(held_wish->reached(&w->s, &q));
	assert_null(held_wish->show(&q, &head));
	assert_int_equal(q.code, -ENOENT);
}

/* ---- orders ---- */

static void orders_are_of_who_may_give_them(void **state)
{
	(void)state;
	OTHER;
	/* before the body is looked at */
	assert_order("queue", "suspend", "no JSON", -ENOENT, "there is no RE 'queue'");
	assert_order("gone", "suspend", NULL, -ENOENT, "there is no RE 'gone'");
	assert_order("queue", "explode", NULL, -ENOENT, "there is no such operation on an RE");
	OWNER;
	assert_order("queue", "suspend", NULL, 200, "");
	assert_int_equal(fake_event(0)->kind, PHX_EV_re_suspend);
	assert_int_equal(fake_event(0)->re_order.who, PHX_RE_WHO_SERVICE);
	assert_string_equal(fake_event(0)->re, "queue");
	assert_string_equal(fake_event(0)->by, "by hpc");
	assert_order("queue", "use", "{\"use_ppm\":1}", -EPERM,
		     "measurements are taken from the resource provider only");
	ADMIN; /* as whom he asks; the core's table says whether he may */
	assert_order("queue", "destroy", NULL, 200, "");
	assert_int_equal(fake_event(1)->re_order.who, PHX_RE_WHO_PROVIDER);
	assert_order("queue", "members", "{\"add\":\"bob\"}", -EPERM,
		     "only the service provider of an RE, its owner, names its members");
}

static void what_is_wrong_with_an_order_is_told(void **state)
{
	(void)state;
	OWNER;
	assert_order("queue", "suspend", "[]", -EINVAL, "the body must be a JSON object");
	assert_order("queue", "suspend", "{\"force\":true}", -EINVAL, "force: is not known here");
	assert_order("queue", "suspend", "{\"dry_run\":1}", -EINVAL,
		     "dry_run: must be true or false");
	assert_order("queue", "deactivate", "{\"kill_jobs\":\"yes\"}", -EINVAL, "kill_jobs: must");
	assert_order("queue", "members", "{\"use_ppm\":1}", -EINVAL, "use_ppm: is not known here");
	assert_order("queue", "members", "{\"add\":\"a/b\"}", -EINVAL, "add: 'a/b' is no name");
	assert_order("queue", "members", "{\"remove\":\"a/b\"}", -EINVAL, "'a/b' is no name");
	ADMIN;
	assert_order("shop", "use", "{}", -EINVAL, "use_ppm: is missing");
	assert_order("shop", "use", "{\"use_ppm\":1000001}", -EINVAL, "use_ppm: must be");
	OWNER;
	fake_submit_result = -EPROTO;
	assert_int_equal(orders_re("queue", "suspend", NULL), -EPROTO);
	assert_string_equal(error, "the journal refuses it");
	assert_int_equal(n_looked, 0);
}

static void an_order_says_what_it_ends(void **state)
{
	(void)state;
	OWNER;
	assert_order("queue", "deactivate", "{\"kill_jobs\":true}", 200, "");
	assert_true(fake_event(0)->re_order.tells);
	assert_int_equal(fake_event(0)->re_order.jobs, PHX_JOBS_ANY);
	assert_order("queue", "deactivate", NULL, 200, "");
	assert_int_equal(fake_event(1)->re_order.jobs, PHX_JOBS_SPARE);
	assert_order("queue", "members", "{\"add\":\"unix:bob\",\"remove\":\"unix:al\"}", 200, "");
	assert_string_equal(fake_event(2)->re_members.add, "unix:bob");
	assert_string_equal(fake_event(2)->re_members.remove, "unix:al");
	assert_int_equal(n_looked, 3);
	assert_int_equal(n_synced, 0);
	ADMIN;
	assert_order("queue", "destroy", NULL, 200, "");
	assert_int_equal(n_synced, 1);
	assert_order("shop", "use", "{\"use_ppm\":77}", 200, "");
	assert_int_equal(fake_event(4)->re_use.use_ppm, 77);
	OTHER;
	assert_order("shop", "resume", NULL, 200, "");
	const json_t *notes = json_object_get(answer, "notes");
	assert_string_equal(json_string_value(json_array_get(notes, 0)), "use of shop");
}

static void a_dry_run_leaves_all_as_it_is(void **state)
{
	(void)state;
	OWNER;
	assert_int_equal(orders_re("queue", "deactivate", "{\"dry_run\":true}"), 200);
	assert_true(phx_json_bool(answer, "dry_run", false));
	assert_true(phx_json_bool(answer, "changed", false));
	assert_int_equal(json_array_size(json_object_get(answer, "jobs")), 1);
	assert_int_equal(phx_state_re(&w->s, "queue")->state, PHX_RE_STATE_RUNNING);
	assert_int_equal(orders_re("queue", "resume", "{\"dry_run\":true}"), -EINVAL);
	assert_non_null(strstr(error, "queue"));
	ADMIN;
	assert_int_equal(orders_re("queue", "destroy", "{\"dry_run\":true}"), -EINVAL);
	assert_int_equal(fake_events.n, 0);
	assert_int_equal(n_synced + n_looked, 0);
}

/* ---- requests ---- */

static int requests(const char *agreement, const char *more)
{
	PHX_AUTO_FREE char *body = phx_path("{\"agreement\":%s%s}", agreement, more);
	return asks_with(api_re_ask, NULL, NULL, NULL, body);
}

/* As those of others are: the resource provider is not the owner. */
#define NEW(more) MADE("affiliated", more)
#define MADE(relationship, more) \
	"{\"name\":\"mtc\",\"role\":\"compute\",\"type\":\"parallel_batch_jobs\",\"lower\":1," \
	"\"upper\":1,\"relationship\":\"" relationship "\"" more "}"

static void a_service_provider_asks_for_his_own(void **state)
{
	(void)state;
	OWNER;
	assert_int_equal(requests(NEW(""), ""), 200);
	assert_int_equal(fake_event(0)->kind, PHX_EV_re_request);
	assert_int_equal(fake_event(0)->ask.who, PHX_RE_WHO_SERVICE);
	assert_string_equal(fake_event(0)->ask.agreement.owner, "hpc");
	assert_false(image_packages);
	assert_int_equal(requests(NEW(",\"owner\":\"shop\""), ""), -EPERM);
	assert_string_equal(error, "owner: a service provider asks for an RE of its own only");
	assert_int_equal(requests(NEW(",\"owner\":\"ghost\""), ""), -EINVAL);
	assert_string_equal(error, "owner: 'ghost' is no name");
	assert_int_equal(fake_events.n, 1);
	assert_int_equal(n_synced, 0); /* it has no data yet */
}

static void the_resource_provider_names_the_owner(void **state)
{
	(void)state;
	ADMIN;
	assert_int_equal(requests(NEW(""), ",\"create\":true"), -EINVAL);
	assert_true(phx_str_starts(error, "owner: whose RE is it?"));
	assert_int_equal(requests(NEW(",\"owner\":\"hpc\""), ",\"create\":true,\"dry_run\":true"),
			 200);
	assert_int_equal(fake_events.n + n_synced, 0);
	assert_int_equal(requests(NEW(",\"owner\":\"hpc\""), ",\"create\":true"), 200);
	assert_int_equal(fake_event(0)->kind, PHX_EV_re_create);
	assert_int_equal(fake_event(0)->ask.who, PHX_RE_WHO_PROVIDER);
	assert_string_equal(fake_event(0)->ask.agreement.owner, "hpc");
	assert_true(image_packages);
	assert_int_equal(n_synced, 1);
	/* where he is both he is the owner */
	assert_int_equal(requests(MADE("same", ""), ""), 200);
	assert_string_equal(fake_event(1)->ask.agreement.owner, "unix:root");
	assert_int_equal(fake_event(1)->ask.who, PHX_RE_WHO_SERVICE);
}

static void what_is_wrong_with_a_request_is_told(void **state)
{
	(void)state;
	OWNER;
	assert_int_equal(requests("7", ""), -EINVAL);
	assert_string_equal(error, "agreement: must be an object");
	assert_int_equal(asks_with(api_re_ask, NULL, NULL, NULL, "{}"), -EINVAL);
	assert_int_equal(requests(NEW(",\"colour\":1"), ""), -EINVAL);
	assert_non_null(strstr(error, "colour"));
	assert_int_equal(requests(NEW(""), ",\"created\":true"), -EINVAL);
	assert_string_equal(error, "created: is not known here");
	image_result = -ENOENT;
	assert_int_equal(requests(NEW(""), ""), -ENOENT);
	assert_string_equal(error, "image: there is none");
	image_result = 0;
	assert_int_equal(requests(NEW(""), ",\"dry_run\":true"), 200);
	assert_int_equal(fake_events.n, 0);
	assert_null(phx_state_re(&w->s, "mtc"));
}

/* It is told that more is erased than was asked for. */
static void a_business_owner_is_made_to_erase(void **state)
{
	(void)state;
	OWNER;
	assert_int_equal(requests(MADE("business", ""), ""), 200);
	const json_t *notes = json_object_get(answer, "notes");
	assert_int_equal(json_array_size(notes), 1);
	assert_true(phx_str_starts(json_string_value(json_array_get(notes, 0)),
				   "no node passes between a business owner and another one but "
				   "erased"));
	assert_int_equal(requests(NEW(""), ""), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "notes")), 0);
}

/* ---- files ---- */

/* 0: he may, and `all` of them; 1: his own. */
static int files(const char *re, bool take)
{
	FAKE_REQUEST q = {.params = {re}};
	char name[PHX_NAME_MAX] = "";
	bool all = false;
	bool may = re_of_user(&head, &q, take, name, &all);
	PHX_STR_SET(error, q.text);
	assert_string_equal(name, may ? re : "");
	assert_int_equal(q.code != 0, !may);
	return may ? !all : q.code;
}

static void files_are_their_owners_and_members(void **state)
{
	(void)state;
	OWNER;
	assert_int_equal(files("queue", true), 0);
	assert_int_equal(files("shop", true), -ENOENT);
	ADMIN; /* he knows of it, and is told so */
	assert_int_equal(files("queue", false), -EPERM);
	assert_int_equal(files("gone", false), -ENOENT);
	assert_int_equal(files("queue", false), -EPERM);
	assert_string_equal(error, "files of an RE are its owner's and its members' alone");
	USER;
	assert_int_equal(files("queue", false), -ENOENT);
	assert_string_equal(error, "there is no RE 'queue'");
	member_in = "queue";
	assert_int_equal(files("queue", true), 1);
	assert_int_equal(files("queue", false), 1);
	/* when it takes no more jobs he still fetches what is his */
	assert_int_equal(operate(w, PHX_EV_re_suspend, "queue"), 0);
	assert_int_equal(files("queue", true), -ENOENT);
	assert_int_equal(files("queue", false), 1);
	member_in = "shop";
	assert_int_equal(files("shop", false), -ENOENT);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_sees_what_is_his),
		T(an_re_that_gives_back_is_not_destroyed),
		T(refusals_are_told_to_who_asked),
		T(one_re_is_shown_likewise),
		T(who_may_not_see_it_does_not_wait_for_it),
		T(orders_are_of_who_may_give_them),
		T(what_is_wrong_with_an_order_is_told),
		T(an_order_says_what_it_ends),
		T(a_dry_run_leaves_all_as_it_is),
		T(a_service_provider_asks_for_his_own),
		T(the_resource_provider_names_the_owner),
		T(what_is_wrong_with_a_request_is_told),
		T(a_business_owner_is_made_to_erase),
		T(files_are_their_owners_and_members),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
