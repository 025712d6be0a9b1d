/* Searching the journal (cmd/phxd/api_journal.c): by node or RE, by person, kind and time,
 * backwards in pages that leave nothing out; a request looks at so many events and says how far it
 * got. The journal is a real one. */
#include "fake/journal.h"
#include "fake/person.h"

#define phx_pki_site_pub_pem(pki) ((void)(pki), "the key of the site")
#include "phxd/api_journal.c" /* parts of a program, not of the library */
#include "phxd/parse.c"

static struct daemon head;
static unsigned n_breathed;
static json_t *answer;
static char error[FAKE_TEXT];

bool person_login(const char *name, struct person_login *ret)
{
	ret->uid = 1001;
	return !strcmp(name, "alice");
}

void reads_breathe(int64_t since_us)
{
	(void)since_us;
	n_breathed++;
}

uint64_t engine_verified(const struct engine *e, uint64_t *ret_uncovered)
{
	(void)e;
	*ret_uncovered = 2;
	return 3;
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_requests_begin();
	fake_journal_ms = 1000000;
	n_breathed = 0;
	answer = NULL;
	if (fake_journal_begin() < 0)
		return -1;
	head = (struct daemon){.started_ms = 77};
	PHX_STR_SET(head.cfg.journal, fake_journal);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_decref(PHX_TAKE(answer));
	return fake_journal_end();
}

static int asks(phx_http_handler handler, const struct fake_word *query)
{
	FAKE_REQUEST q = {0};
	for (size_t i = 0; query && query[i].name; i++)
		q.query[i] = query[i];
	json_decref(PHX_TAKE(answer));
	handler(&q, &head);
	PHX_STR_SET(error, q.text);
	answer = json_incref(q.json);
	return q.code;
}
#define Q(...) ((const struct fake_word[]){__VA_ARGS__, {NULL, NULL}})

/* The numbers of what is found, and "+" if there may be more. */
static void assert_found(const struct fake_word *query, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *ev;
	if (asks(api_journal, query) != 200)
		fail_msg("%s", error);
	json_array_foreach(json_object_get(answer, "events"), i, ev)
		phx_buf_addf(&b, "%lld ", (long long)phx_json_int(ev, "seq", 0));
	phx_buf_addf(&b, "%s", phx_json_bool(answer, "more", false) ? "+" : "");
	assert_string_equal(b.n ? b.data : "", want);
}

#define ACTION(re, text) \
	"[{\"kind\":\"note\",\"node\":\"n1\",\"re\":\"" re "\",\"text\":\"" text "\"},{\"kind\":" \
	"\"order\",\"node\":\"n1\"}]"

/* As the engine writes it: with who did it and the RE that it is about, by which it is found. */
static void done_by(const char *kind, const char *node, const char *by, const char *re,
		    const char *event, const char *actions)
{
	uint64_t seq = phx_store_last(fake_store) + 1;
	struct phx_store_row row = {
		.event = {seq, fake_journal_ms + 1000 * (int64_t)seq, kind, node, event, actions}};
	char caused[PHX_NAME_MAX + 8];
	const char *const about[] = {caused, re};
	snprintf(caused, sizeof(caused), PHX_STORE_BY "%s", by);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(about); i++)
		if (about[i])
			PHX_STR_SET(((struct phx_word *)phx_list_push(&row.about,
								      sizeof(struct phx_word)))
					    ->text,
				    about[i]);
	assert_int_equal(phx_store_append(fake_store, &row, 1, NULL), 0);
	phx_list_fini(&row.about);
}

/* Each a second after the one before, from 1001 s on. */
static void events(void)
{
	done_by("assign", "n1", "uid:1001", "hpc", "{\"by\":\"uid:1001\"}",
		ACTION("hpc", "n1 is given to hpc"));
	happens("tick", "", "{}", "[]");
	done_by("re_suspend", "", "provider:campus", "hpc",
		"{\"by\":\"provider:campus\",\"re\":\"hpc\"}", "[]");
	done_by("assign", "n2", "uid:1001", NULL, "{\"by\":\"uid:1001\"}", "[]");
	done_by("wipe", "n1", "uid:4294967000", NULL, "{\"by\":\"uid:4294967000\"}", "[]");
}

static void what_is_asked_for_is_found_backwards(void **state)
{
	(void)state;
	events();
	assert_found(NULL, "5 4 3 2 1 ");
	assert_found(Q({"name", "n1"}), "5 1 ");
	assert_found(Q({"name", "hpc"}), "3 1 "); /* also in what an event led to */
	assert_found(Q({"name", "hp"}), "");
	assert_found(Q({"kind", "assign"}), "4 1 ");
	assert_found(Q({"who", "provider:campus"}), "3 ");
	assert_found(Q({"who", "alice"}), "4 1 "); /* a user of the head, by his number */
	assert_found(Q({"who", "uid:1001"}, {"name", "n2"}), "4 ");
	assert_found(Q({"who", ""}, {"name", ""}, {"kind", ""}), "5 4 3 2 1 ");
}

static void what_an_event_led_to_is_told(void **state)
{
	(void)state;
	events();
	assert_found(Q({"kind", "assign"}, {"name", "n1"}), "1 ");
	const json_t *ev = json_array_get(json_object_get(answer, "events"), 0),
		     *notes = json_object_get(ev, "notes");
	assert_int_equal(json_array_size(notes), 1);
	assert_string_equal(phx_json_str(json_array_get(notes, 0), "text", ""),
			    "n1 is given to hpc");
	assert_string_equal(phx_json_str(json_array_get(notes, 0), "re", ""), "hpc");
	assert_string_equal(phx_json_str(ev, "by", ""), "uid:1001");
	assert_string_equal(phx_json_str(json_object_get(ev, "event"), "by", ""), "uid:1001");
	assert_int_equal(phx_json_int(ev, "time_ms", 0), 1001000);
	assert_string_not_equal(phx_json_str(ev, "text", ""), "");
	assert_found(Q({"kind", "wipe"}), "5 ");
	ev = json_array_get(json_object_get(answer, "events"), 0);
	assert_string_equal(phx_json_str(ev, "person", "?"), ""); /* there is no such user now */
}

