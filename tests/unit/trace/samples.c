/* The samples in etc/sim/samples are what the generators make: small traces, so that every command
 * works without the archives'. PHX_SAMPLES_WRITE=1 writes them anew; else they are compared with
 * what stands there. */
#include "base/file.h"
#include "trace/gen.h"
#include "trace/series.h"
#include "trace/workflow.h"
#include "unit/trace/traces.h"

#define DIR TEST_DIR "/../etc/sim/samples/"
#define WEEK_MS (7 * 86400 * INT64_C(1000))

static struct phx_err err;

/* The sample is `b`. */
static void settle(const char *name, struct phx_buf *b)
{
	PHX_AUTO_FREE char *path = phx_path(DIR "%s", name);
	assert_false(b->failed);
	if (getenv("PHX_SAMPLES_WRITE"))
		assert_int_equal(phx_file_write(path, b->data, b->n, 0644, NULL), 0);
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	if (phx_trace_input_read(path, &in, &err) < 0)
		fail_msg("%s", err.text);
	if (in.n != b->n || memcmp(in.data, b->data, b->n) != 0)
		fail_msg("%s is not what the generator makes", path);
	phx_buf_fini(b);
}

/* A week on 32 nodes of 4 processors, with days and nights. */
static void test_jobs(void **state)
{
	const struct phx_gen_jobs g = {
		.rate = {.form = PHX_GEN_PERIODIC,
			 .length_ms = WEEK_MS,
			 .periods = 7,
			 .swing_milli = 5000},
		.seed = 20261121,
		.n = 600,
		.law = PHX_GEN_EXPONENTIAL,
		.run_ms = 5400000,
		.nodes_max = 32,
		.estimate_milli = 4000,
		.users = 12,
	};
	struct phx_trace_jobs w = {0}, back = {0};
	struct phx_buf b = {0};
	(void)state;
	assert_int_equal(phx_gen_jobs(&g, &w, &err), 0);
	phx_buf_addf(&b,
		     "; Version: 2.2\n; Computer: none, generated\n; Note: a week of jobs drawn by "
		     "Phoenix for tests "
		     "and examples\n"
		     "; MaxJobs: %zu\n; MaxRecords: %zu\n; UnixStartTime: 897177600\n; MaxNodes: "
		     "32\n; MaxProcs: 128\n",
		     w.n, w.n);
	for (size_t i = 0; i < w.n; i++) {
		const struct phx_trace_job *j = &w.jobs[i];
		phx_buf_addf(&b, "%zu %lld -1 %lld %u -1 -1 %u %lld -1 1 %u 1 -1 1 -1 -1 -1\n",
			     i + 1, (long long)j->submit_ms / 1000, (long long)j->run_ms / 1000,
			     j->size * 4, j->size * 4, (long long)j->estimate_ms / 1000, j->user);
	}
	settle("jobs.swf", &b);
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_swf_options o = {.per_node = 4, .nodes = 32};
	assert_int_equal(phx_trace_input_read(DIR "jobs.swf", &in, &err), 0);
	assert_int_equal(phx_swf_read("jobs.swf", in.data, in.n, &o, &back, &err), 0);
	assert_int_equal(back.n, w.n);
	assert_int_equal(back.max_nodes, 32);
	for (size_t i = 0; i < w.n; i++) {
		assert_int_equal(back.jobs[i].submit_ms, w.jobs[i].submit_ms);
		assert_int_equal(back.jobs[i].run_ms, w.jobs[i].run_ms);
		assert_int_equal(back.jobs[i].estimate_ms, w.jobs[i].estimate_ms);
		assert_int_equal(back.jobs[i].size, w.jobs[i].size);
	}
	phx_trace_jobs_fini(&w);
	phx_trace_jobs_fini(&back);
}

static void format_time(int64_t s, char buf[32])
{
	/* the sample lies within one month */
	int64_t day = (s - 897177600) / 86400 + 7, of_day = (s - 897177600) % 86400;
	snprintf(buf, 32, "1998-06-%02d %02d:%02d:%02d", (int)day, (int)(of_day / 3600),
		 (int)(of_day / 60 % 60), (int)(of_day % 60));
}

/* A week of requests, a count every ten minutes; the demand that it makes of instances that serve
 * 100 a second. */
