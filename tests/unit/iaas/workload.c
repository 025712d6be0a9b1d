/* Workloads of the IaaS study: counts and gaps are exact, loads and run times those printed within
 * what chance explains, the same seed draws the same. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "trace/draw.h"
#include "iaas/workload.h"

static void draw(enum phx_iaas_workload w, uint32_t nodes, uint64_t seed,
		 struct phx_trace_jobs *ret)
{
	assert_int_equal(phx_iaas_workload_draw(w, nodes, seed, PHX_IAAS_SPREAD_NONE, ret), 0);
	assert_true(ret->n > 0);
}

static double gap_s(const struct phx_trace_jobs *jobs, size_t i)
{
	return (double)(jobs->jobs[i].submit_ms - jobs->jobs[i - 1].submit_ms) / 1000;
}

static void rows_are_sound(void **state)
{
	(void)state;
	for (int w = 0; w < PHX_IAAS_WORKLOAD_COUNT_; w++) {
		struct phx_trace_jobs jobs = {0};
		draw((enum phx_iaas_workload)w, 20, 3, &jobs);
		for (size_t i = 0; i < jobs.n; i++) {
			const struct phx_trace_job *j = &jobs.jobs[i];
			assert_int_equal(j->id, i + 1);
			assert_int_equal(j->size, 1);
			assert_true(j->run_ms >= 1000);
			assert_int_equal(j->class, j->run_ms / 10000);
			assert_int_equal(j->n_parents, 0);
			assert_true(i == 0 || j->submit_ms >= jobs.jobs[i - 1].submit_ms);
		}
		phx_trace_jobs_fini(&jobs);
	}
	struct phx_trace_jobs none = {0};
	assert_int_equal(phx_iaas_workload_draw(PHX_IAAS_WORKLOAD_uniform, 0, 1,
						PHX_IAAS_SPREAD_NONE, &none),
			 -EINVAL);
	assert_null(none.jobs);
}

static void the_seed_decides(void **state)
{
	(void)state;
	for (int w = 0; w < PHX_IAAS_WORKLOAD_COUNT_; w++) {
		struct phx_trace_jobs a = {0}, b = {0}, c = {0};
		draw((enum phx_iaas_workload)w, 64, 7, &a);
		draw((enum phx_iaas_workload)w, 64, 7, &b);
		draw((enum phx_iaas_workload)w, 64, 8, &c);
		assert_int_equal(a.n, b.n);
		assert_memory_equal(a.jobs, b.jobs, a.n * sizeof(*a.jobs));
		assert_true(a.n != c.n || memcmp(a.jobs, c.jobs, a.n * sizeof(*a.jobs)));
		phx_trace_jobs_fini(&a);
		phx_trace_jobs_fini(&b);
		phx_trace_jobs_fini(&c);
	}
}

/* Mean load of [from, to) seconds over many seeds. */
static double load(enum phx_iaas_workload w, uint32_t nodes, int64_t from_s, int64_t to_s)
{
	enum { SEEDS = 40 };
	double work_s = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct phx_trace_jobs jobs = {0};
		draw(w, nodes, seed, &jobs);
		for (size_t i = 0; i < jobs.n; i++)
			if (jobs.jobs[i].submit_ms >= from_s * 1000 &&
			    jobs.jobs[i].submit_ms < to_s * 1000)
				work_s += (double)jobs.jobs[i].run_ms / 1000;
		assert_true(jobs.jobs[jobs.n - 1].submit_ms < 3600000);
		phx_trace_jobs_fini(&jobs);
	}
	return work_s / SEEDS / nodes / (double)(to_s - from_s);
}

static void expect_load(enum phx_iaas_workload w, int64_t from_s, int64_t to_s, double want)
{
	double got = load(w, 64, from_s, to_s);
	if (fabs(got - want) > 0.04 * want)
		fail_msg("load of %s from %d to %d s is %.3f, not %.3f",
			 phx_enum_name(&phx_iaas_workload_names, w), (int)from_s, (int)to_s, got,
			 want);
}

static void loads_are_those_printed(void **state)
{
	(void)state;
	expect_load(PHX_IAAS_WORKLOAD_uniform, 0, 3600, 0.70);
	expect_load(PHX_IAAS_WORKLOAD_uniform, 1800, 2400, 0.70);
	expect_load(PHX_IAAS_WORKLOAD_increasing, 0, 3600, 0.50);
	for (int i = 0; i < 5; i++)
		expect_load(PHX_IAAS_WORKLOAD_increasing, 720 * i, 720 * (i + 1), 0.1 + 0.2 * i);
	expect_load(PHX_IAAS_WORKLOAD_bursty, 0, 3600, 0.15);
	expect_load(PHX_IAAS_WORKLOAD_bursty, 900, 1020, 1.7);
	expect_load(PHX_IAAS_WORKLOAD_bursty, 2400, 2520, 1.7);
	/* the load is the cloud's, whatever its size */
	assert_true(fabs(load(PHX_IAAS_WORKLOAD_uniform, 7, 0, 3600) - 0.70) < 0.05);
}

static void run_times_are_those_printed(void **state)
{
	double n = 0, sum = 0, square = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct phx_trace_jobs jobs = {0};
		draw(PHX_IAAS_WORKLOAD_uniform, 64, seed, &jobs);
		for (size_t i = 0; i < jobs.n; i++, n++) {
			double run_s = (double)jobs.jobs[i].run_ms / 1000;
			sum += run_s;
			square += run_s * run_s;
		}
		phx_trace_jobs_fini(&jobs);
	}
	assert_true(fabs(sum / n - 47) < 0.5);
	assert_true(fabs(sqrt(square / n - sum / n * sum / n) - 41.1) < 1.5);
}