static void times_have_a_beginning_and_an_end(void **state)
{
	(void)state;
	events();
	assert_found(Q({"from", "1003000"}), "5 4 3 ");
	assert_found(Q({"until", "1003000"}), "2 1 ");
	assert_found(Q({"from", "1002000"}, {"until", "1004000"}), "3 2 ");
	assert_found(Q({"until", "1004000"}, {"before", "2"}), "1 ");
	assert_found(Q({"until", "1002000"}, {"before", "4"}), "1 ");
	assert_found(Q({"until", "9999000"}), "5 4 3 2 1 ");
	assert_found(Q({"from", "9999000"}), "");
	assert_found(Q({"until", "1"}), "");
}

static void pages_go_on_before_the_last(void **state)
{
	(void)state;
	events();
	assert_found(Q({"limit", "2"}), "5 4 +");
	assert_int_equal(phx_json_int(answer, "before", 0), 4);
	assert_found(Q({"limit", "2"}, {"before", "4"}), "3 2 +");
	assert_found(Q({"limit", "2"}, {"before", "2"}), "1 ");
	assert_found(Q({"limit", "0"}), "5 +");
}

/* Events that are large count for more. */
static void an_answer_has_a_greatest_length(void **state)
{
	PHX_AUTO_FREE char *large = malloc(BYTES_MAX / 2 + 40);
	(void)state;
	memcpy(large, "{\"a\":\"", 6);
	memset(large + 6, 'x', BYTES_MAX / 2);
	strcpy(large + 6 + BYTES_MAX / 2, "\"}");
	for (int i = 0; i < 4; i++)
		happens("tick", "", large, "[]");
	assert_found(NULL, "4 3 +");
	assert_found(Q({"before", "3"}), "2 1 +");
}

static void a_request_looks_at_so_many(void **state)
{
	(void)state;
	enum { N = LOOKED_MAX + PAGE };
	PHX_AUTO_FREE struct phx_store_row *rows = calloc(N, sizeof(*rows));
	happens("assign", "n1", "{}", "[]");
	for (uint64_t k = 0; k < N; k++)
		rows[k].event = (struct phx_store_event){k + 2, 2000000, "tick", "n1", "{}", "[]"};
	assert_int_equal(phx_store_append(fake_store, rows, N, NULL), 0);
	assert_found(Q({"kind", "assign"}), "1 "); /* it has an index */
	assert_found(Q({"name", "n1"}, {"kind", "assign"}), "+");
	int64_t before = phx_json_int(answer, "before", 0);
	assert_int_equal(before, PAGE + 2);
	assert_int_equal(n_breathed, LOOKED_MAX / PAGE);
	char text[24];
	snprintf(text, sizeof(text), "%lld", (long long)before);
	assert_found(Q({"name", "n1"}, {"kind", "assign"}, {"before", text}), "1 ");
}

static void what_is_wrong_is_refused(void **state)
{
	static const struct fake_word bad[][2] = {
		{{"name", "a b"}, {"", "name: it is that of a node or an RE"}},
		{{"kind", "explode"}, {"", ""}},
		{{"limit", "201"}, {"", "limit: must be a number from 0 to 200"}},
		{{"before", "-1"}, {"", "before: must be a number"}},
		{{"from", "x"}, {"", "from: must be a number"}},
		{{"until", "x"}, {"", "until: must be a number"}},
		{{"who", "nobodynobodynobodynobodynobodynobodynobodynobodynobodynobodynobody"},
		 {"", "who: nobody has so long a name"}},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		assert_int_equal(asks(api_journal, Q(bad[i][0])), -EINVAL);
		assert_true(error[0] && phx_str_starts(error, bad[i][1].value));
	}
	PHX_STR_SET(head.cfg.journal, "/nowhere/journal.db");
	assert_true(asks(api_journal, NULL) < 0);
	assert_non_null(strstr(error, "/nowhere/journal.db"));
}

static void the_head_says_what_it_verified(void **state)
{
	(void)state;
	events();
	assert_int_equal(asks(api_journal_state, NULL), 200);
	assert_int_equal(phx_json_int(answer, "first", 0), 1);
	assert_int_equal(phx_json_int(answer, "first_ms", 0), 1001000);
	assert_int_equal(phx_json_int(answer, "last", 0), 5);
	assert_int_equal(phx_json_int(answer, "verified", 0), 3);
	assert_int_equal(phx_json_int(answer, "verified_ms", 0), 77);
	assert_int_equal(phx_json_int(answer, "uncovered", 0), 2);
	assert_string_equal(phx_json_str(answer, "site_key", ""), "the key of the site");
	assert_string_equal(phx_json_str(answer, "journal", ""), phx_store_id(fake_store));
	assert_int_equal(json_array_size(json_object_get(answer, "kinds")),
			 phx_event_kind_names.n_names);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_asked_for_is_found_backwards),
		T(what_an_event_led_to_is_told),
		T(times_have_a_beginning_and_an_end),
		T(pages_go_on_before_the_last),
		T(an_answer_has_a_greatest_length),
		T(a_request_looks_at_so_many),
		T(what_is_wrong_is_refused),
		T(the_head_says_what_it_verified),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
