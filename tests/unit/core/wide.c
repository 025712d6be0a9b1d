/* Tasks of several nodes in the core: they get as many whole nodes, beside small tasks on others,
 * which give way to them; they end with the last node that answers, and one that fails, is lost or
 * ordered to end ends the others. workflows.c has tasks of one node. */
#include "unit/core/runs.h"

/* An RE of five nodes, all of which it has. */
static void mtc_of_all(struct world *w)
{
	mtc_running(w, NODES);
	tick(w, 1000);
}

static uint32_t n_with(struct world *w, uint64_t id, uint32_t task, char names[NODES][8])
{
	uint32_t n = 0;
	for (unsigned i = 1; i <= NODES; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		struct phx_list l = on(w, name);
		PHX_LIST_EACH(struct phx_task_given, g, &l) {
			if (g->run->id != id || g->task != task)
				continue;
			if (names)
				memcpy(names[n], name, sizeof(name));
			n++;
		}
		phx_list_fini(&l);
	}
	return n;
}

/* The task of the node, which has one, ends so; the number of its attempt. */
static void end_on(struct world *w, const char *node, int outcome, uint32_t status)
{
	assert_int_equal(end_all(w, node, outcome, status), 1);
}

/* `n` nodes at once, each with another rank, and no other task beside it. */
static void whole_nodes(void **state)
{
	struct world *w = *state;
	char names[NODES][8];
	bool ranks[NODES] = {false};
	mtc_of_all(w);
	uint64_t id = submit_flow(w, 1, "=1,0,0,0,0,3\n"),
		 small = submit_flow(w, 9, "=1,0,0,0,0\n*8\n");
	tick(w, 1000);
	assert_int_equal(run_of(w, id)->n_running, 1);
	assert_int_equal(n_with(w, id, 0, names), 3);
	assert_true(run_of(w, small)->n_running > 0); /* on the other two */
	for (unsigned i = 0; i < 3; i++) {
		struct phx_list l = on(w, names[i]);
		const struct phx_task_given *g = PHX_LIST_AT(&l, struct phx_task_given, 0);
		assert_int_equal(l.n, 1);
		assert_true(g->wide && !g->ends && g->rank < 3 && !ranks[g->rank]);
		ranks[g->rank] = true;
		if (!g->rank)
			assert_int_equal(run_of(w, id)->live->at[0].node,
					 world_node(w, names[i])->number);
		phx_list_fini(&l);
	}
	/* it is done with the last of them */
	end_on(w, names[2], PHX_TASK_EXITED, 0);
	end_on(w, names[0], PHX_TASK_EXITED, 0);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_ACTIVE);
	assert_int_equal(n_with(w, id, 0, NULL), 1);
	end_on(w, names[1], PHX_TASK_EXITED, 0);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_COMPLETE);
	assert_int_equal(run_of(w, id)->n_runs, 1);
	finish(w, small);
}

/* Small tasks, which have all nodes and would not let go of them for long, give way. */
static void small_ones_give_way(void **state)
{
	struct world *w = *state;
	mtc_of_all(w);
	/* the last waits for the first, while 200 small ones are ready */
	uint64_t id = submit_flow(w, 202, "=1,0,0,0,0\n*200\n=1,0,0,0,0,2 201\n");
	tick(w, 1000);
	tick(w, 1000);
	assert_int_equal(run_of(w, id)->n_running, 4 * NODES);
	for (unsigned i = 0; i < 20 && !n_with(w, id, 201, NULL); i++) {
		assert_true(end_everywhere(w, PHX_TASK_EXITED, 0) > 0);
		tick(w, 1000);
	}
	assert_int_equal(n_with(w, id, 201, NULL), 2);
	assert_int_equal(run_of(w, id)->n_running, 4 * 3 + 1); /* three nodes were let alone */
	assert_true(run_of(w, id)->n_ready > 100);
	finish(w, id);
}

/* ... but not to a run that was submitted after them. */
static void first_come_first_served(void **state)
{
	struct world *w = *state;
	mtc_of_all(w);
	uint64_t small = submit_flow(w, 40, "=1,0,0,0,0\n*39\n");
	tick(w, 1000);
	tick(w, 1000);
	uint64_t id = submit_flow(w, 1, "=1,0,0,0,0,2\n");
	for (unsigned i = 0; i < 20 && !run_of(w, id)->n_running; i++) {
		assert_true(end_everywhere(w, PHX_TASK_EXITED, 0) > 0);
		tick(w, 1000);
	}
	assert_int_equal(run_of(w, small)->n_ready, 0);
	finish(w, id);
	finish(w, small);
}

/* One node that fails ends the others, and the task is tried again when all have answered. */
static void one_fails(void **state)
{
	struct world *w = *state;
	char names[NODES][8];
	mtc_of_all(w);
	uint64_t id = submit_flow(w, 1, "=1,0,0,1,0,3\n");
	tick(w, 1000);
	for (unsigned attempt = 1; attempt <= 2; attempt++) {
		assert_int_equal(n_with(w, id, 0, names), 3);
		end_on(w, names[1], PHX_TASK_EXITED, 4);
		for (unsigned i = 0; i < 3; i += 2) {
			struct phx_list l = on(w, names[i]);
			assert_true(PHX_LIST_AT(&l, struct phx_task_given, 0)->ends);
			phx_list_fini(&l);
			assert_int_equal(run_of(w, id)->n_running, 1);
			end_on(w, names[i], PHX_TASK_CANCELLED, 0);
		}
		assert_int_equal(run_of(w, id)->n_losses, 0);
		tick(w, 1000);
	}
	assert_int_equal(run_of(w, id)->n_runs, 2);
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_BROKEN);
	assert_non_null(strstr(run_of(w, id)->why, "task 1 on"));
	assert_non_null(strstr(run_of(w, id)->why, "exit status 4"));
}

