/* The text that Prometheus reads (lib/metrics): rows to the byte, labels that somebody chose, the
 * numbers of buckets, and the table of families. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "metrics/metrics.h"

static struct phx_buf b;

static void assert_said(const char *want)
{
	assert_false(b.failed);
	assert_string_equal(b.data ? b.data : "", want);
	phx_buf_fini(&b);
	b = (struct phx_buf){0};
}

static const char *const none[] = {NULL};

static void a_family_has_its_head(void **state)
{
	(void)state;
	phx_metric_head(&b, PHX_METRIC_nodes_up);
	phx_metric_put(&b, PHX_METRIC_nodes_up, none, 12, 0);
	assert_said("# HELP phx_nodes_up Nodes that were heard lately.\n"
		    "# TYPE phx_nodes_up gauge\n"
		    "phx_nodes_up 12\n");
	phx_metric_head(&b, PHX_METRIC_beats_total);
	assert_said("# HELP phx_beats_total Beats of agents that were taken.\n"
		    "# TYPE phx_beats_total counter\n");
}

static void labels_are_in_their_order(void **state)
{
	(void)state;
	phx_metric_put(&b, PHX_METRIC_node_info, (const char *[]){"n1", "hpc", "batch"}, 1, 0);
	assert_said("phx_node_info{node=\"n1\",pool=\"hpc\",role=\"batch\"} 1\n");
}

/* A name that breaks out of its quotation marks could make rows of its own. */
static void labels_are_escaped(void **state)
{
	(void)state;
	static const struct {
		const char *value, *want;
	} rows[] = {
		{"", ""},
		{"n1", "n1"},
		{"a\"} 1\nphx_nodes_up 0", "a\\\"} 1\\nphx_nodes_up 0"},
		{"a\\", "a\\\\"},
		{"\\\"\n", "\\\\\\\"\\n"},
		{"a\tb\r\x1b[2J\x7f", "a?b??[2J?"},
		{"\xc3\xa4\xff", "???"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char want[200];
		snprintf(want, sizeof(want), "phx_nodes{state=\"%s\"} 1\n", rows[i].want);
		phx_metric_put(&b, PHX_METRIC_nodes, &rows[i].value, 1, 0);
		assert_said(want);
	}
}

static void numbers_are_exact(void **state)
{
	(void)state;
	static const struct {
		int64_t value;
		unsigned decimals;
		const char *want;
	} rows[] = {
		{0, 0, "0"},
		{0, 3, "0.000"},
		{7, 3, "0.007"},
		{1234567, 6, "1.234567"},
		{-1, 3, "-0.001"},
		{-12, 0, "-12"},
		{1000, 3, "1.000"},
		{INT64_MAX, 0, "9223372036854775807"},
		{INT64_MIN, 0, "-9223372036854775808"},
		{INT64_MIN, 9, "-9223372036.854775808"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char want[80];
		snprintf(want, sizeof(want), "phx_nodes_up %s\n", rows[i].want);
		phx_metric_put(&b, PHX_METRIC_nodes_up, none, rows[i].value, rows[i].decimals);
		assert_said(want);
	}
}

/* ---- histograms ---- */

static const struct phx_buckets two = {.n = 2, .bounds_us = {500000, 2000000}};

static void an_empty_histogram_has_all_its_buckets(void **state)
{
	(void)state;
	const struct phx_histogram h = {0};
	phx_histogram_put(&b, PHX_METRIC_beat_seconds, none, &h, &two);
	assert_said("phx_beat_seconds_bucket{le=\"0.5\"} 0\n"
		    "phx_beat_seconds_bucket{le=\"2\"} 0\n"
		    "phx_beat_seconds_bucket{le=\"+Inf\"} 0\n"
		    "phx_beat_seconds_sum 0.000000\n"
		    "phx_beat_seconds_count 0\n");
}

/* A bound belongs to its bucket ("le": less or equal); each bucket has those below it, too. */
static void buckets_are_cumulative(void **state)
{
	(void)state;
	static const int64_t observed[] = {0, 499999, 500000, 500001, 2000000, 2000001, 90000000};
	struct phx_histogram h = {0};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(observed); i++)
		phx_histogram_observe(&h, &two, observed[i]);
	const char *step = "wipe";
	phx_histogram_put(&b, PHX_METRIC_step_seconds, &step, &h, &two);
	assert_said("phx_step_seconds_bucket{step=\"wipe\",le=\"0.5\"} 3\n"
		    "phx_step_seconds_bucket{step=\"wipe\",le=\"2\"} 5\n"
		    "phx_step_seconds_bucket{step=\"wipe\",le=\"+Inf\"} 7\n"
		    "phx_step_seconds_sum{step=\"wipe\"} 95.500001\n"
		    "phx_step_seconds_count{step=\"wipe\"} 7\n");
}

static void a_clock_that_went_back_takes_nothing_away(void **state)
{
	(void)state;
	struct phx_histogram h = {0};
	phx_histogram_observe(&h, &two, -5000000);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.counts[0], 1);
	assert_int_equal(h.sum_us, 0);
}

