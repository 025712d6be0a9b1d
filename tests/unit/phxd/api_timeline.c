/* The past for charts, as it is told (cmd/phxd/api_timeline.c): a service provider is told of the
 * own REs, from when each was asked for; the present state stands behind what is written, once; a
 * long answer says that there is more, and where it goes on. The series is what the test says. */
#include "fake/engine.h"
#include "fake/request.h"

#include "phxd/timeline.h"

static struct phx_list rows, marks, holdings, kept_now; /* of the series; kept_now: the present */
static int open_result;
static enum phx_series_level level_read;
static uint64_t from_read, until_read;
static uint32_t fill; /* so many rows more, of a pool that nobody has */
static unsigned n_open;

static int fake_open(const char *path, struct phx_series_reader **ret, struct phx_err *err)
{
	assert_string_equal(path, "/series");
	assert_false(fake_engine_held); /* it reads a file */
	if (open_result < 0)
		return phx_err_set(err, open_result, "/series: cannot be read");
	n_open++;
	*ret = (struct phx_series_reader *)&rows;
	return 0;
}

static void fake_close(struct phx_series_reader *r)
{
	n_open -= r != NULL;
}

static int fake_rows(struct phx_series_reader *r, enum phx_series_level level, int64_t from_ms,
		     int64_t until_ms, uint32_t limit, phx_series_row_fn fn, void *arg,
		     struct phx_err *err)
{
	int result = 0;
	(void)r, (void)err;
	level_read = level;
	from_read = (uint64_t)from_ms;
	until_read = (uint64_t)until_ms;
	PHX_LIST_EACH(struct phx_series_row, row, &rows)
		result = result ? result : fn(arg, row);
	for (uint32_t i = rows.n; result == 0 && i < fill && i < limit; i++)
		result = fn(arg, &(struct phx_series_row){.pool = "crowd", .at_ms = 1});
	return result;
}

static int fake_marks(struct phx_series_reader *r, int64_t from_ms, int64_t until_ms,
		      uint32_t limit, phx_series_mark_fn fn, void *arg, struct phx_err *err)
{
	int result = 0;
	(void)r, (void)err, (void)from_ms, (void)until_ms;
	for (uint32_t i = 0; result == 0 && i < marks.n && i < limit; i++)
		result = fn(arg, PHX_LIST_AT(&marks, struct phx_series_mark, i));
	return result;
}

static int fake_holdings(struct phx_series_reader *r, int64_t from_ms, int64_t until_ms,
			 const char *after, uint32_t limit, phx_series_holding_fn fn, void *arg,
			 struct phx_err *err)
{
	int result = 0;
	uint32_t n = 0;
	(void)r, (void)err, (void)from_ms, (void)until_ms;
	PHX_LIST_EACH(struct phx_series_holding, h, &holdings)
		if (result == 0 && strcmp(h->node, after) > 0 && n++ < limit)
			result = fn(arg, h);
	return result;
}

#define phx_series_reader_open fake_open
#define phx_series_reader_close fake_close
#define phx_series_rows fake_rows
#define phx_series_marks fake_marks
#define phx_series_holdings fake_holdings
#include "phxd/api_timeline.c" /* parts of a program, not of the library */
#include "phxd/parse.c"

#define OWNER "unix:hpc"
enum { NOW = 100000000, ASKED = NOW - 600000 };

static struct daemon head;
static struct phx_state core;
static bool has_all;
static const char *asker;
static json_t *answer;
static char error[FAKE_TEXT];

/* ---- what is behind ---- */

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

json_t *body_json(struct phx_http_request *q)
{
	(void)q;
	fail();
	return NULL;
}

const char *timeline_path(const struct timeline *t)
{
	(void)t;
	return "/series";
}

int timeline_now(struct timeline *t, struct phx_list *ret)
{
	(void)t;
	PHX_LIST_EACH(struct timeline_line, l, &kept_now)
		*(struct timeline_line *)phx_list_push(ret, sizeof(*l)) = *l;
	return 0;
}

/* ---- what was ---- */

static void row(const char *pool, int64_t at_ms, int64_t covered_ms, int64_t nodes)
{
	struct phx_series_row *r = phx_list_push(&rows, sizeof(*r));
	const int64_t values[PHX_SERIES_QUANTITIES] = {[PHX_SERIES_Q_nodes] = nodes};
	r->at_ms = at_ms;
	r->covered_ms = covered_ms;
	PHX_STR_SET(r->pool, pool);
	phx_series_weigh(r, values);
}

static void line_now(const char *pool, int64_t at_ms, int64_t nodes)
{
	struct timeline_line *l = phx_list_push(&kept_now, sizeof(*l));
	PHX_STR_SET(l->pool, pool);
	l->at_ms = at_ms;
	l->values[PHX_SERIES_Q_nodes] = nodes;
}