static uint32_t count_run(const struct phx_trace_jobs *jobs, int64_t run_s)
{
	uint32_t n = 0;
	for (size_t i = 0; i < jobs->n; i++)
		n += jobs->jobs[i].run_ms == run_s * 1000;
	return n;
}

static void groups_are_those_of_5_3(void **state)
{
	static const int gaps[] = {300, 100, 30, 10, 5, 10, 30, 100, 300};
	(void)state;
	for (uint32_t k = 0; k < 3; k++) {
		struct phx_trace_jobs jobs = {0};
		draw((enum phx_iaas_workload)(PHX_IAAS_WORKLOAD_sr25 + k), 50, 9, &jobs);
		assert_int_equal(jobs.n, 720);
		assert_int_equal(count_run(&jobs, 10), 180 * (k + 1));
		assert_int_equal(count_run(&jobs, 3600), 720 - 180 * (k + 1));
		assert_int_equal(jobs.jobs[0].submit_ms, 0);
		for (size_t i = 1; i < jobs.n; i++)
			assert_true(gap_s(&jobs, i) == gaps[i / 20 % 9]);
		phx_trace_jobs_fini(&jobs);
		assert_int_equal(phx_iaas_workload_nodes(
					 (enum phx_iaas_workload)(PHX_IAAS_WORKLOAD_sr25 + k)),
				 50);
	}
}

static void mixes_are_those_of_5_4(void **state)
{
	struct phx_trace_jobs jobs[3] = {0};
	int turns = 0;
	(void)state;
	for (int k = 0; k < 3; k++) {
		draw((enum phx_iaas_workload)(PHX_IAAS_WORKLOAD_mixed_uniform + k), 100, 2,
		     &jobs[k]);
		assert_int_equal(jobs[k].n, 1000);
		assert_int_equal(count_run(&jobs[k], 10), 500);
		assert_int_equal(count_run(&jobs[k], 3600), 500);
	}
	for (size_t i = 1; i < 1000; i++) {
		assert_true(gap_s(&jobs[0], i) == 10);
		assert_true(gap_s(&jobs[1], i) >= 4.998 && gap_s(&jobs[1], i) <= 60.002);
		assert_true(gap_s(&jobs[2], i) == (i / 200 % 2 ? 2 : 30));
	}
	/* periods begin and end at 60 s and have 5 s in their middle */
	for (size_t period = 0; period < 1000; period += 250) {
		assert_true(fabs(gap_s(&jobs[1], period + 249) - 60) < 0.01);
		assert_true(fabs(gap_s(&jobs[1], period + 124) - 5) < 0.01 &&
			    fabs(gap_s(&jobs[1], period + 125) - 5) < 0.01);
		for (size_t i = period + 2; i < period + 124; i++)
			turns += gap_s(&jobs[1], i) >= gap_s(&jobs[1], i - 1) && i > period + 2;
	}
	assert_int_equal(turns, 0);
	for (int k = 0; k < 3; k++)
		phx_trace_jobs_fini(&jobs[k]);
}

static void spreads_keep_the_mean(void **state)
{
	(void)state;
	for (int spread = PHX_IAAS_SPREAD_LOGNORMAL; spread <= PHX_IAAS_SPREAD_EXPONENTIAL;
	     spread++) {
		double sum_s = 0;
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct phx_trace_jobs jobs = {0};
			assert_int_equal(phx_iaas_workload_draw(PHX_IAAS_WORKLOAD_periodic, 100,
								seed, (enum phx_iaas_spread)spread,
								&jobs),
					 0);
			for (size_t i = 0; i < jobs.n; i++)
				sum_s += (double)jobs.jobs[i].run_ms / 1000 / 20;
			phx_trace_jobs_fini(&jobs);
		}
		assert_true(fabs(sum_s / 1000 - 1805) < 80);
	}
}

/* ---- the distributions below ---- */

static void moments(double (*next)(struct phx_rng *), double want_mean, double want_sd)
{
	enum { N = 200000 };
	struct phx_rng rng = {11};
	double sum = 0, square = 0;
	for (int i = 0; i < N; i++) {
		double x = next(&rng);
		assert_true(isfinite(x));
		sum += x;
		square += x * x;
	}
	double mean = sum / N, sd = sqrt(square / N - mean * mean);
	if (fabs(mean - want_mean) > 0.02 * want_sd || fabs(sd - want_sd) > 0.05 * want_sd)
		fail_msg("mean %.4f, sd %.4f instead of %.4f, %.4f", mean, sd, want_mean, want_sd);
}

static double exponential_5(struct phx_rng *r)
{
	return phx_draw_exponential(r, 5);
}

static double lognormal_47(struct phx_rng *r)
{
	return phx_draw_lognormal(r, 47, 41.1);
}

static void distributions_have_their_moments(void **state)
{
	(void)state;
	moments(phx_draw_uniform, 0.5, sqrt(1 / 12.0));
	moments(exponential_5, 5, 5);
	moments(phx_draw_normal, 0, 1);
	moments(lognormal_47, 47, 41.1);
}

static void uniform_is_never_zero(void **state)
{
	struct phx_rng rng = {1};
	(void)state;
	for (int i = 0; i < 1000000; i++) {
		double x = phx_draw_uniform(&rng);
		assert_true(x > 0 && x <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_sound),
		cmocka_unit_test(the_seed_decides),
		cmocka_unit_test(loads_are_those_printed),
		cmocka_unit_test(run_times_are_those_printed),
		cmocka_unit_test(groups_are_those_of_5_3),
		cmocka_unit_test(mixes_are_those_of_5_4),
		cmocka_unit_test(spreads_keep_the_mean),
		cmocka_unit_test(distributions_have_their_moments),
		cmocka_unit_test(uniform_is_never_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
