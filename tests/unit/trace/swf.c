/* The reader of workload logs: every field, every oddity, every way to be malformed, sizes,
 * windows. */
#include "unit/trace/traces.h"

static struct phx_trace_jobs w;
static struct phx_err err;

static int teardown(void **state)
{
	(void)state;
	phx_trace_jobs_fini(&w);
	return 0;
}

static int read_text(const char *text, struct phx_swf_options options)
{
	phx_trace_jobs_fini(&w);
	phx_err_clear(&err);
	return phx_swf_read("log.swf", text, strlen(text), &options, &w, &err);
}

static void test_all_fields(void **state)
{
	static const int64_t expected[] = {7,    100000, 5000, 60500, 8, 250, 1024, 9, 3600000,
					   2048, 1,      3,    4,     5, 6,   2,    1, 30000};
	const char *text =
		"; Version: 2.2\n\n  7\t100 5 60.5 8 0.25 1024 9 3600 2048 1 3 4 5 6 2 1 30 \r\n";
	struct phx_swf swf;
	struct phx_swf_row row;
	(void)state;
	phx_swf_open(&swf, "log.swf", text, strlen(text));
	assert_int_equal(phx_swf_next(&swf, &row, &err), 1);
	assert_int_equal(swf.line, 3);
	assert_int_equal(PHX_ARRAY_SIZE(expected), PHX_SWF_FIELDS);
	for (int i = 0; i < PHX_SWF_FIELDS; i++)
		assert_int_equal(row.field[i], expected[i]);
	assert_int_equal(phx_swf_next(&swf, &row, &err), 0);
	assert_int_equal(phx_swf_next(&swf, &row, &err), 0);
}

static void test_header(void **state)
{
	(void)state;
	assert_int_equal(read_text(";Computer: Intel iPSC/860  \n; Version: 2.2\n; MaxNodes: "
				   "128\n; MaxProcs: 1024\n"
				   "; UnixStartTime: 749458803\n; MaxJobs: 42264\n;MaxRecords: "
				   "7\n; Note: free: "
				   "text\n; MaxQueues: x\n;",
				   (struct phx_swf_options){.per_node = 8}),
			 0);
	assert_int_equal(w.unix_start_s, 749458803);
	assert_int_equal(w.max_nodes, 128);
	assert_int_equal(w.n, 0);
}

#define REST " -1 -1 -1 -1 1 5 1 -1 2 -1 -1 -1\n" /* fields 7 to 18 */

static void test_a_job(void **state)
{
	(void)state;
	assert_int_equal(read_text("4 10 3 20 16 -1 -1 17 99 -1 1 5 1 -1 2 -1 -1 -1",
				   (struct phx_swf_options){.per_node = 8}),
			 0);
	assert_int_equal(w.n, 1);
	const struct phx_trace_job *j = w.jobs;
	assert_int_equal(j->id, 4);
	assert_int_equal(j->submit_ms, 10000);
	assert_int_equal(j->run_ms, 20000);
	assert_int_equal(j->estimate_ms, 99000);
	assert_int_equal(j->size, 2);
	assert_int_equal(j->user, 5);
	assert_int_equal(j->class, 2);
}

/* Processors to nodes: up to whole nodes, then by the factor, at least one. */
static void test_sizes(void **state)
{
	static const struct {
		uint32_t per_node, size_milli, procs, nodes;
	} cases[] = {{0, 0, 5, 5},     {1, 1000, 5, 5},
		     {8, 0, 8, 1},     {8, 0, 9, 2},
		     {8, 0, 1, 1},     {1, 500, 5, 3},
		     {1, 499, 5, 2},   {1, 1, 5, 1},
		     {4, 2500, 10, 8}, {1, 4000000, 1000000000, 0}};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		char text[128];
		snprintf(text, sizeof(text), "1 0 -1 9 %u -1" REST, cases[i].procs);
		struct phx_swf_options o = {.per_node = cases[i].per_node,
					    .size_milli = cases[i].size_milli};
		assert_int_equal(read_text(text, o), 0);
		assert_int_equal(w.n, cases[i].nodes ? 1 : 0);
		if (w.n)
			assert_int_equal(w.jobs[0].size, cases[i].nodes);
	}
}

