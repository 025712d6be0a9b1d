/* What would have been: a journal of a small cluster, made by the core itself, is read again and
 * simulated as it was agreed and with something changed. */
#include "unit/core/pair.h"

#include <unistd.h>

#include "base/json.h"
#include "base/tree.h"
#include "fake/append_one.h"
#include "past/past.h"

enum { SECOND = 1000, ROWS_MAX = 4000 };

/* The journal: rows with texts of their own, and the snapshot that it begins with. */
static struct phx_store_event rows[ROWS_MAX];
static uint32_t n_rows;
static char *snapshot;

static char *text_of(char *text)
{
	assert_non_null(text);
	return text;
}

static int keep(struct world *w, const struct phx_event *ev, struct phx_outcome *out)
{
	uint64_t before = w->s.seq;
	int r = phx_core_apply(&w->s, ev, out, &w->err);
	if (r < 0 || w->s.seq == before)
		return r;
	assert_true(n_rows < ROWS_MAX);
	rows[n_rows++] = (struct phx_store_event){
		w->s.seq,
		ev->now_ms,
		phx_enum_name(&phx_event_kind_names, ev->kind),
		"",
		text_of(phx_json_record_text_sparse(&phx_event_record, ev)),
		text_of(phx_json_list_text(&phx_action_record, &out->actions))};
	return 0;
}

static int begin(void **state)
{
	int r = world_setup(state);
	struct world *w = *state;
	snapshot = text_of(phx_json_record_text(&phx_state_record, &w->s));
	w->apply = keep;
	return r;
}

static int end(void **state)
{
	for (uint32_t i = 0; i < n_rows; i++) {
		free((char *)rows[i].event);
		free((char *)rows[i].actions);
	}
	n_rows = 0;
	free(PHX_TAKE(snapshot));
	return world_teardown(state);
}

/* ---- its life ---- */

/* A batch RE by itself, "queue", with all five nodes. */
static void queue_alone(struct world *w)
{
	struct phx_agreement q = agreement("queue", PHX_RE_BATCH, NODES);
	q.coordination = PHX_RE_COORDINATED_NONE;
	q.partner[0] = '\0';
	nodes_ready(w);
	assert_int_equal(create(w, &q), 0);
	assert_int_equal(operate(w, PHX_EV_re_activate, "queue"), 0);
	settle(w);
}

static void job_ends(struct world *w, uint64_t id)
{
	const struct phx_job *j = phx_state_job(&w->s, id);
	char names[NODES][PHX_NAME_MAX];
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		PHX_STR_SET(names[n++], p->node);
	for (uint32_t i = 0; i < n; i++) {
		struct phx_event ev = {.kind = PHX_EV_job_result,
				       .job_result = {.job = id, .run = j->kills}};
		PHX_STR_SET(ev.node, names[i]);
		assert_int_equal(world_apply(w, &ev, NULL), 0);
	}
	assert_int_equal(phx_state_job(&w->s, id)->state, PHX_JOB_DONE);
}

/* Two jobs of four nodes each, one after the other for 100 s, from the returned time on. */
static int64_t two_wide_jobs(struct world *w)
{
	queue_alone(w);
	int64_t from = w->now;
	uint64_t first = submit(w, 4), second = submit(w, 4);
	w->now += 100 * SECOND;
	job_ends(w, first);
	w->now += 100 * SECOND;
	job_ends(w, second);
	return from;
}

/* ---- reading it ---- */

static struct phx_past_wish wish_of(const struct world *w, int64_t from_ms)
{
	return (struct phx_past_wish){.from_ms = from_ms, .until_ms = w->now};
}

static struct phx_past *read_rows(const struct phx_past_wish *wish)
{
	struct phx_past *p = NULL;
	struct phx_err err = {0};
	assert_int_equal(phx_past_new(wish, &p, &err), 0);
	assert_int_equal(phx_past_state(p, snapshot, &err), 0);
	for (uint32_t i = 0; i < n_rows; i++)
		if (phx_past_event(p, &rows[i], &err) < 0)
			fail_msg("%s", err.text);
	return p;
}

