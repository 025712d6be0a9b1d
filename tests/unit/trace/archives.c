/* The archives' logs against what their descriptions and the papers say of them. Skipped without
 * PHX_TRACES. */
#include "unit/trace/traces.h"

#define DAY_MS INT64_C(86400000)

static struct phx_trace_jobs w;

static int teardown(void **state)
{
	(void)state;
	phx_trace_jobs_fini(&w);
	return 0;
}

static void load(const char *name, struct phx_swf_options options)
{
	phx_trace_jobs_fini(&w);
	read_jobs(name, &options, &w);
}

/* What is said of the jobs that end within `end_ms` when each starts at its submission. */
struct seen {
	size_t n;
	int64_t run_ms, node_hours; /* each node for whole hours */
	int64_t last_end_ms;
};

static struct seen look(int64_t end_ms, uint32_t below)
{
	struct seen seen = {0};
	for (size_t i = 0; i < w.n; i++) {
		const struct phx_trace_job *j = &w.jobs[i];
		int64_t job_end_ms = j->submit_ms + j->run_ms;
		if (job_end_ms > end_ms || j->size >= below)
			continue;
		seen.n++;
		seen.run_ms += j->run_ms;
		seen.node_hours += (j->run_ms + 3599999) / 3600000 * j->size;
		seen.last_end_ms = job_end_ms > seen.last_end_ms ? job_end_ms : seen.last_end_ms;
	}
	return seen;
}

static double mean_s(const struct seen *s)
{
	return (double)s->run_ms / (double)s->n / 1000;
}

static void test_nasa(void **state)
{
	(void)state;
	load("NASA-iPSC-1993-3.1-cln.swf", (struct phx_swf_options){0});
	assert_int_equal(w.n, 18239);
	assert_int_equal(w.max_nodes, 128);
	assert_int_equal(w.unix_start_s, 749458803);
	assert_int_equal(w.n_zero_run, 173);
	assert_int_equal(w.n_unsorted + w.n_negative_run + w.n_skipped_size + w.n_too_wide, 0);
	struct seen all = look(INT64_MAX, UINT32_MAX);
	assert_float_equal(mean_s(&all), 764.9, 0.05);
	assert_int_equal(all.node_hours, 386235);
	assert_int_equal(look(92 * DAY_MS, UINT32_MAX).n, 18237);
}

static void test_nasa_two_weeks(void **state)
{
	(void)state;
	load("NASA-iPSC-1993-3.1-cln.swf", (struct phx_swf_options){.length_ms = 14 * DAY_MS});
	assert_int_equal(w.n, 2604);
	struct seen ended = look(14 * DAY_MS, UINT32_MAX), narrow = look(14 * DAY_MS, 128);
	assert_int_equal(ended.n, 2603);
	assert_float_equal(mean_s(&ended), 573.2, 0.05);
	assert_int_equal(narrow.n, 2549);
	assert_float_equal(mean_s(&narrow), 520.6, 0.05);
	assert_int_equal(look(INT64_MAX, UINT32_MAX).node_hours, 52943);
}

static void test_blue(void **state)
{
	struct phx_swf_options o = {.per_node = 8, .sizes = PHX_SWF_ALLOCATED};
	(void)state;
	load("SDSC-BLUE-2000-4.2-cln.swf", o);
	assert_int_equal(w.n_rows, 243306);
	assert_int_equal(w.n, 223663); /* 223,790 allocated, of which 127 without a run time */
	assert_int_equal(w.max_nodes, 144);
	assert_int_equal(w.n_unsorted, 0);
	load("SDSC-BLUE-2000-4.2-cln.swf", (struct phx_swf_options){.per_node = 8});
	assert_int_equal(w.n, 232562);
	assert_int_equal(w.n - w.n_zero_run, 232536);
	load("SDSC-BLUE-2000-4.2-cln.swf",
	     (struct phx_swf_options){.per_node = 8, .length_ms = 14 * DAY_MS});
	assert_int_equal(w.n, 2667);
	assert_int_equal(look(14 * DAY_MS, UINT32_MAX).n, 2658);
	load("SDSC-BLUE-2000-1.first10.swf", (struct phx_swf_options){.per_node = 8});
	assert_int_equal(w.n, 8);
	assert_int_equal(w.jobs[0].submit_ms, 0);
}

static void test_thunder(void **state)
{
	(void)state;
	load("LLNL-Thunder-2007-1.1-cln.swf", (struct phx_swf_options){.per_node = 4});
	assert_int_equal(w.n, 118791);
	assert_int_equal(w.n_rows, 121039);
	assert_int_equal(w.max_nodes, 1002);
	struct seen all = look(INT64_MAX, UINT32_MAX);
	assert_float_equal(mean_s(&all), 2227.9, 0.05);
	assert_float_equal((double)all.last_end_ms / 3600000, 3604.7, 0.05);
	load("LLNL-Thunder-2007-1.1-cln.swf",
	     (struct phx_swf_options){.per_node = 4, .length_ms = 14 * DAY_MS});
	assert_int_equal(w.n, 7286);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nasa),
		cmocka_unit_test(test_nasa_two_weeks),
		cmocka_unit_test(test_blue),
		cmocka_unit_test(test_thunder),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
