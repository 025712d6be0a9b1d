/* The calls of a manager, their errors, and what must hold for very many jobs. What is decided is
 * in random.c and in tests/golden/batch.txt. */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "batch/batch.h"

static struct phx_batch *make(int scheduler, uint32_t nodes)
{
	struct phx_batch_config config = {.scheduler = scheduler};
	struct phx_batch *b = NULL;
	assert_int_equal(phx_batch_new(&config, &b), 0);
	phx_batch_give(b, nodes);
	return b;
}

static struct phx_batch_job job(uint64_t id, uint32_t size)
{
	return (struct phx_batch_job){.id = id, .size = size, .estimate_ms = 1000};
}

/* Passes at `now`; returns how many started. */
static uint32_t pass(struct phx_batch *b, int64_t now)
{
	PHX_AUTO(phx_list_fini) struct phx_list ids = {0};
	assert_int_equal(phx_batch_pass(b, now, &ids), 0);
	return ids.n;
}

static int state_of(const struct phx_batch *b, uint64_t id)
{
	const struct phx_batch_job *j = phx_batch_job(b, id);
	return j ? j->state : -1;
}

static void tables_have_names_and_texts(void **state)
{
	struct phx_err err = {0};
	int v = 0;
	(void)state;
	assert_int_equal(phx_scheduler_names.n_names, PHX_SCHEDULER_COUNT_);
	assert_int_equal(phx_kill_order_names.n_names, PHX_KILL_ORDER_COUNT_);
	for (int i = 0; i < PHX_KILL_ORDER_COUNT_; i++)
		assert_true(strlen(phx_kill_order_text((enum phx_kill_order)i)) > 20);
	assert_int_equal(phx_enum_parse(&phx_scheduler_names, "easy", &v, &err), 0);
	assert_int_equal(v, PHX_SCHEDULER_easy);
	assert_int_equal(phx_enum_parse(&phx_scheduler_names, "fifo", &v, &err), -EINVAL);
	assert_string_equal(err.text,
			    "'fifo' is no scheduler; there are: first-fit, fcfs, sjf, easy");
	/* the default of a zeroed configuration */
	assert_int_equal(PHX_KILL_ORDER_smallest_latest, 0);
}

static void jobs_that_others_start(void **state)
{
	struct phx_batch_config config = {.external = true};
	struct phx_batch *b = NULL, *ours = make(PHX_SCHEDULER_first_fit, 4);
	struct phx_batch_job one = job(1, 2), two = job(2, 3);
	struct phx_batch_counts c;
	(void)state;
	assert_int_equal(phx_batch_new(&config, &b), 0);
	phx_batch_give(b, 4);
	assert_int_equal(phx_batch_submit(b, &one), 0);
	assert_int_equal(phx_batch_submit(b, &two), 0);
	assert_int_equal(phx_batch_submit(ours, &one), 0);
	assert_int_equal(pass(b, 10), 0);
	assert_int_equal(phx_batch_started(ours, 1, 2, 5), -EINVAL);
	assert_int_equal(phx_batch_started(b, 3, 2, 5), -ENOENT);
	assert_int_equal(phx_batch_started(b, 1, 0, 5), -EINVAL);
	assert_int_equal(phx_batch_started(b, 1, 5, 5), -ENOSPC);
	assert_int_equal(phx_batch_started(b, 1, 3, 5), 0); /* on more nodes than it had to have */
	assert_int_equal(phx_batch_started(b, 1, 3, 5), -EBUSY);
	assert_int_equal(phx_batch_job(b, 1)->start_ms, 5);
	phx_batch_counts(b, &c);
	assert_int_equal(c.busy, 3);
	assert_int_equal(c.idle, 1);
	assert_int_equal(c.waiting_nodes, 3);
	assert_int_equal(phx_batch_ended(b, 1), 0);
	phx_batch_counts(b, &c);
	assert_int_equal(c.idle, 4);
	assert_int_equal(pass(b, 20), 0);
	phx_batch_free(b);
	phx_batch_free(ours);
}