static json_t *answer_of(const struct phx_past_wish *wish)
{
	struct phx_past *p = read_rows(wish);
	struct phx_err err = {0};
	json_t *answer = NULL;
	if (phx_past_run(p, NULL, NULL, &answer, &err) < 0)
		fail_msg("%s", err.text);
	phx_past_free(p);
	return answer;
}

static double total(const json_t *answer, const char *side, const char *metric)
{
	const json_t *of = json_object_get(json_object_get(answer, side), "total");
	const json_t *v = json_object_get(of, metric);
	if (!json_is_number(v))
		fail_msg("%s has no %s: %s", side, metric,
			 phx_json_str(json_object_get(answer, side), "error", "no error"));
	return json_number_value(v);
}

static void assert_near(double is, double wanted, double by)
{
	if (is < wanted - by || is > wanted + by)
		fail_msg("%f is not %f", is, wanted);
}

static void test_it_is_as_it_was(void **state)
{
	struct world *w = *state;
	struct phx_past_wish wish = wish_of(w, two_wide_jobs(w));
	wish.until_ms = w->now;
	PHX_AUTO_JSON json_t *answer = answer_of(&wish);
	assert_int_equal(phx_json_int(answer, "nodes", 0), NODES);
	assert_int_equal(phx_json_int(answer, "jobs", 0), 2);
	assert_int_equal(phx_json_int(answer, "left_out", -1), 0);
	for (int i = 0; i < 2; i++) {
		const char *side = i ? "changed" : "agreed";
		assert_near(total(answer, side, "completed"), 2, 0);
		assert_near(total(answer, side, "mean_wait_s"), 50, 0.01);
		assert_near(total(answer, side, "mean_exec_s"), 100, 0.01);
	}
}

/* Nodes that a fixed agreement does not use change nothing; with DR they do. */
static void test_more_nodes_and_another_model(void **state)
{
	struct world *w = *state;
	queue_alone(w);
	struct phx_past_wish wish = wish_of(w, w->now);
	uint64_t ids[] = {submit(w, 4), submit(w, 4), submit(w, 4)};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ids); i++) {
		w->now += 1000 * SECOND;
		job_ends(w, ids[i]);
	}
	wish.until_ms = w->now;
	wish.nodes = 3;
	PHX_AUTO_JSON json_t *fixed = answer_of(&wish);
	assert_int_equal(phx_json_int(fixed, "nodes_changed", 0), NODES + 3);
	assert_near(total(fixed, "changed", "mean_wait_s"), 1000, 0.01);
	wish.has_model = true;
	wish.model = PHX_POLICY_dr;
	PHX_AUTO_JSON json_t *dr = answer_of(&wish);
	assert_near(total(dr, "agreed", "mean_wait_s"), 1000, 0.01);
	/* DR takes the nodes at its next check, within a minute (S): two jobs run at once */
	assert_true(total(dr, "changed", "mean_wait_s") < 500);
}

/* A smaller cluster than its agreements promise is no cluster: said of that side alone. */
static void test_what_cannot_be(void **state)
{
	struct world *w = *state;
	struct phx_past_wish wish = wish_of(w, two_wide_jobs(w));
	wish.until_ms = w->now;
	wish.nodes = -2;
	PHX_AUTO_JSON json_t *answer = answer_of(&wish);
	assert_near(total(answer, "agreed", "completed"), 2, 0);
	const char *why = phx_json_str(json_object_get(answer, "changed"), "error", "");
	assert_non_null(strstr(why, "queue"));
}

/* What ran before is there with the rest of its run; what is of another time is not. */
static void test_a_part_of_it(void **state)
{
	struct world *w = *state;
	int64_t from = two_wide_jobs(w);
	struct phx_past_wish wish = {.from_ms = from + 50 * SECOND,
				     .until_ms = from + 199 * SECOND};
	PHX_AUTO_JSON json_t *answer = answer_of(&wish);
	assert_int_equal(phx_json_int(answer, "jobs", 0), 2);
	assert_near(total(answer, "agreed", "completed"), 1, 0);
	assert_near(total(answer, "agreed", "mean_exec_s"), 50, 0.01);
	wish = (struct phx_past_wish){.from_ms = from + 150 * SECOND, .until_ms = w->now + 1};
	PHX_AUTO_JSON json_t *last = answer_of(&wish);
	assert_int_equal(phx_json_int(last, "jobs", 0), 1);
}

