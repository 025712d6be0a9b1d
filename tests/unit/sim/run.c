/* One run: cases worked by hand, rules of the window, delays, workflows, and that the same run is
 * the same run. */
#include <math.h>

#include "unit/sim/runs.h"

/* ---- one batch RE on a cluster of its own ---- */

/* Starts of four jobs on four nodes under a scheduler, in seconds. */
static void check_starts(int scheduler, const int *starts)
{
	static const struct row rows[] = {{0, 100, 3}, {1, 50, 4}, {2, 90, 1}, {3, 200, 1}};
	struct phx_trace_job list[4];
	struct phx_trace_jobs jobs = make_jobs(list, rows, 4);
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, 4);
	struct phx_sim_cluster cluster = {"c", {.nodes = 4}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &jobs};
	int64_t start[4], end[4];
	struct seen seen = {&jobs, start, end};
	struct phx_sim_watch watch = {.arg = &seen, .end = see_end};
	struct phx_sim_result r;
	a.scheduler = scheduler;
	run_or_fail(&(struct phx_sim_config){.clusters = &cluster,
					     .n_clusters = 1,
					     .res = &re,
					     .n_res = 1,
					     .watch = &watch,
					     .check = true},
		    &r);
	for (int i = 0; i < 4; i++)
		assert_int_equal(start[i], starts[i] * S);
	assert_int_equal(r.total.completed, 4);
	assert_false(r.stuck);
	phx_sim_result_fini(&r);
}

/* Job 2 wants all nodes; 3 and 4 want one each. */
static void schedulers_start_in_their_own_order(void **state)
{
	(void)state;
	check_starts(PHX_SCHEDULER_fcfs, (const int[]){0, 100, 150, 150});
	check_starts(PHX_SCHEDULER_sjf, (const int[]){0, 100, 150, 150});
	check_starts(PHX_SCHEDULER_easy, (const int[]){0, 100, 2, 150});
	check_starts(PHX_SCHEDULER_first_fit, (const int[]){0, 292, 2, 92});
}

/* The metrics of the run above under FCFS, by hand: ends at 100, 150, 240, 350. */
static void metrics_are_as_defined(void **state)
{
	static const struct row rows[] = {{0, 100, 3}, {1, 50, 4}, {2, 90, 1}, {3, 200, 1}};
	struct phx_trace_job list[4];
	struct phx_trace_jobs jobs = make_jobs(list, rows, 4);
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, 4);
	struct phx_sim_cluster cluster = {"c", {.nodes = 4}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &jobs};
	struct phx_sim_result r;
	(void)state;
	a.scheduler = PHX_SCHEDULER_fcfs;
	run_or_fail(
		&(struct phx_sim_config){
			.clusters = &cluster, .n_clusters = 1, .res = &re, .n_res = 1},
		&r);
	const struct phx_sim_metrics *m = &r.total;
	assert_float_equal(m->mean_exec_s, (100 + 50 + 90 + 200) / 4.0, 1e-9);
	assert_float_equal(m->mean_wait_s, (0 + 99 + 148 + 147) / 4.0, 1e-9);
	assert_float_equal(m->max_wait_s, 148, 1e-9);
	assert_float_equal(m->mean_turnaround_s, (100 + 149 + 238 + 347) / 4.0, 1e-9);
	assert_float_equal(m->mean_slowdown, (1 + 149 / 50.0 + 238 / 90.0 + 347 / 200.0) / 4, 1e-9);
	assert_float_equal(m->mean_bounded_slowdown, m->mean_slowdown, 1e-12);
	assert_float_equal(m->makespan_s, 350, 1e-9);
	assert_float_equal(m->tasks_per_s, 4 / 350.0, 1e-12);
	assert_float_equal(m->node_hours, 4 * 350 / 3600.0, 1e-9);
	assert_float_equal(m->busy_node_hours, (300 + 200 + 90 + 200) / 3600.0, 1e-9);
	assert_int_equal(m->peak_nodes, 4);
	assert_float_equal(m->speedup, (300 + 200 + 90 + 200) / 350.0, 1e-9);
	assert_float_equal(m->speedup_inf, 203 / 350.0, 1e-9);
	assert_float_equal(m->actual_cost_h, 4 * 350 / 3600.0, 1e-9);
	assert_float_equal(m->charged_cost_h, 4, 1e-9);
	assert_float_equal(m->cost_efficiency, 3600 / 350.0, 1e-9);
	assert_float_equal(m->utility, m->speedup / 4, 1e-12);
	phx_sim_result_fini(&r);
}