static void only_what_is_configured(void **state)
{
	static const struct phx_batch_config bad[] = {{.scheduler = -1},
						      {.scheduler = PHX_SCHEDULER_COUNT_},
						      {.kill_order = -1},
						      {.kill_order = PHX_KILL_ORDER_COUNT_}};
	struct phx_batch *b = NULL;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		assert_int_equal(phx_batch_new(&bad[i], &b), -EINVAL);
	assert_null(b);
	phx_batch_free(NULL);
}

static void submit_sets_what_is_the_managers(void **state)
{
	struct phx_batch *b = make(PHX_SCHEDULER_first_fit, 4);
	struct phx_batch_job j = job(7, 2);
	(void)state;
	j.start_ms = 99;
	j.kills = 3;
	j.lost = 1;
	assert_int_equal(phx_batch_submit(b, &j), 0);
	const struct phx_batch_job *have = phx_batch_job(b, 7);
	assert_non_null(have);
	assert_int_equal(have->start_ms, 0);
	assert_int_equal(have->kills, 0);
	assert_int_equal(have->lost, 0);
	assert_int_equal(have->state, PHX_BATCH_WAITING);
	assert_int_equal(phx_batch_submit(b, &j), -EEXIST);
	j = job(8, 0);
	assert_int_equal(phx_batch_submit(b, &j), -EINVAL);
	j = job(8, 1);
	j.state = PHX_BATCH_RUNNING;
	assert_int_equal(phx_batch_submit(b, &j), -EINVAL);
	j.state = PHX_BATCH_KILLING;
	assert_int_equal(phx_batch_submit(b, &j), -EINVAL);
	assert_null(phx_batch_job(b, 8));
	phx_batch_free(b);
}

static void unknown_jobs_are_not_found(void **state)
{
	struct phx_batch *b = make(PHX_SCHEDULER_fcfs, 4);
	static int (*const calls[])(struct phx_batch *, uint64_t) = {
		phx_batch_unblock, phx_batch_hold, phx_batch_unhold, phx_batch_cancel,
		phx_batch_ended,   phx_batch_kill, phx_batch_killed};
	(void)state;
	for (int round = 0; round < 2; round++) { /* with no table of jobs yet, and with one */
		for (size_t i = 0; i < PHX_ARRAY_SIZE(calls); i++)
			assert_int_equal(calls[i](b, 5), -ENOENT);
		assert_int_equal(phx_batch_lose_busy(b, 5, 1), -ENOENT);
		assert_null(phx_batch_job(b, 5));
		struct phx_batch_job j = job(6, 1);
		assert_int_equal(phx_batch_submit(b, &j), round ? -EEXIST : 0);
	}
	phx_batch_free(b);
}

