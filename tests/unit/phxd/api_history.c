/* The history of an RE (cmd/phxd/api_history.c): its owner reads what was said of it since he asked
 * for it, without hardware of nodes and without what another RE's services wrote; of an RE that is
 * gone, or was another's before, the resource provider alone; who was refused reads the refusal.
 * The journal is a real one. */
#include "fake/journal.h"
#include "fake/request.h"
#include "phxd/api_history.c" /* parts of a program, not of the library */
#include "phxd/view_hide.c"

#define OWNER "unix:hpc"

static struct daemon head;
static struct phx_state core;
static bool has_all;
static const char *asker;
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- who asks ---- */

bool person_has_all(struct daemon *d, const struct phx_http_peer *peer, enum phx_right right)
{
	(void)d, (void)peer;
	assert_int_equal(right, PHX_RIGHT_re_history);
	return has_all;
}

void person_of(struct daemon *d, const struct phx_http_peer *peer, struct person *ret)
{
	(void)d, (void)peer;
	assert_false(fake_engine_held); /* it may ask the user database */
	*ret = (struct person){0};
	PHX_STR_SET(ret->identity, asker);
}

bool person_is(const struct person *p, const char *owner)
{
	return p->identity[0] && !strcmp(p->identity, owner);
}

/* In place of the journal: so many events, the first ones with a note. */
static uint64_t n_endless, n_notes;

static int make_page(uint64_t after, uint32_t limit, phx_store_event_fn fn, void *arg)
{
	int r = 0;
	for (uint64_t seq = after + 1; r == 0 && seq <= n_endless && seq <= after + limit; seq++) {
		const struct phx_store_event ev = {
			.seq = seq,
			.kind = "tick",
			.node = "",
			.event = "{}",
			.actions = seq > n_notes
				? "[]"
				: "[{\"kind\":\"note\",\"re\":\"hpc\",\"text\":\"t\"}]",
		};
		r = fn(arg, &ev);
	}
	return r;
}

int reads_page(struct phx_store_reader *r, uint64_t after, uint32_t limit, const char *name,
	       phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	(void)name; /* it saves reading, and no more */
	assert_false(fake_engine_held);
	if (n_endless)
		return make_page(after, limit, fn, arg);
	return phx_store_reader_events(r, after, limit, NULL, fn, arg, err);
}

void reads_breathe(int64_t since_us)
{
	(void)since_us;
	assert_false(fake_engine_held);
}

/* ---- a journal ---- */

/* A note about RE `re`, and another one, of an event by `by`. */
static uint64_t said(const char *re, const char *other_re, const char *text, const char *by)
{
	PHX_AUTO_JSON json_t *actions =
		json_pack("[{s:s,s:s,s:s,s:s,s:s}]", "kind", "note", "node", "n1", "re", re,
			  "other_re", other_re, "text", text);
	PHX_AUTO_JSON json_t *event = json_pack("{s:s}", "by", by);
	PHX_AUTO_FREE char *a = json_dumps(actions, 0), *e = json_dumps(event, 0);
	return happens("report", "n1", e, a);
}

static struct phx_re *re_is(const char *name, const char *owner, uint64_t asked_seq)
{
	struct phx_re *re = phx_list_push(&core.res, sizeof(*re));
	PHX_STR_SET(re->name, name);
	PHX_STR_SET(re->agreement.owner, owner);
	re->asked_seq = asked_seq;
	return re;
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	fake_journal_ms = 1000000;
	core = (struct phx_state){0};
	fake_state = &core;
	has_all = false;
	asker = OWNER;
	answer = NULL;
	n_endless = n_notes = 0;
	if (fake_journal_begin() < 0)
		return -1;
	head = (struct daemon){0};
	PHX_STR_SET(head.cfg.journal, fake_journal);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	json_decref(PHX_TAKE(answer));
	phx_list_fini(&core.res);
	phx_list_fini(&core.refusals);
	return fake_journal_end();
}