static void the_window_cuts_at_its_end(void **state)
{
	/* ends at 100: in; ends at 101: out; submitted at 100: not counted */
	static const struct row rows[] = {{0, 100, 1}, {0, 101, 1}, {100, 1, 1}};
	struct phx_trace_job list[3];
	struct phx_trace_jobs jobs = make_jobs(list, rows, 3);
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, 4);
	struct phx_sim_cluster cluster = {"c", {.nodes = 4}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &jobs};
	struct phx_sim_result r;
	(void)state;
	run_or_fail(&(struct phx_sim_config){.clusters = &cluster,
					     .n_clusters = 1,
					     .res = &re,
					     .n_res = 1,
					     .window_ms = 100 * S},
		    &r);
	assert_int_equal(r.total.jobs, 2);
	assert_int_equal(r.total.completed, 1);
	assert_int_equal(r.total.unfinished, 1);
	assert_float_equal(r.total.mean_exec_s, 100, 1e-9);
	assert_float_equal(r.total.node_hours, 4 * 100 / 3600.0, 1e-9);
	assert_int_equal(r.end_ms, 100 * S);
	phx_sim_result_fini(&r);
}

static void jobs_of_no_time_end_at_once(void **state)
{
	static const struct row rows[] = {{5, 0, 4}, {5, 0, 4}, {5, 10, 4}};
	struct phx_trace_job list[3];
	struct phx_trace_jobs jobs = make_jobs(list, rows, 3);
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, 4);
	struct phx_sim_cluster cluster = {"c", {.nodes = 4}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &jobs};
	struct phx_sim_result r;
	(void)state;
	run_or_fail(
		&(struct phx_sim_config){
			.clusters = &cluster, .n_clusters = 1, .res = &re, .n_res = 1},
		&r);
	assert_int_equal(r.total.completed, 3);
	assert_float_equal(r.total.mean_wait_s, 0, 1e-12);
	assert_float_equal(r.total.mean_slowdown, 1, 1e-12); /* of the one with a run time */
	phx_sim_result_fini(&r);
}

static void a_run_with_jobs_that_cannot_start_ends(void **state)
{
	static const struct row rows[] = {{0, 10, 5}, {0, 10, 2}};
	struct phx_trace_job list[2];
	struct phx_trace_jobs jobs = make_jobs(list, rows, 2);
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, 4);
	struct phx_sim_cluster cluster = {"c", {.nodes = 4}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &jobs};
	struct phx_sim_result r;
	(void)state;
	run_or_fail(
		&(struct phx_sim_config){
			.clusters = &cluster, .n_clusters = 1, .res = &re, .n_res = 1},
		&r);
	assert_true(r.stuck || r.total.refused == 1);
	assert_int_equal(r.total.completed, 1);
	phx_sim_result_fini(&r);
}

static void no_job_has_no_mean(void **state)
{
	struct phx_trace_jobs jobs = {0};
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, 4);
	struct phx_sim_cluster cluster = {"c", {.nodes = 4}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &jobs};
	struct phx_sim_result r;
	(void)state;
	run_or_fail(
		&(struct phx_sim_config){
			.clusters = &cluster, .n_clusters = 1, .res = &re, .n_res = 1},
		&r);
	assert_true(isnan(r.total.mean_exec_s) && isnan(r.total.makespan_s) &&
		    isnan(r.total.speedup));
	phx_sim_result_fini(&r);
}

/* ---- batch and web on one cluster ---- */

struct shared {
	struct phx_agreement batch, web;
	struct phx_trace_job list[8];
	struct phx_trace_jobs jobs;
	int64_t at_ms[3], start[8], end[8];
	uint64_t value[3];
	struct phx_trace_series demand;
	struct seen seen;
	struct phx_sim_watch watch;
	struct phx_sim_cluster cluster;
	struct phx_sim_re res[2];
	struct phx_sim_config config;
};

