/* Sweeps: values, their order, that threads do not show, and the error that is told. */
#include "sim/sweep.h"
#include "unit/sim/runs.h"

#define SHARED TEST_DIR "/../etc/sim/shared.conf"

/* The values of `text`, joined by blanks. */
static void check_values(const char *text, const char *path, const char *values)
{
	struct phx_sim_varied v;
	struct phx_buf b = {0};
	struct phx_err err = {0};
	if (phx_sim_varied_parse(text, &v, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(v.path, path);
	for (size_t i = 0; i < v.n; i++)
		phx_buf_addf(&b, "%s%s", i ? " " : "", v.values[i]);
	assert_string_equal(b.data, values);
	phx_buf_fini(&b);
	phx_sim_varied_fini(&v);
}

static void values_are_lists_or_ranges(void **state)
{
	(void)state;
	check_values("a.b=1,2,3", "a.b", "1 2 3");
	check_values("a=15m,1h", "a", "15m 1h");
	check_values("a=fb", "a", "fb");
	check_values("a=3..6", "a", "3 4 5 6");
	check_values("a=100..130:10", "a", "100 110 120 130");
	check_values("a=100..125:10", "a", "100 110 120");
	check_values("a=1.0..2.0:0.25", "a", "1 1.25 1.5 1.75 2");
	check_values("a=0.1..0.5:0.1", "a", "0.1 0.2 0.3 0.4 0.5");
	check_values("a=5..5", "a", "5");
}

static void bad_values_are_told(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {{"a", "PATH=VALUES is wanted"},  {"=1", "PATH=VALUES is wanted"},
		   {"a=", "PATH=VALUES is wanted"}, {"a=1,,2", "a value is missing"},
		   {"a=1,", "a value is missing"},  {"a=1..x", "FROM..TO"},
		   {"a=3..1", "rising numbers"},    {"a=1..5:0", "FROM..TO"},
		   {"a=1..5:-1", "FROM..TO"},       {"a=..5", "FROM..TO"},
		   {"a=1..1e9", "more than"}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_sim_varied v;
		struct phx_err err = {0};
		assert_true(phx_sim_varied_parse(bad[i].text, &v, &err) < 0);
		assert_says(&err, bad[i].says);
	}
}

struct swept {
	struct phx_sim_varied varied[2];
	struct phx_trace_store *store;
	struct phx_sim_sweep_point *points;
	size_t n;
	struct phx_err err;
};

static int sweep(struct swept *s, const char *first, const char *second, unsigned workers)
{
	*s = (struct swept){0};
	assert_int_equal(phx_sim_varied_parse(first, &s->varied[0], &s->err), 0);
	assert_int_equal(phx_sim_varied_parse(second, &s->varied[1], &s->err), 0);
	assert_int_equal(phx_trace_store_new(NULL, &s->store), 0);
	struct phx_sim_sweep_config config = {.scenario = SHARED,
					      .varied = s->varied,
					      .n_varied = 2,
					      .store = s->store,
					      .workers = workers};
	return phx_sim_sweep(&config, &s->points, &s->n, &s->err);
}

static void swept_fini(struct swept *s)
{
	phx_sim_sweep_free(s->points, s->n);
	phx_trace_store_free(s->store);
	phx_sim_varied_fini(&s->varied[0]);
	phx_sim_varied_fini(&s->varied[1]);
}

static void threads_do_not_show(void **state)
{
	struct swept one, many;
	(void)state;
	if (sweep(&one, "clusters.shared.nodes=34..44:5", "res.batch.scheduler=fcfs,easy", 1) < 0)
		fail_msg("%s", one.err.text);
	assert_int_equal(
		sweep(&many, "clusters.shared.nodes=34..44:5", "res.batch.scheduler=fcfs,easy", 7),
		0);
	assert_int_equal(one.n, 6);
	assert_int_equal(many.n, 6);
	static const char *const nodes[] = {"34", "34", "39", "39", "44", "44"};
	for (size_t i = 0; i < one.n; i++) {
		assert_string_equal(one.points[i].value[0], nodes[i]);
		assert_string_equal(one.points[i].value[1], i % 2 ? "easy" : "fcfs");
		assert_memory_equal(&one.points[i].result.total, &many.points[i].result.total,
				    sizeof(struct phx_sim_metrics));
	}
	/* the points are of different sizes */
	assert_int_equal(one.points[0].result.total.peak_nodes, 34);
	assert_int_equal(one.points[5].result.total.peak_nodes, 44);
	swept_fini(&one);
	swept_fini(&many);
}

static void the_first_bad_point_is_told(void **state)
{
	struct swept s;
	(void)state;
	assert_int_equal(sweep(&s, "clusters.shared.nodes=30,0,1", "res.batch.lease=1h", 3),
			 -EINVAL);
	assert_says(&s.err, "clusters.shared.nodes=0");
	assert_says(&s.err, "nodes is 0");
	assert_null(s.points);
	swept_fini(&s);
}

/* ---- the threads themselves ---- */

static int count(void *arg, size_t i, struct phx_err *err)
{
	(void)err;
	__atomic_add_fetch(&((int *)arg)[i], 1, __ATOMIC_RELAXED);
	return 0;
}

static int fail_some(void *arg, size_t i, struct phx_err *err)
{
	(void)arg;
	return i % 10 == 7 ? phx_err_set(err, -ERANGE, "piece %zu", i) : 0;
}

static void each_piece_is_done_once(void **state)
{
	int done[1000] = {0};
	(void)state;
	assert_int_equal(phx_sim_pool_run(8, 1000, count, NULL, done, NULL), 0);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(done[i], 1);
	assert_int_equal(phx_sim_pool_run(0, 1, count, NULL, done, NULL), 0);
	assert_int_equal(done[0], 2);
	assert_int_equal(phx_sim_pool_run(4, 0, count, NULL, done, NULL), 0);
}

static void the_first_failure_counts(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct phx_err err = {0};
		assert_int_equal(phx_sim_pool_run(6, 100, fail_some, NULL, NULL, &err), -ERANGE);
		assert_string_equal(err.text, "piece 7");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_lists_or_ranges),
		cmocka_unit_test(bad_values_are_told),
		cmocka_unit_test(threads_do_not_show),
		cmocka_unit_test(the_first_bad_point_is_told),
		cmocka_unit_test(each_piece_is_done_once),
		cmocka_unit_test(the_first_failure_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