static void held(const char *node, const char *pool, int64_t from_ms, int64_t until_ms)
{
	struct phx_series_holding *h = phx_list_push(&holdings, sizeof(*h));
	PHX_STR_SET(h->node, node);
	PHX_STR_SET(h->pool, pool);
	h->from_ms = from_ms;
	h->until_ms = until_ms;
}

static int setup(void **state)
{
	(void)state;
	fake_requests_begin();
	fake_now_ms = NOW;
	core = (struct phx_state){0};
	fake_state = &core;
	struct phx_re *re = phx_list_push(&core.res, sizeof(*re));
	PHX_STR_SET(re->name, "hpc");
	PHX_STR_SET(re->agreement.owner, OWNER);
	re->asked_ms = ASKED;
	re = phx_list_push(&core.res, sizeof(*re));
	PHX_STR_SET(re->name, "web");
	PHX_STR_SET(re->agreement.owner, "unix:web");
	has_all = false;
	asker = OWNER;
	open_result = 0;
	fill = 0;
	answer = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_engine_is_free();
	assert_int_equal(n_open, 0);
	json_decref(PHX_TAKE(answer));
	phx_list_fini(&core.res);
	phx_list_fini(&rows);
	phx_list_fini(&marks);
	phx_list_fini(&holdings);
	phx_list_fini(&kept_now);
	rows = marks = holdings = kept_now = (struct phx_list){0};
	return 0;
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

/* "POOL AT+COVERED=NODES ..." of each pool; times from now. */
static void assert_pools(const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i, k;
	json_t *pool, *at;
	json_array_foreach(json_object_get(answer, "pools"), i, pool) {
		const json_t *nodes = json_object_get(json_object_get(pool, "values"), "nodes"),
			     *covered = json_object_get(pool, "covered_ms");
		phx_buf_addf(&b, "%s%s", i ? "; " : "", phx_json_str(pool, "pool", "?"));
		json_array_foreach(json_object_get(pool, "at_ms"), k, at)
			phx_buf_addf(&b, " %lld+%lld=%.0f", (long long)json_integer_value(at) - NOW,
				     (long long)json_integer_value(json_array_get(covered, k)),
				     json_number_value(json_array_get(nodes, k)));
	}
	assert_string_equal(b.n ? b.data : "", want);
}

/* ---- whose ---- */

static void each_is_told_of_his_res_since_he_asked_for_them(void **state)
{
	(void)state;
	row("hpc", ASKED - 1, 2000, 9); /* of the former one, in part */
	row("hpc", ASKED, 2000, 3);
	row("web", ASKED, 2000, 4);
	row("free", ASKED, 2000, 5);
	assert_int_equal(asks(api_timeline, NULL), 200);
	assert_pools("hpc -600000+2000=3");
	asker = "unix:nobody";
	assert_int_equal(asks(api_timeline, NULL), 200);
	assert_pools("");
	has_all = true;
	assert_int_equal(asks(api_timeline, NULL), 200);
	assert_pools("hpc -600001+2000=9 -600000+2000=3; web -600000+2000=4; free -600000+2000=5");
	assert_int_equal(from_read, NOW - HOUR_MS); /* the last hour, if nothing else is said */
	assert_int_equal(until_read, NOW);
}

static void kills_are_told_likewise(void **state)
{
	static const struct phx_series_mark all[] = {
		{.seq = 4, .at_ms = ASKED, .pool = "hpc", .node = "n1", .text = "job 3 is killed"},
		{.seq = 3, .at_ms = ASKED - 1, .pool = "hpc", .text = "job 2 is killed"},
		{.seq = 2, .at_ms = ASKED, .pool = "web", .text = "job 1 is killed"},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(all); i++)
		*(struct phx_series_mark *)phx_list_push(&marks, sizeof(all[0])) = all[i];
	assert_int_equal(asks(api_timeline_kills, NULL), 200);
	const json_t *kills = json_object_get(answer, "kills");
	assert_int_equal(json_array_size(kills), 1);
	assert_string_equal(phx_json_str(json_array_get(kills, 0), "text", ""), "job 3 is killed");
	assert_false(phx_json_bool(answer, "more", true));
	has_all = true;
	assert_int_equal(asks(api_timeline_kills, NULL), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "kills")), 3);
	while (marks.n < MARKS_MAX + 1)
		phx_list_push(&marks, sizeof(struct phx_series_mark));
	assert_int_equal(asks(api_timeline_kills, NULL), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "kills")), MARKS_MAX);
	assert_true(phx_json_bool(answer, "more", false));
}

