/* phx sim iaas: what it prints in each form, job logs and pictures, and what it refuses. */
#include "fake/phxd.h"

#include <math.h>

#include "base/json.h"
#include "base/tree.h"
#include "iaas/iaas.h"
#include "iaas/workload.h"

/* phx needs no daemon for it: there is no socket. */
static struct phx_said sim(const char *line)
{
	char words[1024];
	snprintf(words, sizeof(words), "sim iaas %s", line);
	return phx_at("/nonexistent", words);
}

static json_t *runs_of(const char *line, json_t **ret_whole)
{
	struct phx_err err = {0};
	char words[1024];
	snprintf(words, sizeof(words), "%s -o json", line);
	PHX_SAID said = sim(words);
	assert_int_equal(said.status, 0);
	if (phx_json_parse(said.out, strlen(said.out), ret_whole, &err) < 0)
		fail_msg("%s", err.text);
	return json_object_get(*ret_whole, "runs");
}

static double member(const json_t *run, const char *name)
{
	const json_t *j = json_object_get(run, name);
	if (!json_is_number(j))
		fail_msg("no number %s", name);
	return json_number_value(j);
}

static void all_policies_stand_beside_each_other(void **state)
{
	(void)state;
	PHX_SAID said = sim("");
	assert_int_equal(said.status, 0);
	static const char *const names[] = {"startup ",    "od-s ",      "od-g ",    "od-exectime ",
					    "od-execavg ", "od-execkn ", "od-wait ", "od-2q "};
	assert_has(said.out, "POLICY");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		assert_has(said.out, names[i]);
	assert_lacks(said.out, "CANCELLED");
	PHX_SAID wide = sim("-o wide");
	assert_has(wide.out, "CANCELLED");
	PHX_SAID csv = sim("-o csv");
	assert_has(csv.out, "POLICY,ALLOCATION,JOBS,");
	assert_has(csv.out, "\nod-2q,fcfs-2q,");
	PHX_SAID bare = sim("-o csv --no-header");
	assert_lacks(bare.out, "POLICY");
}

static void json_has_every_figure(void **state)
{
	json_t *whole;
	(void)state;
	json_t *runs = runs_of("--workload periodic --seed 3", &whole);
	static const char *const figures[] = {"jobs",
					      "makespan_s",
					      "mean_wait_s",
					      "mean_slowdown",
					      "speedup",
					      "speedup_inf",
					      "actual_cost_h",
					      "charged_cost_h",
					      "cost_efficiency",
					      "utility",
					      "utility_vs_startup",
					      "leases",
					      "cancelled",
					      "peak_nodes",
					      "peak_waiting"};
	assert_int_equal(json_array_size(runs), 8);
	assert_string_equal(phx_json_str(whole, "workload", ""), "periodic");
	assert_int_equal(phx_json_int(whole, "nodes", 0), 100);
	assert_int_equal(phx_json_int(whole, "seed", 0), 3);
	for (size_t i = 0; i < 8; i++)
		for (size_t k = 0; k < PHX_ARRAY_SIZE(figures); k++)
			assert_true(isfinite(member(json_array_get(runs, i), figures[k])));
	const json_t *startup = json_array_get(runs, 0);
	assert_string_equal(phx_json_str(startup, "policy", ""), "startup");
	assert_true(member(startup, "jobs") == 1000 && member(startup, "utility_vs_startup") == 1);
	assert_true(member(startup, "leases") == 100 && member(startup, "peak_nodes") == 100);
	json_decref(whole);
}