/* A node that is lost costs no retry; the others end, and the task runs again. */
static void one_is_lost(void **state)
{
	struct world *w = *state;
	char names[NODES][8];
	mtc_of_all(w);
	uint64_t id = submit_flow(w, 1, "=1,0,0,0,0,2\n");
	tick(w, 1000);
	assert_int_equal(n_with(w, id, 0, names), 2);
	struct phx_event gone = {.kind = PHX_EV_missing};
	PHX_STR_SET(gone.node, names[0]);
	assert_int_equal(world_apply(w, &gone, NULL), 0);
	tick(w, timeout_on(w, names[0]) + 200000);
	assert_int_equal(run_of(w, id)->n_running, 1); /* the other may run still */
	struct phx_list l = on(w, names[1]);
	assert_true(PHX_LIST_AT(&l, struct phx_task_given, 0)->ends);
	phx_list_fini(&l);
	end_on(w, names[1], PHX_TASK_CANCELLED, 0);
	tick(w, 1000);
	settle(w);
	tick(w, 1000);
	assert_int_equal(run_of(w, id)->n_losses, 1);
	assert_int_equal(run_of(w, id)->n_failed, 0);
	assert_int_equal(n_with(w, id, 0, NULL), 2);
	finish(w, id);
}

/* An answer of a node that does not have it, of another attempt, or again counts for nothing. */
static void answers_count_once(void **state)
{
	struct world *w = *state;
	char names[NODES][8];
	mtc_of_all(w);
	uint64_t id = submit_flow(w, 1, "=1,0,0,9,0,2\n");
	tick(w, 1000);
	assert_int_equal(n_with(w, id, 0, names), 2);
	struct phx_list l = on(w, names[0]);
	struct phx_task_given g = *PHX_LIST_AT(&l, struct phx_task_given, 0), old = g;
	struct phx_event ev = {.kind = PHX_EV_task_results}, other = ev, past = ev;
	phx_list_fini(&l);
	old.attempt = 0;
	PHX_STR_SET(ev.node, names[0]);
	PHX_STR_SET(past.node, names[0]);
	for (unsigned i = 1; i <= NODES && !other.node[0]; i++) {
		char name[8];
		snprintf(name, sizeof(name), "n%u", i);
		if (strcmp(name, names[0]) && strcmp(name, names[1]))
			PHX_STR_SET(other.node, name);
	}
	push_row(&ev, &g, PHX_TASK_EXITED, 0);
	push_row(&ev, &g, PHX_TASK_EXITED, 0);
	push_row(&other, &g, PHX_TASK_EXITED, 0);
	push_row(&past, &old, PHX_TASK_EXITED, 0);
	uint64_t seq = w->s.seq;
	assert_int_equal(world_apply(w, &other, NULL), 0);
	assert_int_equal(world_apply(w, &past, NULL), 0);
	assert_int_equal(w->s.seq, seq);
	assert_int_equal(world_apply(w, &ev, NULL), 0);
	assert_int_equal(run_of(w, id)->n_running, 1);
	assert_int_equal(n_with(w, id, 0, NULL), 1);
	phx_event_fini(&ev);
	phx_event_fini(&other);
	phx_event_fini(&past);
	finish(w, id);
}

/* Held before it has its nodes: its worker is taken back. Cancelled: all its nodes are told. */
static void held_and_cancelled(void **state)
{
	struct world *w = *state;
	char names[NODES][8];
	mtc_of_all(w);
	uint64_t small = submit_flow(w, 40, "=1,0,0,0,0\n*39\n");
	tick(w, 1000);
	uint64_t id = submit_flow(w, 1, "=1,0,0,0,0,4\n");
	assert_int_equal(run_of(w, id)->n_running, 0);
	assert_int_equal(order(w, PHX_EV_workflow_hold, id), 0);
	for (unsigned i = 0; i < 5; i++) {
		end_everywhere(w, PHX_TASK_EXITED, 0);
		tick(w, 1000);
	}
	assert_int_equal(run_of(w, id)->n_runs, 0);
	finish(w, small);
	assert_int_equal(order(w, PHX_EV_workflow_release, id), 0);
	tick(w, 100000);
	tick(w, 1000);
	assert_int_equal(n_with(w, id, 0, names), 4);
	assert_int_equal(order(w, PHX_EV_workflow_cancel, id), 0);
	for (unsigned i = 0; i < 4; i++) {
		struct phx_list l = on(w, names[i]);
		assert_true(PHX_LIST_AT(&l, struct phx_task_given, 0)->ends);
		phx_list_fini(&l);
		end_on(w, names[i], PHX_TASK_CANCELLED, 0);
	}
	assert_int_equal(run_of(w, id)->status, PHX_FLOW_CANCELLED);
	assert_int_equal(order(w, PHX_EV_workflow_resume, id), 0);
	tick(w, 1000);
	finish(w, id);
}

/* More nodes than the RE can have: it would wait for ever. */
static void too_many(void **state)
{
	struct world *w = *state;
	struct phx_outcome out = {0};
	mtc_of_all(w);
	assert_int_equal(submit_as(w, "mtc", 1000, 2, "=1,0,0,0,0\n=1,0,0,0,0,60000\n", &out),
			 -E2BIG);
	assert_non_null(strstr(w->err.text, "task 2 wants 60000 nodes"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(whole_nodes),
		TEST(small_ones_give_way),
		TEST(first_come_first_served),
		TEST(one_fails),
		TEST(one_is_lost),
		TEST(answers_count_once),
		TEST(held_and_cancelled),
		TEST(too_many),
	};
#undef TEST
	return cmocka_run_group_tests(tests, NULL, NULL);
}