/* "NODE POOL FROM-UNTIL ..." */
static void assert_holdings(const struct fake_word *query, const char *want)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *h;
	if (asks(api_timeline_nodes, query) != 200)
		fail_msg("%s", error);
	json_array_foreach(json_object_get(answer, "holdings"), i, h) {
		const json_t *until = json_object_get(h, "until_ms");
		phx_buf_addf(&b, "%s %s %lld-%lld|", phx_json_str(h, "node", ""),
			     phx_json_str(h, "pool", ""),
			     (long long)phx_json_int(h, "from_ms", 0) - ASKED,
			     json_is_null(until) ? -1LL
						 : (long long)json_integer_value(until) - ASKED);
	}
	phx_buf_addf(&b, "%s%s", phx_json_str(answer, "last", "?"),
		     phx_json_bool(answer, "more", false) ? "+" : "");
	assert_string_equal(b.data, want);
}

/* Of the former RE's time he is told nothing, not even that the node was there. */
static void holdings_begin_when_he_asked_for_the_re(void **state)
{
	(void)state;
	held("n1", "hpc", ASKED - 50, ASKED);
	held("n1", "hpc", ASKED - 20, ASKED + 30);
	held("n1", "web", ASKED + 30, INT64_MAX);
	held("n2", "hpc", ASKED + 5, INT64_MAX);
	assert_holdings(NULL, "n1 hpc 0-30|n2 hpc 5--1|n2");
	has_all = true;
	assert_holdings(NULL, "n1 hpc -50-0|n1 hpc -20-30|n1 web 30--1|n2 hpc 5--1|n2");
}

/* ---- a long answer ---- */

/* A node whose rows may go on in the next answer is left to it whole. */
static void nodes_come_in_pages(void **state)
{
	(void)state;
	has_all = true;
	held("n1", "hpc", ASKED, ASKED + 1);
	held("n2", "hpc", ASKED, ASKED + 1);
	held("n2", "web", ASKED + 1, ASKED + 2);
	held("n3", "web", ASKED + 1, ASKED + 2);
	assert_holdings(Q({"limit", "2"}), "n1 hpc 0-1|n1+");
	assert_holdings(Q({"limit", "2"}, {"after", "n1"}), "n2 hpc 0-1|n2 web 1-2|n2+");
	assert_holdings(Q({"limit", "2"}, {"after", "n2"}), "n3 web 1-2|n3");
	assert_holdings(Q({"limit", "2"}, {"after", "n3"}), "");
	assert_holdings(Q({"limit", "0"}, {"after", "n2"}), "n3 web 1-2|n3");
	assert_holdings(Q({"limit", "0"}), "n1 hpc 0-1|n1+");
	assert_holdings(Q({"limit", "4"}), "n1 hpc 0-1|n2 hpc 0-1|n2 web 1-2|n3 web 1-2|n3");
	has_all = false; /* a page of others' is empty, and says where it goes on */
	asker = "unix:web";
	assert_holdings(Q({"limit", "2"}), "n1+");
}

/* Whatever the limit, and however many rows a node has: who asks on after `last` is told of each
 * once. */
static void every_row_comes_once(void **state)
{
	static const char *const limits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};
	static const unsigned n_of[] = {1, 5, 2, 1, 4};
	unsigned n = 0;
	(void)state;
	has_all = true;
	for (unsigned i = 0; i < PHX_ARRAY_SIZE(n_of); i++)
		for (unsigned k = 0; k < n_of[i]; k++, n++)
			held((const char[]){'n', (char)('1' + i), '\0'}, "hpc", ASKED + k,
			     ASKED + k + 1);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(limits); i++) {
		char after[PHX_NAME_MAX] = "";
		unsigned at = 0, n_answers = 0;
		do {
			size_t k;
			json_t *h;
			assert_int_equal(
				asks(api_timeline_nodes, Q({"limit", limits[i]}, {"after", after})),
				200);
			json_array_foreach(json_object_get(answer, "holdings"), k, h) {
				const struct phx_series_holding *want =
					PHX_LIST_AT(&holdings, struct phx_series_holding, at++);
				assert_string_equal(phx_json_str(h, "node", ""), want->node);
				assert_int_equal(phx_json_int(h, "from_ms", 0), want->from_ms);
			}
			PHX_STR_SET(after, phx_json_str(answer, "last", ""));
			assert_true(++n_answers <= n);
		} while (phx_json_bool(answer, "more", false));
		assert_int_equal(at, n);
	}
}

/* A node of which there is no end. */
static void what_no_answer_can_hold_is_refused(void **state)
{
	(void)state;
	has_all = true;
	for (uint32_t i = 0; i < ROWS_MAX; i++)
		held("n1", "hpc", ASKED + i, ASKED + i + 1);
	assert_int_equal(asks(api_timeline_nodes, NULL), -EFBIG);
	assert_string_equal(error,
			    "node n1 was handed over too often in that time: ask for a "
			    "shorter one");
	holdings.n--;
	assert_int_equal(asks(api_timeline_nodes, NULL), 200);
	assert_int_equal(json_array_size(json_object_get(answer, "holdings")), ROWS_MAX - 1);
}