static void calls_that_do_not_fit_the_state_change_nothing(void **state)
{
	struct phx_batch *b = make(PHX_SCHEDULER_easy, 4);
	struct phx_batch_job w = job(1, 5), r = job(2, 2);
	struct phx_batch_counts before, after;
	(void)state;
	w.submit_ms = 1;
	assert_int_equal(phx_batch_submit(b, &w), 0);
	assert_int_equal(phx_batch_submit(b, &r), 0);
	assert_int_equal(pass(b, 10), 1);
	phx_batch_counts(b, &before);
	/* 1 waits */
	assert_int_equal(phx_batch_unblock(b, 1), -EINVAL);
	assert_int_equal(phx_batch_ended(b, 1), -EINVAL);
	assert_int_equal(phx_batch_kill(b, 1), -EINVAL);
	assert_int_equal(phx_batch_killed(b, 1), -EINVAL);
	assert_int_equal(phx_batch_lose_busy(b, 1, 1), -EINVAL);
	assert_int_equal(phx_batch_unhold(b, 1), 0);
	/* 2 runs */
	assert_int_equal(phx_batch_hold(b, 2), -EBUSY);
	assert_int_equal(phx_batch_cancel(b, 2), -EBUSY);
	assert_int_equal(phx_batch_unblock(b, 2), -EINVAL);
	assert_int_equal(phx_batch_killed(b, 2), -EINVAL); /* nobody told it to end */
	assert_int_equal(phx_batch_lose_busy(b, 2, 3), -EINVAL);
	assert_int_equal(phx_batch_unhold(b, 2), 0);
	assert_int_equal(phx_batch_take(b, 3), -ENOSPC);
	phx_batch_counts(b, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	/* and while it is killed */
	assert_int_equal(phx_batch_kill(b, 2), 0);
	assert_int_equal(phx_batch_kill(b, 2), 0);
	assert_int_equal(phx_batch_hold(b, 2), -EBUSY);
	assert_int_equal(phx_batch_cancel(b, 2), -EBUSY);
	assert_int_equal(state_of(b, 2), PHX_BATCH_KILLING);
	phx_batch_free(b);
}

static void restore_takes_only_what_could_have_been_saved(void **state)
{
	static const struct phx_batch_job bad[] = {
		{.id = 1, .size = 0, .state = PHX_BATCH_WAITING},
		{.id = 1, .size = 1, .state = -1},
		{.id = 1, .size = 1, .state = PHX_BATCH_KILLING + 1},
		{.id = 1, .size = 1, .state = PHX_BATCH_BLOCKED},
		{.id = 1, .size = 1, .state = PHX_BATCH_WAITING, .waits_for = 1},
		{.id = 1, .size = 1, .state = PHX_BATCH_RUNNING, .waits_for = 1},
		{.id = 1, .size = 1, .state = PHX_BATCH_WAITING, .lost = 1},
		{.id = 1, .size = 1, .state = PHX_BATCH_RUNNING, .lost = 2},
	};
	struct phx_batch *b = make(PHX_SCHEDULER_easy, 0);
	struct phx_batch_job j = {.id = 1,
				  .size = 3,
				  .lost = 1,
				  .kills = 2,
				  .state = PHX_BATCH_RUNNING,
				  .start_ms = 5};
	struct phx_batch_counts c;
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++)
		assert_int_equal(phx_batch_restore(b, &bad[i]), -EINVAL);
	assert_null(phx_batch_job(b, 1));
	assert_int_equal(phx_batch_restore(b, &j), 0);
	assert_int_equal(phx_batch_restore(b, &j), -EEXIST);
	assert_true(phx_record_equal(&phx_batch_job_record, phx_batch_job(b, 1), &j));
	phx_batch_counts(b, &c);
	assert_int_equal(c.busy, 2);
	assert_int_equal(c.idle, 0);
	phx_batch_free(b);
}

static void a_pass_is_due_when_something_changed(void **state)
{
	struct phx_batch *b = make(PHX_SCHEDULER_fcfs, 2);
	struct phx_batch_job j = job(1, 2), k = job(2, 1);
	(void)state;
	assert_true(phx_batch_pass_due(b)); /* nodes came */
	assert_int_equal(pass(b, 0), 0);
	assert_false(phx_batch_pass_due(b));
	assert_int_equal(phx_batch_submit(b, &j), 0);
	assert_true(phx_batch_pass_due(b));
	assert_int_equal(pass(b, 0), 1);
	assert_int_equal(phx_batch_submit(b, &k), 0);
	assert_int_equal(pass(b, 0), 0);
	assert_false(phx_batch_pass_due(b));
	assert_int_equal(phx_batch_kill(b, 1), 0);
	assert_int_equal(pass(b, 0), 0);
	assert_int_equal(phx_batch_killed(b, 1), 1);
	assert_true(phx_batch_pass_due(b));
	phx_batch_free(b);
}

static void extremes_do_not_overflow(void **state)
{
	(void)state;
	for (int s = 0; s < PHX_SCHEDULER_COUNT_; s++) {
		struct phx_batch *b = make(s, UINT32_MAX);
		struct phx_batch_job first = job(UINT64_MAX, UINT32_MAX - 1),
				     second = job(0, UINT32_MAX), third = job(1, 1);
		first.submit_ms = INT64_MIN;
		first.estimate_ms = second.estimate_ms = INT64_MAX;
		third.submit_ms = INT64_MAX;
		assert_int_equal(phx_batch_submit(b, &first), 0);
		assert_int_equal(pass(b, INT64_MAX - 1), 1);
		assert_int_equal(phx_batch_submit(b, &second), 0);
		assert_int_equal(phx_batch_submit(b, &third), 0);
		/* the third fits beside; behind the second only where it may pass it */
		bool starts = s == PHX_SCHEDULER_first_fit || s == PHX_SCHEDULER_sjf ||
			s == PHX_SCHEDULER_easy;
		assert_int_equal(pass(b, INT64_MIN), starts);
		phx_batch_free(b);
	}
}

