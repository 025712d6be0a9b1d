/* Generated workloads: the same seed gives the same, the rate follows its form, sizes and run times
 * their laws. */
#include "trace/gen.h"
#include "trace/series.h"
#include "unit/trace/traces.h"

static struct phx_trace_jobs w, again;
static struct phx_trace_series s;
static struct phx_err err;

static int teardown(void **state)
{
	(void)state;
	phx_trace_jobs_fini(&w);
	phx_trace_jobs_fini(&again);
	phx_trace_series_fini(&s);
	return 0;
}

static const struct phx_gen_jobs base = {
	.rate = {.form = PHX_GEN_POISSON, .length_ms = 7 * 86400 * INT64_C(1000)},
	.seed = 1,
	.n = 20000,
	.law = PHX_GEN_EXPONENTIAL,
	.run_ms = 600000,
	.nodes_max = 64,
	.estimate_milli = 3000,
	.users = 10,
};

static void draw(const struct phx_gen_jobs *g, struct phx_trace_jobs *ret)
{
	phx_trace_jobs_fini(ret);
	phx_err_clear(&err);
	if (phx_gen_jobs(g, ret, &err) < 0)
		fail_msg("%s", err.text);
}

/* Jobs submitted in the k-th of n equal parts of the time. */
static size_t part(const struct phx_gen_jobs *g, unsigned k, unsigned n)
{
	size_t count = 0;
	for (size_t i = 0; i < w.n; i++)
		count += (uint64_t)w.jobs[i].submit_ms * n / (uint64_t)g->rate.length_ms == k;
	return count;
}

static void test_same_seed(void **state)
{
	struct phx_gen_jobs g = base;
	(void)state;
	draw(&g, &w);
	draw(&g, &again);
	assert_int_equal(w.n, again.n);
	assert_memory_equal(w.jobs, again.jobs, w.n * sizeof(*w.jobs));
	g.seed = 2;
	draw(&g, &again);
	assert_memory_not_equal(w.jobs, again.jobs, 100 * sizeof(*w.jobs));
}

static void test_jobs_are_sound(void **state)
{
	double run_s = 0;
	size_t n_single = 0, n_full = 0;
	(void)state;
	draw(&base, &w);
	assert_in_range(w.n, 19500, 20500);
	for (size_t i = 0; i < w.n; i++) {
		const struct phx_trace_job *j = &w.jobs[i];
		assert_int_equal(j->id, i + 1);
		assert_true(i == 0 || j->submit_ms >= w.jobs[i - 1].submit_ms);
		assert_true(j->submit_ms % 1000 == 0 && j->run_ms % 1000 == 0 && j->run_ms >= 1000);
		assert_true(j->estimate_ms >= j->run_ms && j->estimate_ms <= 3 * j->run_ms + 1000);
		assert_true(j->size >= 1 && j->size <= 64 && (j->size & (j->size - 1)) == 0);
		assert_in_range(j->user, 1, 10);
		run_s += (double)j->run_ms / 1000;
		n_single += j->size == 1;
		n_full += j->size == 64;
	}
	assert_float_equal(run_s / (double)w.n, 600, 15);
	assert_float_equal((double)n_single / (double)w.n, 0.5, 0.02);
	assert_float_equal((double)n_full / (double)w.n, 1.0 / 64, 0.004);
}

static void test_laws(void **state)
{
	struct phx_gen_jobs g = base;
	(void)state;
	g.law = PHX_GEN_FIXED;
	g.estimate_milli = 0;
	draw(&g, &w);
	for (size_t i = 0; i < w.n; i++)
		assert_true(w.jobs[i].run_ms == 600000 && w.jobs[i].estimate_ms == -1);
	g.law = PHX_GEN_LOGNORMAL;
	g.sd_ms = 525000;
	draw(&g, &w);
	double sum = 0, squares = 0;
	for (size_t i = 0; i < w.n; i++) {
		double run_s = (double)w.jobs[i].run_ms / 1000;
		sum += run_s;
		squares += run_s * run_s;
	}
	double mean = sum / (double)w.n, variance = squares / (double)w.n - mean * mean;
	assert_float_equal(mean, 600, 15);
	assert_in_range((int64_t)variance, 475 * 475, 575 * 575);
}

