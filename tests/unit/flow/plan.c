/* What would happen: nodes with tasks side by side, where a task goes, what is refused; random
 * workflows, whose plans hold at every instant. */
#include "flow/plan.h"
#include "unit/flow/flows.h"

static struct phx_flow f;
static struct phx_flow_plan plan;
static struct phx_err err;

static int teardown(void **state)
{
	(void)state;
	phx_flow_plan_fini(&plan);
	phx_flow_fini(&f);
	return 0;
}

/* Each task runs for a second, but for what run_ms says. */
static void make_seconds(const char *words)
{
	teardown(NULL);
	make_flow(words, &f);
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].run_ms = 1000;
}

static int plan_on(uint32_t n_nodes, uint32_t cores, uint64_t memory)
{
	struct phx_flow_plan_options o = {.n_nodes = n_nodes, .node = {cores, memory}};
	phx_flow_plan_fini(&plan);
	phx_err_clear(&err);
	return phx_flow_plan(&f, &o, &plan, &err);
}

static void test_side_by_side(void **state)
{
	(void)state;
	make_seconds("a b c d e<a");
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].cores = 1;
	assert_int_equal(plan_on(1, 4, 0), 0);
	assert_int_equal(plan.end_ms, 2000);
	assert_int_equal(plan.busy_core_ms, 5000);
	assert_int_equal(plan.n_runs, 5);
	assert_int_equal(plan.status, PHX_FLOW_COMPLETE);
	assert_int_equal(plan.tasks[4].begin_ms, 1000);
	assert_int_equal(plan_on(1, 1, 0), 0);
	assert_int_equal(plan.end_ms, 5000);
	f.tasks[1].cores = 0; /* all of a node */
	assert_int_equal(plan_on(1, 4, 0), 0);
	assert_int_equal(plan.tasks[1].begin_ms, 1000);
	assert_int_equal(plan.tasks[2].begin_ms, 2000); /* first come, first served */
	assert_int_equal(plan.end_ms, 3000);
}

static void test_memory(void **state)
{
	(void)state;
	make_seconds("a b");
	for (uint32_t i = 0; i < f.n_tasks; i++) {
		f.tasks[i].cores = 1;
		f.tasks[i].memory_bytes = 600;
	}
	assert_int_equal(plan_on(1, 4, 0), 0); /* not counted */
	assert_int_equal(plan.end_ms, 1000);
	assert_int_equal(plan_on(1, 4, 1000), 0);
	assert_int_equal(plan.end_ms, 2000);
	assert_int_equal(plan_on(2, 4, 1000), 0);
	assert_int_equal(plan.end_ms, 1000);
	assert_int_equal(plan_on(2, 4, 500), -EINVAL);
	assert_says(&err, "task \"a\": it wants 1 nodes of 1 cores and 600 bytes each");
}

static void test_wide(void **state)
{
	(void)state;
	make_seconds("a b c");
	f.tasks[1].nodes = 2;
	assert_int_equal(plan_on(2, 1, 0), 0);
	assert_int_equal(plan.tasks[1].begin_ms, 0);
	assert_int_equal(plan.tasks[0].begin_ms, 1000);
	assert_int_equal(plan.tasks[2].begin_ms, 1000);
	assert_int_equal(plan_on(3, 1, 0), 0); /* beside a small one */
	assert_int_equal(plan.tasks[0].begin_ms, 0);
	f.tasks[1].cores = 1;
	assert_int_equal(plan_on(2, 8, 0), 0); /* it has its nodes alone, whatever it asks for */
	assert_int_equal(plan.tasks[0].begin_ms, 1000);
	assert_int_equal(plan_on(1, 1, 0), -EINVAL);
	assert_says(&err, "task \"b\": it wants 2 nodes");
	f.tasks[1].run_ms = -1;
	assert_int_equal(plan_on(2, 1, 0), -EINVAL);
	assert_says(&err, "task \"b\": how long it runs (run, runtime) is missing");
	assert_null(plan.tasks);
}