static void assert_ascends(const struct phx_buckets *of)
{
	assert_in_range(of->n, 2, PHX_BUCKETS_MAX);
	assert_true(of->bounds_us[0] > 0);
	for (uint32_t i = 1; i < of->n; i++)
		assert_true(of->bounds_us[i] > of->bounds_us[i - 1]);
}

static void bounds_ascend(void **state)
{
	(void)state;
	assert_ascends(&phx_buckets_answers);
	assert_ascends(&phx_buckets_steps);
	struct phx_histogram h = {0};
	phx_histogram_put(&b, PHX_METRIC_beat_seconds, none, &h, &phx_buckets_answers);
	assert_non_null(strstr(b.data, "{le=\"0.0001\"} 0\n"));
	assert_non_null(strstr(b.data, "{le=\"10\"} 0\n"));
	phx_buf_fini(&b);
	b = (struct phx_buf){0};
	phx_histogram_put(&b, PHX_METRIC_beat_seconds, none, &h, &phx_buckets_steps);
	assert_non_null(strstr(b.data, "{le=\"0.1\"} 0\n"));
	assert_non_null(strstr(b.data, "{le=\"7200\"} 0\n"));
	phx_buf_fini(&b);
	b = (struct phx_buf){0};
}

/* ---- the table ---- */

static bool ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);
	return n >= m && !strcmp(name + n - m, with);
}

/* What Prometheus' own rules for names ask, and what the text format needs. */
static void each_family_is_named_after_the_rules(void **state)
{
	(void)state;
	for (int i = 0; i < PHX_METRICS; i++) {
		const struct phx_metric_info *m = &phx_metric_infos[i];
		assert_int_equal(ends(m->name, "_total"), m->type == PHX_METRIC_COUNTER);
		assert_true(m->type != PHX_METRIC_HISTOGRAM || ends(m->name, "_seconds"));
		assert_false(ends(m->name, "_count") || ends(m->name, "_sum") ||
			     ends(m->name, "_bucket"));
		assert_int_equal(m->name[strspn(m->name, "abcdefghijklmnopqrstuvwxyz0123456789_")],
				 0);
		assert_true(m->help[0] && ends(m->help, "."));
		assert_null(strpbrk(m->help, "\\\n|"));
		assert_int_equal(!strncmp(m->labels, "node", 4), m->whom == PHX_METRIC_NODE);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(m->name, phx_metric_infos[k].name);
		unsigned n_labels = m->labels[0] ? 1 : 0;
		for (const char *p = m->labels; *p; p++)
			n_labels += *p == ' ';
		assert_in_range(n_labels, 0, PHX_METRIC_LABELS_MAX);
	}
}

/* By the node's state while it runs, a step is in the phase that people look for it in. */
static void each_step_is_in_a_phase(void **state)
{
	(void)state;
	for (int i = 0; i < PHX_STEP_COUNT_; i++) {
		enum phx_phase phase = phx_phase_of((enum phx_step_kind)i);
		enum phx_node_state in = phx_step_info((enum phx_step_kind)i)->phase;
		bool checks = phx_step_checks(i, NULL);
		if (in == PHX_NODE_DRAINING && !checks)
			assert_in_range(phase, PHX_PHASE_DRAIN, PHX_PHASE_STOP);
		else if (in == PHX_NODE_DEPLOYING)
			assert_in_range(phase, PHX_PHASE_DEPLOY, PHX_PHASE_JOIN);
		else
			assert_in_range(phase, PHX_PHASE_WIPE, PHX_PHASE_DEPLOY);
	}
	assert_int_equal(phx_phase_of(PHX_STEP_drain), PHX_PHASE_DRAIN);
	assert_int_equal(phx_phase_of(PHX_STEP_join), PHX_PHASE_JOIN);
	assert_string_equal(phx_phase_name(PHX_PHASE_DRAIN), "drain");
	assert_string_equal(phx_phase_name(PHX_PHASE_JOIN), "join");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_has_its_head),
		cmocka_unit_test(labels_are_in_their_order),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(an_empty_histogram_has_all_its_buckets),
		cmocka_unit_test(buckets_are_cumulative),
		cmocka_unit_test(a_clock_that_went_back_takes_nothing_away),
		cmocka_unit_test(bounds_ascend),
		cmocka_unit_test(each_family_is_named_after_the_rules),
		cmocka_unit_test(each_step_is_in_a_phase),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
