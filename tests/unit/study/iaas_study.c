/* The IaaS study against its paper: every row of 002.text within its tolerance, what the text
 * finds, what is live. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "study/iaas_study_internal.h"

static const struct phx_iaas_study_options usual = PHX_IAAS_STUDY_OPTIONS;
static struct phx_iaas_study *study;

static int setup(void **state)
{
	struct phx_err err = {0};
	(void)state;
	return phx_iaas_study_new(&usual, &study, &err);
}

static int teardown(void **state)
{
	(void)state;
	phx_iaas_study_free(study);
	return 0;
}

/* Rows as published. Tolerance in percent; 0: the same text. */
static const struct {
	const char *config, *metric, *published;
	double tolerance;
} rows[] = {
	{"environments", "DAS4_max_vms", "64", 0},
	{"environments", "FIU_max_vms", "7", 0},
	{"environments", "EC2_max_vms", "20", 0},
	{"workloads", "hours", "1", 0},
	{"workloads", "load_uniform_pct", "70", 3},
	{"workloads", "load_increasing_pct", "50", 3},
	{"workloads", "load_bursty_pct", "15", 7},
	{"workloads", "load_bursty_max_pct", "170", 5},
	{"workloads", "job_mean_s", "47", 2},
	{"workloads", "job_sd_s", "41.1", 4},
	{"params", "OD_G_period_s", "20", 0},
	{"params", "exec_factor", "5", 0},
	{"params", "sim_boot_min", "10", 0},
	{"params", "charge_unit_h", "1", 0},
	{"sim 5.3", "max_vms", "50", 0},
	{"sim 5.3", "jobs", "720", 0},
	{"sim 5.3", "groups", "9", 0},
	{"sim 5.3", "jobs_per_group", "20", 0},
	{"sim 5.3", "repetitions", "4", 0},
	{"sim 5.3", "interarrivals_s", "300/100/30/10/5/10/30/100/300", 0},
	{"sim 5.3", "short_mean_s", "10", 0},
	{"sim 5.3", "long_mean_s", "3600", 0},
	{"sim 5.3", "short_ratios_pct", "25/50/75", 0},
	{"sim 5.3", "ODS_idle_s", "600", 0},
	{"sim 5.3", "OD2Q_idle_short_s", "600", 0},
	{"sim 5.3", "OD2Q_idle_long_s", "30", 0},
	{"sim 5.4", "max_vms", "100", 0},
	{"sim 5.4", "jobs", "1000", 0},
	{"sim 5.4", "short_share_pct", "50", 0},
	{"sim 5.4", "short_mean_s", "10", 0},
	{"sim 5.4", "long_mean_s", "3600", 0},
	{"sim 5.4", "idle_s", "600", 0},
	{"sim 5.4", "ODG_factor", "2", 0},
	{"sim 5.4", "uniform_interarrival_s", "10", 0},
	{"sim 5.4", "periodic_max_s", "60", 0},
	{"sim 5.4", "periodic_min_s", "5", 0},
	{"sim 5.4", "periodic_periods", "4", 0},
	{"sim 5.4", "bursty_periods", "5", 0},
	{"sim 5.4", "bursty_jobs_per_period", "200", 0},
	{"sim 5.4", "bursty_high_s", "30", 0},
	{"sim 5.4", "bursty_low_s", "2", 0},
	{"findings", "static_cost_ratio_max", "5", 10},
};

static void text_rows_are_reproduced(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		char ours[64];
		if (phx_iaas_study_experiment(study, "002.text", rows[i].config, rows[i].metric,
					      ours))
			fail_msg("no row %s %s", rows[i].config, rows[i].metric);
		double want = strtod(rows[i].published, NULL), got = strtod(ours, NULL);
		bool same = rows[i].tolerance > 0 ? fabs(got / want - 1) * 100 <= rows[i].tolerance
						  : !strcmp(ours, rows[i].published);
		if (!same)
			fail_msg("%s %s: %s, published %s", rows[i].config, rows[i].metric, ours,
				 rows[i].published);
	}
}

static double live_figure(const struct phx_iaas_study *s, const char *table, const char *cloud,
			  const char *policy, const char *workload, const char *metric)
{
	char config[64], ours[64], *end;
	snprintf(config, sizeof(config), "%s;%s;%s", cloud, policy, workload);
	assert_int_equal(phx_iaas_study_experiment(s, table, config, metric, ours), 0);
	double value = strtod(ours, &end);
	assert_true(*ours && !*end);
	return value;
}

static const char *const clouds[] = {"DAS4", "FIU", "EC2"},
			 *const tables[] = {"002.T5", "002.T6", "002.T7"};
static const char *const policies[] = {"Startup", "ExecTime", "ExecAvg", "ExecKN", "QueueWait"};
static const char *const workloads[] = {"Uniform", "Increasing", "Bursty"};
static const char *const metrics[] = {"charged_cost_h",  "charged_cost_vs_startup_pct",
				      "cost_efficiency", "cost_efficiency_vs_startup_pct",
				      "utility",         "utility_vs_startup_pct"};