/* A task goes where most of what it reads was written; else where it leaves the least room. */
static void test_places(void **state)
{
	struct phx_flow_draft d = {.what = "f", .by_files = true};
	(void)state;
	teardown(NULL);
	add_tasks(&d, "a");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "small");
	phx_flow_draft_size(&d, 10);
	add_tasks(&d, "b");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "large");
	phx_flow_draft_size(&d, 1000);
	add_tasks(&d, "c");
	add_link(&d, PHX_FLOW_LINK_INPUT, "small");
	add_link(&d, PHX_FLOW_LINK_INPUT, "large");
	assert_int_equal(phx_flow_make(&d, &f, &err), 0);
	phx_flow_draft_fini(&d);
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].run_ms = 5;
	assert_int_equal(plan_on(3, 2, 0), 0);
	assert_int_equal(plan.tasks[0].node, 0);
	assert_int_equal(plan.tasks[1].node, 1);
	assert_int_equal(plan.tasks[2].node, 1);

	struct phx_flow_slots s = {0};
	uint32_t node;
	assert_int_equal(phx_flow_slots_init(3, (struct phx_flow_slot){8, 0}, &s), 0);
	struct phx_flow_task two = {.nodes = 1, .cores = 2}, six = {.nodes = 1, .cores = 6};
	assert_true(phx_flow_slots_take(&s, &two, 2, &node));
	assert_int_equal(node, 2);
	assert_true(phx_flow_slots_take(&s, &six, PHX_FLOW_NONE, &node));
	assert_int_equal(node, 2);
	assert_true(phx_flow_slots_take(&s, &two, 2, &node)); /* there is no room there */
	assert_int_equal(node, 0);
	phx_flow_slots_give(&s, &two, &node);
	assert_int_equal(s.free[0].cores, 8);
	phx_flow_slots_fini(&s);
}

/* What ends at one instant is free at once: c goes where its input is, though another node was
 * given back first. */
static void test_instants(void **state)
{
	struct phx_flow_draft d = {.what = "f", .by_files = true};
	(void)state;
	teardown(NULL);
	add_tasks(&d, "x w");
	add_link(&d, PHX_FLOW_LINK_OUTPUT, "file");
	add_tasks(&d, "a b c");
	add_link(&d, PHX_FLOW_LINK_INPUT, "file");
	assert_int_equal(phx_flow_make(&d, &f, &err), 0);
	phx_flow_draft_fini(&d);
	for (uint32_t i = 0; i < f.n_tasks; i++)
		f.tasks[i].run_ms = 1000;
	assert_int_equal(plan_on(2, 1, 0), 0);
	assert_int_equal(plan.tasks[1].node, 1);
	assert_int_equal(plan.tasks[4].begin_ms, 2000);
	assert_int_equal(plan.tasks[4].node, 1);
}

/* ---- what fails, what is there ---- */

static bool is_b(void *arg, uint32_t task)
{
	(void)arg;
	return phx_flow_id(&f, task)[0] == 'b';
}

static void test_fails(void **state)
{
	(void)state;
	make_seconds("a b c<b d<a");
	f.tasks[1].retries = 2;
	f.tasks[1].when_failed = PHX_FLOW_GO_ON;
	struct phx_flow_plan_options o = {.n_nodes = 2, .node = {1, 0}, .fails = is_b};
	assert_int_equal(phx_flow_plan(&f, &o, &plan, &err), 0);
	assert_int_equal(plan.tasks[1].n_runs, 3);
	assert_int_equal(plan.tasks[1].state, PHX_FLOW_TASK_FAILED);
	assert_int_equal(plan.tasks[2].state, PHX_FLOW_TASK_SKIPPED);
	assert_int_equal(plan.tasks[2].begin_ms, -1);
	assert_int_equal(plan.tasks[3].state, PHX_FLOW_TASK_DONE);
	assert_int_equal(plan.status, PHX_FLOW_BROKEN);
	phx_flow_plan_fini(&plan);
	o = (struct phx_flow_plan_options){.n_nodes = 2, .node = {1, 0}, .is_done = is_b};
	assert_int_equal(phx_flow_plan(&f, &o, &plan, &err), 0);
	assert_int_equal(plan.tasks[1].n_runs, 0);
	assert_int_equal(plan.tasks[2].begin_ms, 0);
	assert_int_equal(plan.n_runs, 3);
}

