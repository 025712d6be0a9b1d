/* FCFS without waiting: sharing worked by hand, rounds, what is refused, and work that is neither
 * lost nor won. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "batch/nowait.h"

static struct phx_nowait *w;
static struct phx_list told;

static int setup(void **state)
{
	(void)state;
	return phx_nowait_new(&w);
}

static int teardown(void **state)
{
	(void)state;
	phx_nowait_free(w);
	phx_list_fini(&told);
	return 0;
}

/* Submit and place; the node it got. */
static uint32_t place(uint64_t id, int64_t work_ms, int64_t now_ms)
{
	told.n = 0;
	assert_int_equal(phx_nowait_submit(w, id, work_ms), 0);
	assert_int_equal(phx_nowait_pass(w, now_ms, &told), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(PHX_LIST_AT(&told, struct phx_nowait_task, 0)->id, id);
	return PHX_LIST_AT(&told, struct phx_nowait_task, 0)->node;
}

/* The next end: when, and whose. */
static void expect_end(int64_t at_ms, uint64_t id)
{
	assert_int_equal(phx_nowait_next_ms(w), at_ms);
	told.n = 0;
	assert_int_equal(phx_nowait_ended(w, at_ms, &told), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(PHX_LIST_AT(&told, struct phx_nowait_task, 0)->id, id);
}

static void a_task_alone_takes_its_time(void **state)
{
	(void)state;
	assert_int_equal(phx_nowait_next_ms(w), INT64_MAX);
	assert_int_equal(phx_nowait_give(w, 0), 0);
	assert_int_equal(place(7, 47000, 1000), 0);
	assert_int_equal(phx_nowait_load(w, 0), 1);
	expect_end(48000, 7);
	assert_int_equal(phx_nowait_load(w, 0), 0);
	assert_int_equal(phx_nowait_next_ms(w), INT64_MAX);
}

/* One node. A: 10 s from 0. B: 4 s from 2. Together from 2: B needs 8 s, ends at 10; A has 2 + 4 s
 * done, 4 s left alone: ends at 14. */
static void two_share_a_node(void **state)
{
	(void)state;
	assert_int_equal(phx_nowait_give(w, 0), 0);
	place(1, 10000, 0);
	place(2, 4000, 2000);
	expect_end(10000, 2);
	expect_end(14000, 1);
}

/* Three from 0: 3 s, 6 s, 9 s at a third each: 9; then halves: 9 + 2 x 3 = 15; then alone: 18. */
static void three_share_a_node(void **state)
{
	(void)state;
	assert_int_equal(phx_nowait_give(w, 0), 0);
	place(1, 9000, 0);
	place(2, 3000, 0);
	place(3, 6000, 0);
	expect_end(9000, 2);
	expect_end(15000, 3);
	expect_end(18000, 1);
}

static void equal_tasks_end_together(void **state)
{
	(void)state;
	assert_int_equal(phx_nowait_give(w, 0), 0);
	for (uint64_t id = 1; id <= 3; id++)
		place(id, 1000, 0);
	told.n = 0;
	assert_int_equal(phx_nowait_next_ms(w), 3000);
	assert_int_equal(phx_nowait_ended(w, 2999, &told), 0);
	assert_int_equal(told.n, 0);
	assert_int_equal(phx_nowait_ended(w, 3000, &told), 0);
	assert_int_equal(told.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(PHX_LIST_AT(&told, struct phx_nowait_task, i)->id, i + 1);
}

/* A third of a millisecond is not lost: what is rounded down delays the end by less than one. */
static void odd_shares_round_up(void **state)
{
	(void)state;
	assert_int_equal(phx_nowait_give(w, 0), 0);
	place(1, 1, 0);
	place(2, 100, 0);
	place(3, 100, 0);
	expect_end(3, 1);
	assert_int_equal(phx_nowait_next_ms(w), 201);
}

static void free_nodes_first_then_the_round(void **state)
{
	(void)state;
	for (uint32_t node = 0; node < 3; node++)
		assert_int_equal(phx_nowait_give(w, node), 0);
	assert_int_equal(place(1, 9000, 0), 0);
	assert_int_equal(place(2, 1000, 0), 1);
	assert_int_equal(place(3, 9000, 0), 2);
	assert_int_equal(place(4, 9000, 0), 0);
	assert_int_equal(place(5, 9000, 0), 1);
	assert_int_equal(place(6, 9000, 0), 2);
	assert_int_equal(place(7, 9000, 0), 0);
	/* node 1: 1 s at one half */
	expect_end(2000, 2);
	assert_int_equal(place(8, 9000, 2000), 1);
	assert_int_equal(place(9, 9000, 2000), 2);
}

static void nodes_come_and_go(void **state)
{
	(void)state;
	assert_int_equal(phx_nowait_take(w, 0), -ENOENT);
	assert_int_equal(phx_nowait_give(w, 5), 0);
	assert_int_equal(phx_nowait_give(w, 5), -EEXIST);
	assert_int_equal(phx_nowait_take(w, 4), -ENOENT);
	place(1, 1000, 0);
	assert_int_equal(phx_nowait_take(w, 5), -EBUSY);
	expect_end(1000, 1);
	assert_int_equal(phx_nowait_take(w, 5), 0);
	assert_int_equal(phx_nowait_load(w, 5), 0);
	/* the round goes on where nodes are left */
	assert_int_equal(phx_nowait_give(w, 1), 0);
	assert_int_equal(phx_nowait_give(w, 3), 0);
	assert_int_equal(place(2, 1000, 1000), 1);
	assert_int_equal(place(3, 1000, 1000), 3);
	assert_int_equal(place(4, 1000, 1000), 1);
	assert_int_equal(place(5, 1000, 1000), 3);
}

static void without_a_node_tasks_stay(void **state)
{
	(void)state;
	for (uint64_t id = 0; id < 5; id++)
		assert_int_equal(phx_nowait_submit(w, id, 1000), 0);
	assert_int_equal(phx_nowait_pass(w, 0, &told), 0);
	assert_int_equal(told.n, 0);
	assert_int_equal(phx_nowait_unplaced(w), 5);
	assert_int_equal(phx_nowait_give(w, 0), 0);
	assert_int_equal(phx_nowait_give(w, 1), 0);
	assert_int_equal(phx_nowait_pass(w, 600, &told), 0);
	assert_int_equal(told.n, 5);
	assert_int_equal(phx_nowait_unplaced(w), 0);
	assert_int_equal(phx_nowait_load(w, 0), 3);
	assert_int_equal(phx_nowait_load(w, 1), 2);
	assert_int_equal(phx_nowait_next_ms(w), 2600);
}

static void odd_work_is_refused(void **state)
{
	(void)state;
	assert_int_equal(phx_nowait_submit(w, 1, -1), -EINVAL);
	assert_int_equal(phx_nowait_submit(w, 1, PHX_NOWAIT_WORK_MAX_MS + 1), -EINVAL);
	assert_int_equal(phx_nowait_unplaced(w), 0);
	assert_int_equal(phx_nowait_give(w, 0), 0);
	/* no work at all ends at once, the longest does not overflow when many share it */
	place(1, 0, 50);
	expect_end(50, 1);
	for (uint64_t id = 2; id < 2002; id++)
		place(id, PHX_NOWAIT_WORK_MAX_MS, 50);
	assert_int_equal(phx_nowait_next_ms(w), 50 + 2000 * PHX_NOWAIT_WORK_MAX_MS);
}

/* Random tasks on 7 nodes: every task ends, none before its work could be done, and a node that is
 * never idle has done all its work when its last task ends (within a millisecond an end). */
static void work_is_kept(void **state)
{
	enum { TASKS = 500, NODES = 7 };
	int64_t submit[TASKS], work[TASKS], now = 0;
	uint64_t seed = 7;
	bool ended[TASKS] = {false};
	uint32_t n_ended = 0, next = 0;
	(void)state;
	for (uint32_t node = 0; node < NODES; node++)
		assert_int_equal(phx_nowait_give(w, node), 0);
	for (uint32_t i = 0; i < TASKS; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		work[i] = (int64_t)((seed >> 40) % 90000);
		submit[i] = i ? submit[i - 1] + (int64_t)((seed >> 20) % 9000) : 0;
	}
	while (n_ended < TASKS) {
		int64_t end = phx_nowait_next_ms(w);
		now = next < TASKS && submit[next] < end ? submit[next] : end;
		told.n = 0;
		assert_int_equal(phx_nowait_ended(w, now, &told), 0);
		PHX_LIST_EACH(struct phx_nowait_task, t, &told) {
			assert_false(ended[t->id]);
			assert_true(now >= submit[t->id] + work[t->id]);
			ended[t->id] = true;
			n_ended++;
		}
		if (next < TASKS && submit[next] == now) {
			place(next, work[next], now);
			next++;
		}
	}
	for (uint32_t node = 0; node < NODES; node++)
		assert_int_equal(phx_nowait_take(w, node), 0);
}

/* Ends of many nodes at once are told by node, and what is left is told at its own time. */
static void ends_come_in_order(void **state)
{
	(void)state;
	for (uint32_t node = 0; node < 100; node++)
		assert_int_equal(phx_nowait_give(w, 99 - node), 0);
	for (uint64_t id = 0; id < 100; id++)
		assert_int_equal(place(id, 1000 * (int64_t)(1 + id % 3), 0), id);
	for (int64_t round = 0; round < 3; round++) {
		assert_int_equal(phx_nowait_next_ms(w), 1000 * (round + 1));
		told.n = 0;
		assert_int_equal(phx_nowait_ended(w, 1000 * (round + 1), &told), 0);
		assert_int_equal(told.n, round == 0 ? 34 : 33);
		for (uint32_t i = 0; i < told.n; i++) {
			assert_int_equal(PHX_LIST_AT(&told, struct phx_nowait_task, i)->node,
					 3 * i + (uint32_t)round);
			assert_int_equal(phx_nowait_take(w, 3 * i + (uint32_t)round), 0);
		}
	}
	assert_int_equal(phx_nowait_next_ms(w), INT64_MAX);
}

static void a_busy_node_wastes_nothing(void **state)
{
	int64_t sum = 0, last = 0;
	(void)state;
	assert_int_equal(phx_nowait_give(w, 0), 0);
	for (uint64_t id = 0; id < 100; id++) {
		int64_t work = (int64_t)(id * 7919 % 10007) + 1;
		sum += work;
		place(id, work, 0);
	}
	while (phx_nowait_load(w, 0)) {
		last = phx_nowait_next_ms(w);
		told.n = 0;
		assert_int_equal(phx_nowait_ended(w, last, &told), 0);
		assert_true(told.n > 0);
	}
	assert_in_range(last, sum, sum + 1);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_task_alone_takes_its_time), TEST(two_share_a_node),
		TEST(three_share_a_node),          TEST(equal_tasks_end_together),
		TEST(odd_shares_round_up),         TEST(free_nodes_first_then_the_round),
		TEST(nodes_come_and_go),           TEST(without_a_node_tasks_stay),
		TEST(odd_work_is_refused),         TEST(work_is_kept),
		TEST(ends_come_in_order),          TEST(a_busy_node_wastes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