/* Four nodes under FB: the web wants 1, from 100 s on 3, from 200 s on 1. Two jobs are killed for
 * it. */
static void set_shared(struct shared *s)
{
	static const struct row rows[] = {{0, 150, 2}, {10, 1000, 1}};
	*s = (struct shared){.at_ms = {0, 100 * S, 200 * S}, .value = {1, 3, 1}};
	s->jobs = make_jobs(s->list, rows, 2);
	s->demand = (struct phx_trace_series){
		.at_ms = s->at_ms, .value = s->value, .n = 3, .end_ms = 3750 * S};
	pair(&s->batch, &s->web, PHX_POLICY_fb, 3, 1);
	s->cluster = (struct phx_sim_cluster){"c", {.nodes = 4}};
	s->res[0] = (struct phx_sim_re){.agreement = &s->web, .demand = &s->demand};
	s->res[1] = (struct phx_sim_re){.agreement = &s->batch, .jobs = &s->jobs};
	s->seen = (struct seen){&s->jobs, s->start, s->end};
	s->watch = (struct phx_sim_watch){.arg = &s->seen, .end = see_end};
	s->config = (struct phx_sim_config){.clusters = &s->cluster,
					    .n_clusters = 1,
					    .res = s->res,
					    .n_res = 2,
					    .watch = &s->watch,
					    .check = true};
}

static void fb_by_hand(void **state)
{
	struct shared s;
	struct phx_sim_result r;
	(void)state;
	set_shared(&s);
	run_or_fail(&s.config, &r);
	const struct phx_sim_metrics *b = &r.res[1], *w = &r.res[0];
	/* at 100 s both are killed, the small one first; one node is left over, on which it begins
	 * again. What the web gives back at 200 s waits for the hour; then the large one begins
	 * again */
	assert_int_equal(s.start[1], 100 * S);
	assert_int_equal(s.start[0], 3600 * S);
	assert_int_equal(b->completed, 2);
	assert_int_equal(b->killed, 2);
	assert_int_equal(b->requeued, 2);
	assert_float_equal(b->mean_exec_s, 575, 1e-9);
	assert_float_equal(b->mean_turnaround_s, (3750 + 1090) / 2.0, 1e-9);
	assert_float_equal(b->mean_wait_s, (3600 + 90) / 2.0, 1e-9);
	assert_float_equal(b->lost_node_hours, (100 * 2 + 90) / 3600.0, 1e-9);
	assert_float_equal(b->node_hours, (3 * 100 + 3500 + 3 * 150) / 3600.0, 1e-9);
	assert_float_equal(w->node_hours, (100 + 3 * 100 + 3550) / 3600.0, 1e-9);
	assert_float_equal(w->unmet_node_hours, 0, 1e-12);
	assert_int_equal(w->peak_nodes, 3);
	assert_int_equal(b->peak_nodes, 3);
	assert_float_equal(r.total.node_hours, 4 * 3750 / 3600.0, 1e-9);
	assert_int_equal(r.total.peak_nodes, 4);
	phx_sim_result_fini(&r);
}

static void killed_jobs_may_be_gone(void **state)
{
	struct shared s;
	struct phx_sim_result r;
	(void)state;
	set_shared(&s);
	s.batch.no_requeue = true;
	run_or_fail(&s.config, &r);
	assert_int_equal(r.res[1].killed, 2);
	assert_int_equal(r.res[1].requeued, 0);
	assert_int_equal(r.res[1].completed, 0);
	assert_int_equal(r.res[1].unfinished, 0);
	assert_false(r.stuck);
	phx_sim_result_fini(&r);
}

static void nodes_take_their_time(void **state)
{
	struct shared s;
	struct phx_sim_result r;
	(void)state;
	set_shared(&s);
	/* two nodes are wanted for 100 s; the jobs need 5 s to end and the nodes 10 + 20 s to
	 * change: 35 s unmet */
	s.config.delays = (struct phx_sim_delays){.handover_ms = 10000, .kill_ms = 5000};
	s.config.delays.wipe_ms[PHX_WIPE_DISCARD] = 20000;
	s.web.setup = (struct phx_setup){PHX_SETUP_WIPE, PHX_WIPE_DISCARD, PHX_WHEN_ASSIGN,
					 PHX_VERIFY_SAMPLE, PHX_SETUP_START_AUTO};
	run_or_fail(&s.config, &r);
	/* the first node comes after 30 s too, at the start */
	assert_float_equal(r.res[0].unmet_node_hours, (2 * 35 + 30) / 3600.0, 1e-9);
	assert_int_equal(r.res[1].completed, 2);
	assert_true(r.res[1].killed >= 2);
	phx_sim_result_fini(&r);
}