/* A task that is long and fails for ever, at the edge of what can be counted. */
static void test_long(void **state)
{
	(void)state;
	make_seconds("b");
	f.tasks[0].run_ms = PHX_FLOW_TIME_MAX_MS;
	f.tasks[0].retries = PHX_FLOW_RETRIES_MAX;
	f.tasks[0].nodes = 1000;
	struct phx_flow_plan_options o = {
		.n_nodes = 1000, .node = {PHX_FLOW_CORES_MAX, 0}, .fails = is_b};
	assert_int_equal(phx_flow_plan(&f, &o, &plan, &err), 0);
	assert_int_equal(plan.end_ms, PHX_FLOW_TIME_MAX_MS * (PHX_FLOW_RETRIES_MAX + 1));
	assert_int_equal(plan.busy_core_ms, INT64_MAX);
}

/* ---- random workflows ---- */

/* At the instant when a task begins its parents have ended, and no node holds more than it has. */
static void check_instant(uint32_t task, uint32_t n_nodes, uint32_t cores)
{
	int64_t at_ms = plan.tasks[task].begin_ms;
	uint32_t used[8] = {0};
	PHX_FLOW_EACH(p, &f, task, PHX_FLOW_PARENTS)
	assert_true(plan.tasks[*p].end_ms <= at_ms);
	for (uint32_t i = 0; i < f.n_tasks; i++)
		if (plan.tasks[i].begin_ms <= at_ms && plan.tasks[i].end_ms > at_ms)
			used[plan.tasks[i].node] += f.tasks[i].cores ? f.tasks[i].cores : cores;
	for (uint32_t i = 0; i < n_nodes; i++)
		assert_true(used[i] <= cores);
}

static void test_random(void **state)
{
	struct phx_rng rng = {5};
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct phx_flow_draft d = {.what = "f"};
		uint32_t n_nodes = 1 + (uint32_t)phx_rng_below(&rng, 8),
			 cores = 1 + (uint32_t)phx_rng_below(&rng, 8);
		int64_t longest_ms = 0;
		struct phx_flow_sums sums;
		teardown(NULL);
		draft_random(&d, &rng, 1 + (uint32_t)phx_rng_below(&rng, 40), 3);
		PHX_LIST_EACH(struct phx_flow_task, t, &d.tasks)
			t->cores = (uint32_t)phx_rng_below(&rng, cores + 1);
		assert_int_equal(phx_flow_make(&d, &f, &err), 0);
		phx_flow_draft_fini(&d);
		assert_int_equal(plan_on(n_nodes, cores, 0), 0);
		assert_int_equal(phx_flow_sum(&f, &sums), 0);
		for (uint32_t i = 0; i < f.n_tasks; i++) {
			assert_int_equal(plan.tasks[i].n_runs, 1);
			check_instant(i, n_nodes, cores);
			longest_ms = plan.tasks[i].end_ms > longest_ms ? plan.tasks[i].end_ms
								       : longest_ms;
		}
		assert_int_equal(plan.end_ms, longest_ms);
		assert_true(plan.end_ms >= sums.longest_ms && plan.end_ms <= sums.work_ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_side_by_side), cmocka_unit_test(test_memory),
		cmocka_unit_test(test_wide),         cmocka_unit_test(test_places),
		cmocka_unit_test(test_instants),     cmocka_unit_test(test_fails),
		cmocka_unit_test(test_long),         cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