/* The drawing: as many steps as there are, and in each what was so. */
static void test_it_is_drawn(void **state)
{
	struct world *w = *state;
	struct phx_past_wish wish = wish_of(w, two_wide_jobs(w));
	wish.until_ms = w->now;
	PHX_AUTO_JSON json_t *answer = answer_of(&wish);
	const json_t *pool = json_array_get(
			     json_object_get(json_object_get(answer, "agreed"), "pools"), 0),
		     *values = json_object_get(pool, "values");
	assert_string_equal(phx_json_str(pool, "pool", ""), "queue");
	size_t n = json_array_size(json_object_get(pool, "at_ms"));
	assert_int_equal(n, PHX_PAST_STEPS);
	for (size_t i = 0; i < n; i++) {
#define AT(name) json_number_value(json_array_get(json_object_get(values, name), i))
		assert_near(AT("nodes"), 5, 0);
		assert_near(AT("busy"), 4, 0.001);
		assert_near(AT("running"), 1, 0.001);
		assert_near(AT("waiting"), i < n / 2 ? 1 : 0, 0.001);
		assert_near(AT("demand"), i < n / 2 ? 8 : 4, 0.001);
#undef AT
	}
}

/* Nothing happens: what is held from the beginning is drawn all the same. */
static void test_a_quiet_time_is_drawn(void **state)
{
	struct world *w = *state;
	queue_alone(w);
	struct phx_past_wish wish = {.from_ms = w->now};
	w->now += 1000 * SECOND;
	tick(w, 0);
	wish.until_ms = w->now;
	PHX_AUTO_JSON json_t *answer = answer_of(&wish);
	const json_t *pool = json_array_get(
			     json_object_get(json_object_get(answer, "agreed"), "pools"), 0),
		     *nodes = json_object_get(json_object_get(pool, "values"), "nodes");
	assert_int_equal(json_array_size(nodes), PHX_PAST_STEPS);
	for (size_t i = 0; i < PHX_PAST_STEPS; i++)
		assert_near(json_number_value(json_array_get(nodes, i)), NODES, 0);
}

/* Of one RE alone, with other bounds; and the demand of a web service is what it was. */
static void test_one_re_with_another_agreement(void **state)
{
	struct world *w = *state;
	pair_running(w, 3, 1);
	int64_t from = w->now;
	web_is_busy(w);
	settle(w);
	w->now += 100 * SECOND;
	tick(w, 0);
	struct phx_past_wish wish = {.from_ms = from, .until_ms = w->now, .has_agreement = true};
	PHX_STR_SET(wish.re, "shop");
	wish.agreement = agreement("shop", PHX_RE_WEB, 1);
	wish.agreement.model = PHX_POLICY_dr;
	wish.agreement.upper = 1;
	PHX_AUTO_JSON json_t *answer = answer_of(&wish);
	assert_near(total(answer, "agreed", "jobs"), 0, 0);
	assert_near(total(answer, "changed", "peak_nodes"), 1, 0);
	assert_true(total(answer, "changed", "unmet_node_hours") > 0);
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(answer, "changed"), "res")), 1);
	PHX_STR_SET(wish.re, "nobody");
	struct phx_past *p = read_rows(&wish);
	struct phx_err err = {0};
	json_t *none = NULL;
	assert_int_equal(phx_past_run(p, NULL, NULL, &none, &err), -ENOENT);
	phx_past_free(p);
}

static int stop(void *arg, unsigned milli)
{
	*(unsigned *)arg += milli <= 1000;
	return 1;
}

