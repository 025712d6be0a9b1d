/* The papers' tables: every row that is gated is within its stated tolerance, job counts are exact
 * where the trace is the papers' own, the committed PAPERS.md is what the command makes. Skipped
 * without PHX_TRACES, but for what needs none. */
#include <math.h>

#include "study/papers.h"
#include "unit/trace/traces.h"

static struct phx_papers *prepared; /* everything, on two threads */
static struct phx_err err;

static int setup(void **state)
{
	const char *traces = getenv("PHX_TRACES");
	(void)state;
	if (!traces || !*traces)
		return 0;
	if (phx_papers_new(traces, NULL, &prepared) < 0)
		return -1;
	return phx_papers_prepare(prepared, 2, &err);
}

static int teardown(void **state)
{
	(void)state;
	phx_papers_free(prepared);
	return 0;
}

static struct phx_papers *papers(void)
{
	if (!prepared)
		skip();
	return prepared;
}

static struct phx_paper_value value_of(struct phx_papers *p, size_t i)
{
	struct phx_paper_value v = {.near = PHX_PAPER_NONE};
	phx_err_clear(&err);
	if (phx_papers_value(p, i, &v, &err) < 0)
		fail_msg("%s %s %s: %s", phx_papers_row(p, i)->experiment,
			 phx_papers_row(p, i)->config, phx_papers_row(p, i)->metric, err.text);
	return v;
}

static void test_tolerances(void **state)
{
	struct phx_papers *p = papers();
	size_t n_gated = 0;
	(void)state;
	for (size_t i = 0; i < phx_papers_rows(p); i++) {
		const struct phx_paper_row *row = phx_papers_row(p, i);
		struct phx_paper_value v = value_of(p, i);
		if (row->tolerance_milli < 0)
			continue;
		n_gated++;
		if (row->tolerance_milli ? !(fabs(v.difference) * 1000 <= row->tolerance_milli)
					 : v.near != PHX_PAPER_EXACT)
			fail_msg("%s,%s,%s: published %s, ours %s, tolerance %d per mille",
				 row->experiment, row->config, row->metric, row->published, v.ours,
				 row->tolerance_milli);
	}
	assert_true(n_gated > 200);
}

/* Counts of jobs are those of the papers where the trace is the papers' own. */
static void test_job_counts(void **state)
{
	static const char *const inputs[] = {"iPSC", "NASA", "LLNL", "Montage"};
	struct phx_papers *p = papers();
	size_t n_exact = 0;
	(void)state;
	for (size_t i = 0; i < phx_papers_rows(p); i++) {
		const struct phx_paper_row *row = phx_papers_row(p, i);
		bool counts = strcmp(row->metric, "completed_jobs") == 0 ||
			strcmp(row->metric, "jobs") == 0;
		bool ours = false;
		for (size_t k = 0; k < PHX_ARRAY_SIZE(inputs); k++)
			ours = ours || strstr(row->config, inputs[k]);
		if (!counts || !ours || !*row->published)
			continue;
		/* one job of LLNL waits under DR when the log ends */
		if (strcmp(row->config, "LLNL;DawningCloud") == 0)
			assert_string_equal(value_of(p, i).ours, "118790");
		else
			assert_string_equal(value_of(p, i).ours, row->published);
		n_exact++;
	}
	assert_true(n_exact >= 20);
}

/* What is made on two threads is what is made one after the other. */
static void test_same_every_way(void **state)
{
	struct phx_papers *all = papers(), *p;
	(void)state;
	assert_int_equal(phx_papers_new(getenv("PHX_TRACES"), NULL, &p), 0);
	assert_int_equal(phx_papers_rows(p), phx_papers_rows(all));
	for (size_t i = 0; i < phx_papers_rows(p); i++) {
		const struct phx_paper_row *row = phx_papers_row(p, i);
		if (strncmp(row->experiment, "003.T", 5) == 0) /* the long logs: once is enough */
			continue;
		assert_string_equal(value_of(p, i).ours, value_of(all, i).ours);
	}
	phx_papers_free(p);
}

static void test_papers_md(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf made = {0};
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_papers *p = papers();
	(void)state;
	if (phx_papers_markdown(p, getenv("PHX_TRACES"), 2, &made, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(phx_trace_input_read(TEST_DIR "/../lib/study/PAPERS.md", &in, &err), 0);
	if (strcmp(in.data, made.data) != 0)
		fail_msg("lib/study/PAPERS.md is not what phx sim tables -o markdown makes");
}

/* Every row of the list has its own key; what has no figure of ours says why. */
static void test_rows(void **state)
{
	struct phx_papers *p;
	size_t n_listed = 0;
	(void)state;
	assert_int_equal(phx_papers_new(NULL, NULL, &p), 0);
	for (size_t i = 0; i < phx_papers_rows(p); i++) {
		const struct phx_paper_row *row = phx_papers_row(p, i);
		n_listed += *row->published != 0;
		for (size_t k = 0; k < i; k++) {
			const struct phx_paper_row *other = phx_papers_row(p, k);
			if (strcmp(row->config, other->config) == 0 &&
			    strcmp(row->metric, other->metric) == 0 &&
			    strcmp(row->experiment, other->experiment) == 0)
				fail_msg("%s,%s,%s stands twice", row->experiment, row->config,
					 row->metric);
		}
	}
	assert_int_equal(n_listed, 647);
	phx_papers_free(p);
}

/* Without traces the settings and the IaaS study are there, the rest says what is missing. */
static void test_without_traces(void **state)
{
	struct phx_papers *p;
	size_t n_missing = 0, n_there = 0, n_reasons = 0;
	(void)state;
	assert_int_equal(phx_papers_new("/nonexistent", NULL, &p), 0);
	for (size_t i = 0; i < phx_papers_rows(p); i++) {
		struct phx_paper_value v = {.near = PHX_PAPER_EXACT};
		phx_err_clear(&err);
		int r = phx_papers_value(p, i, &v, &err);
		n_missing += r == -ENOENT;
		n_there += r == 0 && *v.ours;
		n_reasons += r == 0 && !*v.ours && *phx_papers_row(p, i)->note;
		if (r < 0) {
			assert_int_equal(r, -ENOENT);
			assert_says(&err, "/nonexistent");
			assert_int_equal(v.near, PHX_PAPER_EXACT); /* untouched */
		} else if (!*v.ours && !*phx_papers_row(p, i)->note) {
			fail_msg("%s,%s,%s is empty without a reason",
				 phx_papers_row(p, i)->experiment, phx_papers_row(p, i)->config,
				 phx_papers_row(p, i)->metric);
		}
	}
	assert_true(n_missing > 150);
	assert_true(n_there > 100);
	assert_true(n_reasons > 200);
	phx_papers_free(p);
}

static void test_readings(void **state)
{
	const struct phx_papers_reading *list;
	size_t n = phx_papers_readings(&list);
	(void)state;
	assert_true(n >= 8);
	assert_string_equal(list[0].name, "ours");
	for (size_t i = 1; i < n; i++)
		assert_memory_not_equal(&list[i].ws_replay, &list[0].ws_replay,
					sizeof(list[0]) -
						offsetof(struct phx_papers_reading, ws_replay));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),       cmocka_unit_test(test_without_traces),
		cmocka_unit_test(test_readings),   cmocka_unit_test(test_tolerances),
		cmocka_unit_test(test_job_counts), cmocka_unit_test(test_same_every_way),
		cmocka_unit_test(test_papers_md),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