/* An hour from change to change. */
#define FINE Q({"points", "5000"})

static void what_is_now_is_left_out_of_a_part(void **state)
{
	(void)state;
	has_all = true;
	fill = ROWS_MAX - 1;
	line_now("hpc", NOW - 5000, 4);
	assert_int_equal(asks(api_timeline, FINE), 200);
	assert_false(phx_json_bool(answer, "more", true));
	assert_int_equal(json_array_size(json_object_get(answer, "pools")), 1);
	fill = ROWS_MAX;
	assert_int_equal(asks(api_timeline, FINE), 200);
	assert_true(phx_json_bool(answer, "more", false));
	assert_int_equal(json_array_size(json_object_get(answer, "pools")), 0);
}

/* ---- the present ---- */

static void what_is_now_stands_behind_what_was(void **state)
{
	(void)state;
	row("hpc", NOW - 9000, 4000, 3);
	line_now("hpc", NOW - 5000, 4);
	line_now("web", NOW - 5000, 7); /* nothing of his */
	assert_int_equal(asks(api_timeline, FINE), 200);
	assert_string_equal(phx_json_str(answer, "level", ""), "moment");
	assert_pools("hpc -9000+4000=3 -5000+5000=4");
	/* a state that has been written meanwhile is told once */
	row("hpc", NOW - 5000, 1000, 4);
	assert_int_equal(asks(api_timeline, FINE), 200);
	assert_pools("hpc -9000+4000=3 -5000+1000=4");
	/* what is asked for ends before */
	phx_list_fini(&rows);
	rows = (struct phx_list){0};
	assert_int_equal(asks(api_timeline, Q({"until", "99997000"}, {"points", "5000"})), 200);
	assert_pools("hpc -5000+2000=4");
	assert_int_equal(asks(api_timeline, Q({"until", "99990000"}, {"points", "5000"})), 200);
	assert_pools("");
}

/* It lasts since before he asked for his RE. */
static void what_is_now_begins_with_his_re(void **state)
{
	(void)state;
	line_now("hpc", ASKED - 5000, 4);
	assert_int_equal(asks(api_timeline, FINE), 200);
	assert_pools("hpc -600000+600000=4");
	has_all = true;
	assert_int_equal(asks(api_timeline, FINE), 200);
	assert_pools("hpc -605000+605000=4");
}

/* A coarser level is of rows alone: they are sums. */
static void a_long_time_is_told_in_coarser_steps(void **state)
{
	(void)state;
	has_all = true;
	line_now("hpc", NOW - 5000, 4);
	assert_int_equal(asks(api_timeline, Q({"from", "0"}, {"points", "100"})), 200);
	assert_int_not_equal(level_read, PHX_SERIES_moment);
	assert_string_not_equal(phx_json_str(answer, "level", "moment"), "moment");
	assert_pools("");
	assert_int_equal(phx_json_int(answer, "step_ms", 0), phx_series_step_ms(level_read));
}

/* ---- refused ---- */

static void what_is_wrong_is_refused(void **state)
{
	static const struct fake_word words[] = {{"points", "5001"},
						 {"points", "x"},
						 {"from", "-1"},
						 {"until", "x"},
						 {"until", "9223372036854775808"}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		assert_int_equal(asks(api_timeline, Q(words[i])), -EINVAL);
		assert_true(phx_str_starts(error, words[i].name));
	}
	assert_int_equal(asks(api_timeline_nodes, Q({"limit", "10001"})), -EINVAL);
	assert_int_equal(asks(api_timeline_kills, Q({"from", "7"}, {"until", "7"})), -EINVAL);
	assert_string_equal(error, "from must be before until");
	assert_int_equal(asks(api_timeline_kills, Q({"until", "0"})), -EINVAL);
	open_result = -EBADMSG;
	assert_int_equal(asks(api_timeline, NULL), -EBADMSG);
	assert_string_equal(error, "/series: cannot be read");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_is_told_of_his_res_since_he_asked_for_them),
		T(kills_are_told_likewise),
		T(holdings_begin_when_he_asked_for_the_re),
		T(nodes_come_in_pages),
		T(every_row_comes_once),
		T(what_no_answer_can_hold_is_refused),
		T(what_is_now_is_left_out_of_a_part),
		T(what_is_now_stands_behind_what_was),
		T(what_is_now_begins_with_his_re),
		T(a_long_time_is_told_in_coarser_steps),
		T(what_is_wrong_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