static int asks(const char *name, const char *after)
{
	FAKE_REQUEST q = {.params = {name}, .query = {{after ? "after" : NULL, after}}};
	json_decref(PHX_TAKE(answer));
	api_re_history(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.code;
}

/* The texts, with a '|' behind each. */
static void assert_reads(const char *name, const char *after, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *row;
	if (asks(name, after) != 200)
		fail_msg("%s", error);
	json_array_foreach(json_object_get(answer, "history"), i, row)
		phx_buf_addf(&b, "%s|", phx_json_str(row, "text", "?"));
	assert_string_equal(b.n ? b.data : "", want);
}

static void assert_refused(const char *name, const char *after, int code, const char *text)
{
	assert_int_equal(asks(name, after), code);
	assert_string_equal(error, text);
}

#define NO_RE "there is no such RE"

/* ---- whose it is ---- */

static void an_owner_reads_what_was_said_of_his_re(void **state)
{
	(void)state;
	re_is("hpc", OWNER, 1);
	re_is("web", "unix:web", 1);
	said("hpc", "", "one", "uid:1000");
	said("web", "", "two", "");
	said("web", "hpc", "three", "");
	said("", "", "four", "");
	happens("report", "n1", "{}", "[{\"kind\":\"order\",\"re\":\"hpc\",\"text\":\"no note\"}]");
	assert_reads("hpc", NULL, "one|three|");
	const json_t *row = json_array_get(json_object_get(answer, "history"), 0);
	assert_int_equal(phx_json_int(row, "seq", 0), 1);
	assert_int_equal(phx_json_int(row, "time_ms", 0), 1001000);
	assert_string_equal(phx_json_str(row, "by", ""), "uid:1000");
	assert_string_equal(phx_json_str(row, "node", ""), "n1");
	assert_int_equal(phx_json_int(answer, "last", 0), 5);
	assert_false(phx_json_bool(answer, "more", true));
	assert_refused("web", NULL, -ENOENT, NO_RE);
	asker = "unix:hp"; /* nobody else is he */
	assert_refused("hpc", NULL, -ENOENT, NO_RE);
	asker = "";
	assert_refused("hpc", NULL, -ENOENT, NO_RE);
}

/* Also to one who names an event before. */
static void an_earlier_re_of_the_name_is_not_his(void **state)
{
	(void)state;
	said("hpc", "", "of the former one", "");
	uint64_t asked = said("hpc", "", "asked for", "");
	said("hpc", "", "granted", "");
	re_is("hpc", OWNER, asked);
	assert_reads("hpc", NULL, "asked for|granted|");
	assert_reads("hpc", "0", "asked for|granted|");
	assert_reads("hpc", "2", "granted|");
	has_all = true;
	assert_reads("hpc", NULL, "of the former one|asked for|granted|");
}

static void an_re_that_is_gone_is_the_resource_providers(void **state)
{
	(void)state;
	said("hpc", "", "was there", "");
	assert_refused("hpc", NULL, -ENOENT, NO_RE);
	has_all = true;
	assert_reads("hpc", NULL, "was there|");
	assert_refused("nosuch", NULL, -ENOENT, "there is no such RE, and no history of one");
	re_is("young", "unix:web", 1);
	assert_reads("young", NULL, ""); /* nothing was said of it yet */
}

static void who_was_refused_reads_that_alone(void **state)
{
	struct phx_re_refusal *r = phx_list_push(&core.refusals, sizeof(*r));
	(void)state;
	PHX_STR_SET(r->name, "hpc");
	PHX_STR_SET(r->owner, OWNER);
	PHX_STR_SET(r->text, "no machine is left");
	said("hpc", "", "of somebody else's request", "");
	assert_reads("hpc", NULL, "the request for RE hpc is refused: no machine is left|");
	r->text[0] = '\0';
	assert_reads("hpc", NULL, "the request for RE hpc is refused|");
	asker = "unix:web";
	assert_refused("hpc", NULL, -ENOENT, NO_RE);
}

/* ---- what is cut ---- */

#define PASSED_OVER \
	"n1 is passed over: disk serial-X is protected: setting protected_disks: serial=ZC1"
#define FAILED "start failed: service s ended at once with status 1: said"

/* n1 is not his: his RE was only to get it. */
static void hardware_of_nodes_is_cut(void **state)
{
	(void)state;
	re_is("hpc", OWNER, 1);
	said("hpc", "", PASSED_OVER, "10.77.0.9");
	said("hpc", "", FAILED, "");    /* on the way to him: his own service */
	said("web", "hpc", FAILED, ""); /* on the way from another */
	assert_reads("hpc", NULL,
		     "n1 is passed over: disk serial-. is protected: setting protected_disks: "
		     "...|" FAILED "|start failed: service s ended at once with status 1|");
	const json_t *row = json_array_get(json_object_get(answer, "history"), 0);
	assert_string_equal(phx_json_str(row, "by", "none"), "");
	has_all = true;
	assert_reads("hpc", NULL, PASSED_OVER "|" FAILED "|" FAILED "|");
	row = json_array_get(json_object_get(answer, "history"), 0);
	assert_string_equal(phx_json_str(row, "by", "none"), "10.77.0.9");
}

/* ---- bounds ---- */

static void what_is_wrong_is_refused(void **state)
{
	(void)state;
	re_is("hpc", OWNER, 1);
	assert_refused("hpc", "x", -EINVAL, "after: must be the number of an event");
	assert_refused("hpc", "-1", -EINVAL, "after: must be the number of an event");
	assert_refused("hpc", "9223372036854775808", -EINVAL,
		       "after: must be the number of an event");
	assert_reads("hpc", "9223372036854775807", "");
	has_all = true; /* a name is put between quotation marks */
	assert_refused("a\"b", NULL, -ENOENT, NO_RE);
	assert_refused("", NULL, -ENOENT, NO_RE);
	PHX_STR_SET(head.cfg.journal, "/nonexistent/journal.db");
	assert_true(asks("hpc", NULL) < 0);
	assert_string_not_equal(error, "");
}

/* An answer says how far it looked, and the next goes on there. */
static void a_long_journal_is_read_in_parts(void **state)
{
	char after[24];
	(void)state;
	re_is("hpc", OWNER, 1);
	n_endless = LOOKED_MAX + 7;
	n_notes = HISTORY_MAX + 5;
	assert_int_equal(asks("hpc", NULL), 200);
	assert_true(phx_json_bool(answer, "more", false));
	assert_int_equal(phx_json_int(answer, "last", 0), LOOKED_MAX);
	const json_t *rows = json_object_get(answer, "history");
	assert_int_equal(json_array_size(rows), HISTORY_MAX);
	assert_int_equal(phx_json_int(json_array_get(rows, 0), "seq", 0), 6); /* the newest */
	snprintf(after, sizeof(after), "%lld", (long long)phx_json_int(answer, "last", 0));
	assert_reads("hpc", after, "");
	assert_false(phx_json_bool(answer, "more", true));
	assert_int_equal(phx_json_int(answer, "last", 0), LOOKED_MAX + 7);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_owner_reads_what_was_said_of_his_re),
		T(an_earlier_re_of_the_name_is_not_his),
		T(an_re_that_is_gone_is_the_resource_providers),
		T(who_was_refused_reads_that_alone),
		T(hardware_of_nodes_is_cut),
		T(what_is_wrong_is_refused),
		T(a_long_journal_is_read_in_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