/* 50 min of one task on one node that is leased for it: 10 min of boot, one hour charged. */
static void options_reach_the_model(void **state)
{
	char dir[] = "/tmp/phx-iaas-XXXXXX", log[64], line[256];
	json_t *whole;
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(log, sizeof(log), "%s/log.swf", dir);
	const char *text = "; MaxNodes: 4\n1 0 -1 3000 1 -1 -1 1 -1 -1 1 1 1 -1 -1 -1 -1 -1\n";
	assert_int_equal(phx_file_write(log, text, strlen(text), 0644, NULL), 0);
	snprintf(line, sizeof(line), "--workload %s --policy od-s", log);
	const json_t *run = json_array_get(runs_of(line, &whole), 0);
	assert_true(member(run, "makespan_s") == 3600);
	assert_true(fabs(member(run, "mean_slowdown") - 1.2) < 1e-6);
	assert_true(member(run, "charged_cost_h") == 1 && member(run, "leases") == 1);
	assert_int_equal(phx_json_int(whole, "nodes", 0), 4);
	json_decref(whole);
	snprintf(line, sizeof(line), "--workload %s --policy od-s --boot 1000s --nodes 2", log);
	run = json_array_get(runs_of(line, &whole), 0);
	assert_true(member(run, "makespan_s") == 4000);
	assert_int_equal(phx_json_int(whole, "nodes", 0), 2);
	json_decref(whole);
	/* a picture: a panel a policy */
	snprintf(line, sizeof(line), "--workload %s --svg %s/out.svg", log, dir);
	PHX_SAID said = sim(line);
	assert_int_equal(said.status, 0);
	PHX_AUTO_FREE char *svg = NULL;
	snprintf(line, sizeof(line), "%s/out.svg", dir);
	assert_int_equal(phx_file_read(line, 1 << 22, &svg, NULL, NULL), 0);
	assert_has(svg, "<svg");
	assert_has(svg, "od-2q, fcfs-2q");
	phx_dir_remove(dir, NULL);
}

static void the_seed_decides(void **state)
{
	(void)state;
	PHX_SAID a = sim("--workload bursty -o json --seed 5");
	PHX_SAID b = sim("--workload bursty -o json --seed 5");
	PHX_SAID c = sim("--workload bursty -o json --seed 6");
	assert_string_equal(a.out, b.out);
	assert_string_not_equal(a.out, c.out);
}

static void an_allocation_takes_the_policies_that_go_with_it(void **state)
{
	json_t *whole;
	(void)state;
	assert_int_equal(json_array_size(runs_of("--allocation sjf", &whole)), 7);
	json_decref(whole);
	assert_int_equal(json_array_size(runs_of("--allocation fcfs-nw", &whole)), 1);
	json_decref(whole);
	json_t *runs = runs_of("--allocation fcfs-2q", &whole);
	assert_int_equal(json_array_size(runs), 1);
	assert_string_equal(phx_json_str(json_array_get(runs, 0), "policy", ""), "od-2q");
	json_decref(whole);
}

static void refuse(const char *line, int status, const char *word)
{
	PHX_SAID said = sim(line);
	if (said.status != status)
		fail_msg("%s: exit status %d, not %d: %s", line, said.status, status, said.errout);
	assert_has(said.errout, word);
	assert_string_equal(said.out, "");
}

static void mistakes_are_told(void **state)
{
	(void)state;
	refuse("--policy best", 64, "od-execkn");
	refuse("--allocation best", 64, "fcfs-nw");
	refuse("--policy od-s --allocation fcfs-nw", 64, "startup only");
	refuse("--policy od-2q --allocation sjf", 64, "go together");
	refuse("--workload nowhere.swf", 64, "mixed-bursty");
	refuse("--idle soon", 64, "90s");
	refuse("--seed x", 64, "number");
	refuse("--period 0", 64, "control period");
	refuse("--nodes 100001", 64, "100001 nodes");
	refuse("--boot 9999d", 64, "boot time");
}

/* The options' texts are written by hand: they must name what the tables have. */
static void help_names_all_there_is(void **state)
{
	static const struct phx_enum *const tables[] = {
		&phx_provisioning_names, &phx_allocation_names, &phx_iaas_workload_names};
	(void)state;
	PHX_SAID help = phx_at("/nonexistent", "sim iaas --help");
	PHX_SAID completion = phx_at("/nonexistent", "completion bash");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(tables); i++) {
		for (int k = 0; k < tables[i]->n_names; k++)
			assert_has(help.out, tables[i]->names[k]);
		char words[256];
		snprintf(words, sizeof(words), "|%s ", tables[i]->names[tables[i]->n_names - 1]);
		assert_has(completion.out, words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_policies_stand_beside_each_other),
		cmocka_unit_test(json_has_every_figure),
		cmocka_unit_test(options_reach_the_model),
		cmocka_unit_test(the_seed_decides),
		cmocka_unit_test(an_allocation_takes_the_policies_that_go_with_it),
		cmocka_unit_test(mistakes_are_told),
		cmocka_unit_test(help_names_all_there_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