static const char odd[] =
	"1 5 -1 10 -1 -1 -1 4 -1 -1 1 5 1 -1 2 -1 -1 -1\n" /* requested only: it ran on them */
	"2 6 -1 10 0 -1" REST                              /* no size at all */
	"3 7 -1 0 4 -1" REST                               /* run time 0 */
	"4 8 -1 -1 4 -1" REST                              /* never ran */
	"5 -1 -1 -1 -1 -1" REST                            /* cancelled before anything */
	"6 9 -1 0 -1 -1 -1 4 -1 -1 1 5 1 -1 2 -1 -1 -1\n"  /* requested, did not run */
	"7 4 -1 10 40 -1" REST;                            /* early, and wide */

static void test_oddities(void **state)
{
	(void)state;
	assert_int_equal(read_text(odd, (struct phx_swf_options){0}), 0);
	assert_int_equal(w.n_rows, 7);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.n_skipped_size, 2);
	assert_int_equal(w.n_zero_run, 1);
	assert_int_equal(w.n_negative_run, 2);
	assert_int_equal(w.n_unsorted, 1);
	assert_int_equal(w.n_too_wide, 0);
	assert_int_equal(w.jobs[0].id, 7);
	assert_int_equal(w.jobs[1].id, 1);
	assert_int_equal(w.jobs[1].size, 4);
	assert_int_equal(w.jobs[1].estimate_ms, -1);
	assert_int_equal(w.jobs[2].id, 3);
	assert_int_equal(read_text(odd, (struct phx_swf_options){.sizes = PHX_SWF_ALLOCATED}), 0);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.n_skipped_size, 3);
}

static void test_wider_than_the_cluster(void **state)
{
	(void)state;
	assert_int_equal(read_text(odd, (struct phx_swf_options){.nodes = 39}), 0);
	assert_int_equal(w.n_too_wide, 1);
	assert_int_equal(w.n, 2);
	assert_int_equal(
		read_text(odd, (struct phx_swf_options){.nodes = 39, .wide = PHX_SWF_WIDE_KEEP}),
		0);
	assert_int_equal(w.jobs[0].size, 40);
	assert_int_equal(
		read_text(odd, (struct phx_swf_options){.nodes = 39, .wide = PHX_SWF_WIDE_CUT}), 0);
	assert_int_equal(w.jobs[0].size, 39);
	assert_int_equal(w.n_too_wide, 1);
	assert_int_equal(read_text(odd, (struct phx_swf_options){.nodes = 40}), 0);
	assert_int_equal(w.n_too_wide, 0);
}