/* Every row of tables 5 to 7 is computed: what the study is made with otherwise, it changes. */
static void live_rows_are_computed(void **state)
{
	struct phx_iaas_study_options other = usual;
	struct phx_iaas_study *s;
	size_t n_same = 0, n_startup = 0;
	other.boot_ms = 60000;
	other.idle_ms = 0;
	other.charge_ms = 1800000;
	other.seed = 77;
	(void)state;
	assert_int_equal(phx_iaas_study_new(&other, &s, NULL), 0);
	for (unsigned i = 0; i < 3 * 5 * 3 * 6; i++) {
		const char *policy = policies[i / 3 % 5], *metric = metrics[i / 45];
		double a = live_figure(study, tables[i % 3], clouds[i % 3], policy,
				       workloads[i / 15 % 3], metric),
		       b = live_figure(s, tables[i % 3], clouds[i % 3], policy,
				       workloads[i / 15 % 3], metric);
		bool to_itself = i / 3 % 5 == 0 && (strstr(metric, "_vs_") || i / 45 == 4);
		n_startup += to_itself;
		if (to_itself) /* Startup against Startup */
			assert_true(a == b && a == (i / 45 == 4));
		else if (fabs(a - b) < 1e-9)
			n_same++;
	}
	assert_int_equal(n_startup, 9 * 4);
	if (n_same > 2) /* chance */
		fail_msg("%zu of 234 rows do not hang on what the study is made with", n_same);
	phx_iaas_study_free(s);
}

/* What of tables 5-7 does not depend on the clouds: Startup pays every node for as many hours as
 * begin. The others follow from their definitions. */
static void startup_is_charged_as_printed(void **state)
{
	(void)state;
	assert_true(live_figure(study, "002.T5", "DAS4", "Startup", "Uniform", metrics[0]) == 128);
	assert_true(live_figure(study, "002.T6", "FIU", "Startup", "Uniform", metrics[0]) == 14);
	assert_true(live_figure(study, "002.T7", "EC2", "Startup", "Increasing", metrics[0]) == 40);
	for (unsigned i = 0; i < 3 * 4 * 3; i++) {
		const char *t = tables[i % 3], *c = clouds[i % 3], *w = workloads[i / 12],
			   *p = policies[1 + i / 3 % 4];
		double all = live_figure(study, t, c, "Startup", w, metrics[0]),
		       mine = live_figure(study, t, c, p, w, metrics[0]),
		       percent = live_figure(study, t, c, p, w, metrics[1]),
		       utility = live_figure(study, t, c, p, w, metrics[4]),
		       more = live_figure(study, t, c, p, w, metrics[5]);
		assert_true(fabs(100 * (mine / all - 1) - percent) < 0.01);
		assert_true(fabs(100 * (utility - 1) - more) < 0.01);
	}
}

static void unknown_rows_are_told(void **state)
{
	static const char *const unknown[][3] = {
		{"000.T1-1", "x", "y"},
		{"002.text", "sim 5.3", "y"},
		{"002.T5", "EC2;Startup;Uniform", "utility"},
		{"002.T5", "DAS4;Startup", "utility"},
		{"002.T5", "DAS4;Startup;Uniform", "speed"},
	};
	char ours[64] = "as before";
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(unknown); i++)
		assert_int_equal(phx_iaas_study_experiment(study, unknown[i][0], unknown[i][1],
							   unknown[i][2], ours),
				 -ENOENT);
	assert_string_equal(ours, "as before");
}

static void the_runs_can_be_had(void **state)
{
	(void)state;
	for (unsigned w = 0; w < 3; w++)
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(phx_iaas_study_sizes(study, w, i)->n_tasks, 720);
			assert_int_equal(phx_iaas_study_pairs(study, w, i % 2, i)->n_tasks, 1000);
		}
	assert_null(phx_iaas_study_sizes(study, 3, 0));
	assert_null(phx_iaas_study_pairs(study, 0, 2, 0));
	/* what must be so by the definition alone: half of the work of 5.4 is 500 hours */
	const struct phx_iaas_result *r = phx_iaas_study_pairs(study, 0, 0, 0);
	assert_true(fabs(r->speedup * (double)r->makespan_ms / 3600000 - 501.39) < 2);
}

static void the_study_is_decided_by_its_seed(void **state)
{
	struct phx_iaas_study *a, *b;
	struct phx_err err = {0};
	(void)state;
	struct phx_iaas_study_options o = usual;
	o.seed = 5;
	o.repetitions = 1;
	assert_int_equal(phx_iaas_study_new(&o, &a, NULL), 0);
	assert_int_equal(phx_iaas_study_new(&o, &b, NULL), 0);
	for (unsigned i = 0; i < 9; i++)
		assert_memory_equal(phx_iaas_study_sizes(a, i / 3, i % 3),
				    phx_iaas_study_sizes(b, i / 3, i % 3),
				    sizeof(struct phx_iaas_result));
	phx_iaas_study_free(a);
	phx_iaas_study_free(b);
	phx_iaas_study_free(NULL);
	o.repetitions = 0;
	assert_int_equal(phx_iaas_study_new(&o, &a, &err), -EINVAL);
	assert_non_null(strstr(err.text, "repetitions"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_rows_are_reproduced),
		cmocka_unit_test(live_rows_are_computed),
		cmocka_unit_test(startup_is_charged_as_printed),
		cmocka_unit_test(unknown_rows_are_told),
		cmocka_unit_test(the_runs_can_be_had),
		cmocka_unit_test(the_study_is_decided_by_its_seed),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