static void test_web(void **state)
{
	const struct phx_gen_load g = {
		.rate = {.form = PHX_GEN_PERIODIC,
			 .length_ms = WEEK_MS,
			 .periods = 7,
			 .swing_milli = 12000},
		.seed = 19980607,
		.period_ms = 600000,
		.mean_milli = 400000,
		.noise_milli = 150,
	};
	const struct phx_series_rule rule = {
		.web = {20000, 800, 1, UINT32_MAX}, .start = 2, .capacity_milli = 100000};
	struct phx_trace_series load = {0}, demand = {0}, back = {0};
	struct phx_buf b = {0};
	char when[32];
	(void)state;
	assert_int_equal(phx_gen_load(&g, &load, &err), 0);
	phx_buf_addf(&b, "period,count\n");
	for (size_t i = 0; i < load.n; i++) {
		format_time(897177600 + load.at_ms[i] / 1000, when);
		load.value[i] = load.value[i] * 600 / 1000;
		phx_buf_addf(&b, "%s,%llu\n", when, (unsigned long long)load.value[i]);
	}
	settle("web.csv", &b);
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_series_options o = {.begin_s = INT64_MIN};
	assert_int_equal(phx_trace_input_read(DIR "web.csv", &in, &err), 0);
	assert_int_equal(phx_series_read("web.csv", in.data, in.n, &o, &back, NULL, &err), 0);
	assert_int_equal(back.n, load.n);
	assert_int_equal(back.end_ms, WEEK_MS);
	assert_int_equal(phx_series_convert(&back, &rule, &demand, &err), 0);
	phx_buf_addf(&b, "seconds,instances\n");
	for (size_t i = 0; i < demand.n; i++)
		phx_buf_addf(&b, "%lld,%llu\n", (long long)demand.at_ms[i] / 1000,
			     (unsigned long long)demand.value[i]);
	settle("demand.csv", &b);
	phx_trace_series_fini(&load);
	phx_trace_series_fini(&demand);
	phx_trace_series_fini(&back);
}

/* One root, twelve in the middle, two that gather, one leaf. */
static void test_workflow(void **state)
{
	struct phx_buf b = {0};
	(void)state;
	phx_buf_addf(&b,
		     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- drawn by Phoenix for tests "
		     "and examples -->\n"
		     "<adag name=\"sample\" jobCount=\"16\">\n  <job id=\"split\" name=\"split\" "
		     "runtime=\"12.5\"/>\n");
	for (int i = 1; i <= 12; i++)
		phx_buf_addf(&b, "  <job id=\"work%d\" name=\"work\" runtime=\"%d.25\"/>\n", i,
			     30 + i * 7 % 12);
	phx_buf_addf(&b,
		     "  <job id=\"gather1\" name=\"gather\" runtime=\"8\"/>\n  <job id=\"gather2\" "
		     "name=\"gather\" "
		     "runtime=\"9\"/>\n"
		     "  <job id=\"report\" name=\"report\" runtime=\"3\"/>\n");
	for (int i = 1; i <= 12; i++)
		phx_buf_addf(&b, "  <child ref=\"work%d\"><parent ref=\"split\"/></child>\n", i);
	for (int g = 1; g <= 2; g++) {
		phx_buf_addf(&b, "  <child ref=\"gather%d\">", g);
		for (int i = g * 6 - 5; i <= g * 6; i++)
			phx_buf_addf(&b, "<parent ref=\"work%d\"/>", i);
		phx_buf_addf(&b, "</child>\n");
	}
	phx_buf_addf(&b,
		     "  <child ref=\"report\"><parent ref=\"gather1\"/><parent "
		     "ref=\"gather2\"/></child>\n</adag>\n");
	settle("workflow.xml", &b);
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_trace_jobs w = {0};
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	assert_int_equal(phx_trace_input_read(DIR "workflow.xml", &in, &err), 0);
	assert_int_equal(phx_workflow_read("workflow.xml", in.data, in.n, &f, &err), 0);
	assert_int_equal(phx_workflow_jobs(&f, "workflow.xml", &w, &err), 0);
	assert_int_equal(w.n, 16);
	assert_int_equal(f.n_levels, 4);
	assert_int_equal(w.n_children, 12 + 12 + 2);
	phx_trace_jobs_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_web),
		cmocka_unit_test(test_workflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