static void test_windows(void **state)
{
	const char *text = "; UnixStartTime: 1000\n1 100 -1 1 1 -1" REST "2 150 -1 1 1 -1" REST
			   "3 199 -1 1 1 -1" REST "4 200 -1 1 1 -1" REST;
	(void)state;
	assert_int_equal(
		read_text(text, (struct phx_swf_options){.from_ms = 100000, .length_ms = 100000}),
		0);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.jobs[0].submit_ms, 0);
	assert_int_equal(w.unix_start_s, 1100);
	assert_int_equal(
		read_text(text, (struct phx_swf_options){.from_first = true, .length_ms = 50000}),
		0);
	assert_int_equal(w.n, 1);
	assert_int_equal(
		read_text(text, (struct phx_swf_options){.from_first = true, .from_ms = 50000}), 0);
	assert_int_equal(w.n, 3);
	assert_int_equal(w.jobs[0].id, 2);
	assert_int_equal(w.jobs[2].submit_ms, 50000);
	assert_int_equal(read_text(text, (struct phx_swf_options){.length_ms = 100000}), 0);
	assert_int_equal(w.n, 0);
	assert_int_equal(read_text(text, (struct phx_swf_options){.gap_milli = 500}), 0);
	assert_int_equal(w.jobs[1].submit_ms, 75000);
	assert_int_equal(read_text(text, (struct phx_swf_options){.gap_milli = 1000001}), -EINVAL);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"x 0 -1 1 1 -1" REST, "log.swf:1: job number: \"x\": expected a number"},
		{"; MaxJobs: 1\n1 0 -1 1h 1 -1" REST,
		 "log.swf:2: run time: \"1h\": expected seconds"},
		{"1 0 -1 1 1 -1" REST "2 0 - 1 1 -1" REST, "log.swf:2: wait time: \"-\""},
		{"1 0 -1 1 1 -1 -1 -1 -1",
		 "log.swf:1: memory requested: missing: a row has 18 fields, this one 9"},
		{"1 0 -1 1 1 -1 -1 -1 -1 -1 1 5 1 -1 2 -1 -1 -1 0\n",
		 "log.swf:1: more than the 18 fields"},
		{"1 1234567890123456 -1 1 1 -1" REST, "log.swf:1: submit time"},
		{"1 100000000001 -1 1 1 -1" REST,
		 "log.swf:1: submit time: \"100000000001\": expected seconds from the log's start"},
		{"1 -5 -1 1 1 -1" REST,
		 "log.swf:1: submit time: \"-5\": expected seconds from the log's start"},
		{"-1 5 -1 1 1 -1" REST, "log.swf:1: job number: \"-1\": expected a number from 0"},
		{"1 5 -1 1 1000000001 -1" REST, "log.swf:1: processors allocated"},
		{"1 0 -1 1 1 -1" REST "1 0 -1 1 1 -1" REST,
		 "log.swf: job number: 1: expected a number of its own"},
		{"1 5 -1 1,5 1 -1" REST, "log.swf:1: run time: \"1,5\""},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_text(cases[i].text, (struct phx_swf_options){0}), -EINVAL);
		assert_says(&err, cases[i].says);
		assert_null(w.jobs);
	}
}

/* A NUL in the text is no end of a row that is not the last. */
static void test_nul(void **state)
{
	static const char text[] = "1 0 -1 1 1 -1 -1 -1 -1 -1 1 5 1 -1 2 -1 -1 -1\0 5\n";
	struct phx_swf_options o = {0};
	(void)state;
	phx_err_clear(&err);
	assert_int_equal(phx_swf_read("log.swf", text, sizeof(text) - 1, &o, &w, &err), -EINVAL);
	assert_says(&err, "log.swf:1: ");
}

static void test_lenient(void **state)
{
	struct phx_swf_options o = {.lenient = true};
	(void)state;
	assert_int_equal(read_text("1 0 -1 1 1 -1" REST "bad\n\n2 0 -1 x\n3 -5 -1 1 1 -1" REST
				   "4 2 -1 1 1 -1" REST,
				   o),
			 0);
	assert_int_equal(w.n, 2);
	assert_int_equal(w.n_malformed, 3);
	assert_int_equal(w.n_rows, 5);
	assert_int_equal(w.jobs[1].id, 4);
	assert_string_equal(err.text, "");
	assert_int_equal(read_text("1 0 -1 1 1 -1" REST "1 0 -1 1 1 -1" REST, o), -EINVAL);
}

/* Equal submit times: by number, however they stood. */
static void test_order(void **state)
{
	(void)state;
	assert_int_equal(read_text("9 5 -1 1 1 -1" REST "3 5 -1 1 1 -1" REST "5 4 -1 1 1 -1" REST,
				   (struct phx_swf_options){0}),
			 0);
	assert_int_equal(w.jobs[0].id, 5);
	assert_int_equal(w.jobs[1].id, 3);
	assert_int_equal(w.jobs[2].id, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_fields), cmocka_unit_test(test_header),
		cmocka_unit_test(test_a_job),      cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_oddities),   cmocka_unit_test(test_wider_than_the_cluster),
		cmocka_unit_test(test_windows),    cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_nul),        cmocka_unit_test(test_lenient),
		cmocka_unit_test(test_order),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