/* ---- workflows ---- */

static void tasks_wait_for_their_parents(void **state)
{
	/* 1 → 2, 3 → 4, on one node: 1, 2, 3, 4 */
	static const struct row rows[] = {{0, 10, 1}, {0, 20, 1}, {0, 30, 1}, {0, 40, 1}};
	uint32_t children[] = {1, 2, 3, 3};
	struct phx_trace_job list[4];
	struct phx_trace_jobs jobs = make_jobs(list, rows, 4);
	struct phx_agreement a = agreement("tasks", PHX_RE_BATCH, PHX_POLICY_dcs, 1);
	struct phx_sim_cluster cluster = {"c", {.nodes = 1}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &jobs};
	int64_t start[4], end[4];
	struct seen seen = {&jobs, start, end};
	struct phx_sim_watch watch = {.arg = &seen, .end = see_end};
	struct phx_sim_result r;
	(void)state;
	jobs.children = children;
	jobs.n_children = 4;
	list[0].first_child = 0, list[0].n_children = 2;
	list[1].first_child = 2, list[1].n_children = 1, list[1].n_parents = 1;
	list[2].first_child = 3, list[2].n_children = 1, list[2].n_parents = 1;
	list[3].n_parents = 2;
	struct phx_sim_config config = {
		.clusters = &cluster, .n_clusters = 1, .res = &re, .n_res = 1, .watch = &watch};
	run_or_fail(&config, &r);
	assert_int_equal(start[1], 10 * S);
	assert_int_equal(start[2], 30 * S);
	assert_int_equal(start[3], 60 * S);
	assert_float_equal(r.total.makespan_s, 100, 1e-9);
	assert_float_equal(r.total.tasks_per_s, 0.04, 1e-12);
	phx_sim_result_fini(&r);
	/* on two nodes 2 and 3 run together */
	cluster.ledger.nodes = a.lower = 2;
	run_or_fail(&config, &r);
	assert_int_equal(start[2], 10 * S);
	assert_int_equal(start[3], 40 * S);
	phx_sim_result_fini(&r);
}

/* ---- drawn workloads ---- */

static void run_drawn(uint64_t seed, int model, int scheduler, struct phx_sim_result *ret)
{
	struct phx_trace_jobs jobs = {0};
	struct phx_trace_series demand = {0};
	struct phx_agreement batch, web;
	const struct phx_policy *policy = phx_policy((enum phx_policy_id)model);
	draw(seed, &jobs, &demand);
	bool bounds = model == PHX_POLICY_fb;
	pair(&batch, &web, model, bounds ? 20 : 0, bounds ? 4 : 0);
	batch.scheduler = scheduler;
	bool cloud = !bounds && model != PHX_POLICY_coop2008;
	if (policy->fixed)
		batch.lower = web.lower = 16;
	struct phx_sim_cluster cluster = {"c", {.nodes = cloud ? 0 : 24, .unlimited = cloud}};
	struct phx_sim_re res[] = {{.agreement = &web, .demand = &demand},
				   {.agreement = &batch, .jobs = &jobs}};
	run_or_fail(&(struct phx_sim_config){.clusters = &cluster,
					     .n_clusters = 1,
					     .res = res,
					     .n_res = 2,
					     .check = true},
		    ret);
	/* what completed jobs used, what was lost, and what was held hang together */
	double used = 0;
	for (size_t i = 0; i < jobs.n; i++)
		used += (double)jobs.jobs[i].run_ms * jobs.jobs[i].size / 3600000;
	assert_int_equal(ret->res[1].completed, jobs.n);
	assert_float_equal(ret->res[1].busy_node_hours, used + ret->res[1].lost_node_hours, 1e-6);
	assert_true(ret->res[1].node_hours >= ret->res[1].busy_node_hours - 1e-9);
	assert_true(ret->res[1].actual_cost_h <= ret->res[1].charged_cost_h + 1e-9);
	assert_false(ret->stuck);
	phx_trace_jobs_fini(&jobs);
	phx_trace_series_fini(&demand);
}