static void test_forms(void **state)
{
	struct phx_gen_jobs g = base;
	(void)state;
	g.rate.swing_milli = 4000;
	g.rate.form = PHX_GEN_INCREASING; /* 0.4, 0.8, 1.2, 1.6 of the mean */
	draw(&g, &w);
	for (unsigned k = 0; k < 4; k++)
		assert_float_equal((double)part(&g, k, 4), 20000.0 / 4 * 0.4 * (k + 1), 250);
	g.rate.form = PHX_GEN_BURSTY; /* nine tenths at 1/1.3, one at 4/1.3 */
	draw(&g, &w);
	for (unsigned k = 0; k < 40; k++)
		assert_float_equal((double)part(&g, k, 40),
				   20000.0 / 40 * (k % 10 == 9 ? 4 / 1.3 : 1 / 1.3), 130);
	g.rate.form = PHX_GEN_PERIODIC; /* lowest at the begin of a period, highest in its middle */
	draw(&g, &w);
	for (unsigned k = 0; k < 16; k += 4)
		assert_true(part(&g, k, 16) * 2 < part(&g, k + 1, 16));
	assert_in_range(w.n, 19500, 20500);
}

static void test_rates_have_mean_one(void **state)
{
	struct phx_gen_rate r = {
		.length_ms = 1000000, .swing_milli = 7000, .periods = 5, .burst_milli = 250};
	(void)state;
	for (r.form = 0; r.form < PHX_GEN_FORM_COUNT_; r.form++) {
		double sum = 0;
		for (int64_t t = 0; t < 1000000; t += 100)
			sum += phx_gen_rate(&r, t);
		assert_float_equal(sum / 10000, 1, 0.002);
	}
}

static void test_load(void **state)
{
	struct phx_gen_load g = {.rate = {.form = PHX_GEN_PERIODIC, .length_ms = 90 * 60000},
				 .seed = 3,
				 .mean_milli = 100000};
	(void)state;
	assert_int_equal(phx_gen_load(&g, &s, &err), 0);
	assert_int_equal(s.n, 90);
	assert_int_equal(s.end_ms, 90 * 60000);
	assert_float_equal((double)phx_series_integral(&s) / (double)s.end_ms, 100000, 500);
	/* 10 to 1: 0.18 to 1.82 of the mean */
	assert_in_range(phx_series_peak(&s), 175000, 182000);
	g.noise_milli = 100;
	g.rate.form = PHX_GEN_POISSON;
	phx_trace_series_fini(&s);
	assert_int_equal(phx_gen_load(&g, &s, &err), 0);
	for (size_t i = 0; i < s.n; i++)
		assert_in_range(s.value[i], 90000, 110000);
	assert_int_not_equal(s.value[0], s.value[1]);
}

static void test_refused(void **state)
{
	struct phx_gen_jobs bad[6] = {base, base, base, base, base, base};
	static const char *const says[] = {"length", "jobs", "run time", "swing", "burst", "form"};
	(void)state;
	phx_trace_jobs_fini(&w);
	bad[0].rate.length_ms = 0;
	bad[1].n = 10000001;
	bad[2].run_ms = 0;
	bad[3].rate.swing_milli = 999;
	bad[4].rate.burst_milli = 1000;
	bad[5].rate.form = 9;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		phx_err_clear(&err);
		assert_int_equal(phx_gen_jobs(&bad[i], &w, &err), -EINVAL);
		assert_says(&err, says[i]);
		assert_null(w.jobs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed),
		cmocka_unit_test(test_jobs_are_sound),
		cmocka_unit_test(test_laws),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_rates_have_mean_one),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