/* Every state and field survives a list of jobs, in order of id. */
static void jobs_are_listed_by_id(void **state)
{
	struct phx_batch *b = make(PHX_SCHEDULER_sjf, 3);
	PHX_AUTO(phx_list_fini) struct phx_list jobs = {0};
	(void)state;
	assert_int_equal(phx_batch_jobs(b, &jobs), 0);
	assert_int_equal(jobs.n, 0);
	for (uint64_t i = 0; i < 100; i++) {
		struct phx_batch_job j = job((i * 37) % 101, 1 + (uint32_t)i % 3);
		j.waits_for = i % 7 == 0;
		j.state = i % 5 ? PHX_BATCH_WAITING : PHX_BATCH_HELD;
		assert_int_equal(phx_batch_submit(b, &j), 0);
	}
	assert_true(pass(b, 5) > 0);
	phx_list_push(&jobs, sizeof(struct phx_batch_job)); /* it appends */
	assert_int_equal(phx_batch_jobs(b, &jobs), 0);
	assert_int_equal(jobs.n, 101);
	for (uint32_t i = 2; i < jobs.n; i++)
		assert_true(PHX_LIST_AT(&jobs, struct phx_batch_job, i - 1)->id <
			    PHX_LIST_AT(&jobs, struct phx_batch_job, i)->id);
	phx_batch_free(b);
}

/* What is gone costs nothing: memory stays while 300,000 jobs come and go. */
static void memory_is_used_again(void **state)
{
	struct phx_batch *b = make(PHX_SCHEDULER_easy, 10);
	size_t at_first = 0;
	(void)state;
	for (uint64_t id = 1; id <= 300000; id++) {
		struct phx_batch_job j = job(id * 1000003, 1);
		assert_int_equal(phx_batch_submit(b, &j), 0);
		assert_int_equal(pass(b, (int64_t)id), 1);
		assert_int_equal(phx_batch_ended(b, j.id), 0);
		if (id == 1000)
			at_first = mallinfo2().uordblks;
	}
	assert_int_equal(mallinfo2().uordblks, at_first);
	phx_batch_free(b);
}

/* A queue of a trace's length, in the worst order for a plain tree, and in time. */
static void a_long_queue_is_no_burden(void **state)
{
	struct phx_batch *b = make(PHX_SCHEDULER_sjf, 1);
	struct phx_batch_counts c;
	const uint64_t n = 243306;
	(void)state;
	for (uint64_t id = 1; id <= n; id++) {
		struct phx_batch_job j = job(id, 1);
		j.estimate_ms = (int64_t)(n - id);
		assert_int_equal(phx_batch_submit(b, &j), 0);
	}
	phx_batch_counts(b, &c);
	assert_int_equal(c.n_waiting, n);
	for (uint64_t id = n; id >= 1; id--) {
		assert_int_equal(pass(b, 0), 1);
		/* -ENOENT or -EINVAL were another chosen */
		assert_int_equal(phx_batch_ended(b, id), 0);
	}
	phx_batch_counts(b, &c);
	assert_int_equal(c.n_waiting + c.n_running, 0);
	assert_int_equal(c.idle, 1);
	phx_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_have_names_and_texts),
		cmocka_unit_test(jobs_that_others_start),
		cmocka_unit_test(only_what_is_configured),
		cmocka_unit_test(submit_sets_what_is_the_managers),
		cmocka_unit_test(unknown_jobs_are_not_found),
		cmocka_unit_test(calls_that_do_not_fit_the_state_change_nothing),
		cmocka_unit_test(restore_takes_only_what_could_have_been_saved),
		cmocka_unit_test(a_pass_is_due_when_something_changed),
		cmocka_unit_test(extremes_do_not_overflow),
		cmocka_unit_test(jobs_are_listed_by_id),
		cmocka_unit_test(memory_is_used_again),
		cmocka_unit_test(a_long_queue_is_no_burden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