static void test_bad_input(void **state)
{
	struct world *w = *state;
	struct phx_past_wish wish = wish_of(w, two_wide_jobs(w));
	struct phx_err err = {0};
	struct phx_past *p = NULL;
	wish.until_ms = wish.from_ms;
	assert_int_equal(phx_past_new(&wish, &p, &err), -EINVAL);
	wish = (struct phx_past_wish){.from_ms = 1, .until_ms = 2, .has_agreement = true};
	assert_int_equal(phx_past_new(&wish, &p, &err), -EINVAL);
	wish = (struct phx_past_wish){.from_ms = 1, .until_ms = 2, .nodes = 1};
	PHX_STR_SET(wish.re, "queue");
	assert_int_equal(phx_past_new(&wish, &p, &err), -EINVAL);
	/* an event is missing, and one that says something else */
	wish = (struct phx_past_wish){.until_ms = w->now};
	assert_int_equal(phx_past_new(&wish, &p, &err), 0);
	assert_int_equal(phx_past_state(p, snapshot, &err), 0);
	assert_int_equal(phx_past_event(p, &rows[1], &err), -EPROTO);
	struct phx_store_event other = rows[0];
	other.actions = "[{}]";
	phx_err_clear(&err);
	assert_int_equal(phx_past_event(p, &other, &err), -EPROTO);
	assert_non_null(strstr(err.text, "phx sim replay"));
	phx_past_free(p);
}

static void test_it_is_cancelled(void **state)
{
	struct world *w = *state;
	struct phx_past_wish wish = wish_of(w, two_wide_jobs(w));
	struct phx_err err = {0};
	json_t *none = NULL;
	unsigned asked = 0;
	wish.until_ms = w->now + INT64_C(400) * 86400 * SECOND;
	wish.has_model = true; /* its timer makes many instants */
	wish.model = PHX_POLICY_dr;
	struct phx_past *p = read_rows(&wish);
	assert_int_equal(phx_past_run(p, stop, &asked, &none, &err), -ECANCELED);
	assert_int_equal(asked, 1);
	assert_null(none);
	phx_past_free(p);
}

/* Which events of a store are needed: from the snapshot before that time on. */
static void test_the_source(void **state)
{
	char dir[] = "/tmp/phx-past.XXXXXX", path[64];
	struct phx_store *store = NULL;
	struct phx_store_reader *r = NULL;
	struct phx_past_source s = {0};
	struct phx_err err = {0};
	struct phx_past_wish wish = {.from_ms = 35 * SECOND, .until_ms = 50 * SECOND};
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	assert_int_equal(phx_store_open(path, &store, &err), 0);
	for (uint64_t i = 1; i <= 9; i++) {
		assert_int_equal(append_one(store, i, (int64_t)i * 10 * SECOND, "tick", "", "{}",
					    "[]", NULL, &err),
				 0);
		if (i % 3 == 0)
			assert_int_equal(
				phx_store_snapshot(store, i, i == 3 ? "{\"three\":1}" : "{}", &err),
				0);
		if (i != 6)
			continue;
		assert_int_equal(phx_store_reader_open(path, &r, &err), 0);
		assert_int_equal(phx_past_source(r, &wish, &s, &err), 0);
		assert_string_equal(s.snapshot, "{\"three\":1}");
		assert_int_equal(s.after, 3);
		assert_int_equal(s.last, 5);
		free(PHX_TAKE(s.snapshot));
	}
	/* the snapshot is gone, and the first events are there: from the beginning */
	assert_int_equal(phx_past_source(r, &wish, &s, &err), 0);
	assert_null(s.snapshot);
	assert_int_equal(s.after, 0);
	wish = (struct phx_past_wish){.from_ms = 1, .until_ms = 2};
	assert_int_equal(phx_past_source(r, &wish, &s, &err), -ENOENT);
	wish = (struct phx_past_wish){.from_ms = 35 * SECOND, .until_ms = 50 * SECOND};
	assert_true(phx_store_prune(store, 60 * SECOND, &err) > 0);
	assert_int_equal(phx_past_source(r, &wish, &s, &err), -ENODATA);
	phx_store_reader_close(r);
	phx_store_close(store);
	phx_dir_remove(dir, NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(it_is_as_it_was),
		TEST(more_nodes_and_another_model),
		TEST(what_cannot_be),
		TEST(a_part_of_it),
		TEST(it_is_drawn),
		TEST(a_quiet_time_is_drawn),
		TEST(one_re_with_another_agreement),
		TEST(bad_input),
		TEST(it_is_cancelled),
		cmocka_unit_test(test_the_source),
	};
#undef TEST
	return cmocka_run_group_tests(tests, NULL, NULL);
}