static void policies_hold_on_drawn_workloads(void **state)
{
	static const int models[] = {PHX_POLICY_fb, PHX_POLICY_coop2008, PHX_POLICY_flb_nub};
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (size_t m = 0; m < PHX_ARRAY_SIZE(models); m++)
			for (int scheduler = 0; scheduler < PHX_SCHEDULER_COUNT_; scheduler++) {
				struct phx_sim_result r;
				run_drawn(seed, models[m], scheduler, &r);
				phx_sim_result_fini(&r);
			}
}

static void the_same_run_is_the_same(void **state)
{
	struct phx_sim_result a, b;
	(void)state;
	run_drawn(5, PHX_POLICY_fb, PHX_SCHEDULER_easy, &a);
	run_drawn(5, PHX_POLICY_fb, PHX_SCHEDULER_easy, &b);
	assert_memory_equal(a.res, b.res, 2 * sizeof(*a.res));
	assert_memory_equal(&a.total, &b.total, sizeof(a.total));
	assert_int_equal(a.n_instants, b.n_instants);
	phx_sim_result_fini(&a);
	phx_sim_result_fini(&b);
}

/* ---- what is refused ---- */

static void refuse(struct phx_sim_config *c, const char *says)
{
	struct phx_sim_result r;
	struct phx_err err = {0};
	memset(&r, 0x5a, sizeof(r));
	struct phx_sim_result before = r;
	assert_true(phx_sim_run(c, &r, &err) < 0);
	assert_says(&err, says);
	assert_memory_equal(&r, &before, sizeof(r));
}

static void mistakes_are_told(void **state)
{
	struct shared s;
	(void)state;
	set_shared(&s);
	s.res[1].cluster = 7;
	refuse(&s.config, "batch: there is no cluster 7");
	set_shared(&s);
	s.res[0].jobs = &s.jobs;
	refuse(&s.config, "web: jobs are for a batch RE");
	set_shared(&s);
	s.batch.lower = 9;
	refuse(&s.config, "batch: ");
	set_shared(&s);
	s.config.n_res = 0;
	refuse(&s.config, "1 to ");
}

static int stop(void *arg, int64_t now_ms, size_t n_ended)
{
	(void)arg, (void)now_ms, (void)n_ended;
	return 1;
}

static void a_run_can_be_stopped(void **state)
{
	struct phx_trace_jobs jobs = {0};
	struct phx_err err = {0};
	struct phx_sim_result r;
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, 64);
	struct phx_sim_cluster cluster = {"c", {.nodes = 64}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &jobs};
	struct phx_sim_watch watch = {.progress = stop};
	struct phx_gen_jobs g = {.rate = {.form = PHX_GEN_POISSON, .length_ms = 86400 * S},
				 .seed = 1,
				 .n = 20000,
				 .run_ms = S};
	(void)state;
	assert_int_equal(phx_gen_jobs(&g, &jobs, &err), 0);
	assert_int_equal(phx_sim_run(&(struct phx_sim_config){.clusters = &cluster,
							      .n_clusters = 1,
							      .res = &re,
							      .n_res = 1,
							      .watch = &watch},
				     &r, &err),
			 -ECANCELED);
	phx_trace_jobs_fini(&jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedulers_start_in_their_own_order),
		cmocka_unit_test(metrics_are_as_defined),
		cmocka_unit_test(the_window_cuts_at_its_end),
		cmocka_unit_test(jobs_of_no_time_end_at_once),
		cmocka_unit_test(a_run_with_jobs_that_cannot_start_ends),
		cmocka_unit_test(no_job_has_no_mean),
		cmocka_unit_test(fb_by_hand),
		cmocka_unit_test(killed_jobs_may_be_gone),
		cmocka_unit_test(nodes_take_their_time),
		cmocka_unit_test(tasks_wait_for_their_parents),
		cmocka_unit_test(policies_hold_on_drawn_workloads),
		cmocka_unit_test(the_same_run_is_the_same),
		cmocka_unit_test(mistakes_are_told),
		cmocka_unit_test(a_run_can_be_stopped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
