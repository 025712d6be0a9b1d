/* Every scheduler and kill order against naive.h, over random lives of jobs and nodes; and a
 * manager put back from its records, in shuffled order and at any moment, against itself.
 * PHX_TEST_SEED repeats one seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "unit/batch/naive.h"

#define SEEDS 40
#define STEPS 600

struct world {
	struct phx_batch *b;
	struct naive *naive;
	uint64_t random, next_id;
	int64_t now;
	uint64_t n_started, n_killed, n_restored;
};

static uint64_t draw(struct world *w, uint64_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (w->random >> 11) % below;
}

static void *must(void *p)
{
	assert_non_null(p);
	return p;
}

/* A job of one of the states, 0 when none is met by chance. */
static uint64_t draw_job(struct world *w, int state)
{
	for (int i = 0; w->naive->n && i < 20; i++) {
		const struct phx_batch_job *j = &w->naive->jobs[draw(w, w->naive->n)];
		if (j->state == state)
			return j->id;
	}
	return 0;
}

static void submit(struct world *w)
{
	/* ids not in order of submission, submissions not in order of time, few different values:
	 * ties */
	struct phx_batch_job j = {.id = (w->next_id++ * 7919) % 10007 + 1,
				  .submit_ms = w->now / 50 * 50 - (draw(w, 10) ? 0 : 100),
				  .size = (uint32_t)(1 + draw(w, draw(w, 5) ? 6 : 24)),
				  .estimate_ms = draw(w, 6) ? (int64_t)draw(w, 12) * 25 : -1,
				  .waits_for = draw(w, 8) ? 0 : (uint32_t)draw(w, 3),
				  .no_requeue = !draw(w, 4)};
	if (!draw(w, 12))
		j.state = PHX_BATCH_HELD;
	if (w->naive->n == NAIVE_MAX || naive_job(w->naive, j.id))
		return;
	assert_int_equal(phx_batch_submit(w->b, &j), 0);
	if (j.state != PHX_BATCH_HELD)
		j.state = j.waits_for ? PHX_BATCH_BLOCKED : PHX_BATCH_WAITING;
	w->naive->jobs[w->naive->n++] = j;
}

static void end(struct world *w)
{
	uint64_t id = draw_job(w, draw(w, 5) ? PHX_BATCH_RUNNING : PHX_BATCH_KILLING);
	struct phx_batch_job *j = id ? naive_job(w->naive, id) : NULL;
	if (!j)
		return;
	assert_int_equal(phx_batch_ended(w->b, id), 0);
	w->naive->idle += j->size - j->lost;
	naive_drop(w->naive, j);
}

static void kill_some(struct world *w)
{
	PHX_AUTO(phx_list_fini) struct phx_list ids = {0};
	uint64_t want[NAIVE_MAX];
	uint32_t nodes = (uint32_t)draw(w, 12);
	uint32_t n = naive_victims(w->naive, nodes, want),
		 sum = phx_batch_victims(w->b, nodes, &ids);
	assert_int_equal(ids.n, n);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = *PHX_LIST_AT(&ids, uint64_t, i);
		struct phx_batch_job *j = naive_job(w->naive, want[i]);
		assert_int_equal(id, want[i]);
		assert_int_equal(phx_batch_kill(w->b, id), 0);
		j->state = PHX_BATCH_KILLING;
		sum -= j->size - j->lost;
		w->n_killed++;
	}
	assert_int_equal(sum, 0);
}

static void killed(struct world *w)
{
	uint64_t id = draw_job(w, PHX_BATCH_KILLING);
	struct phx_batch_job *j = id ? naive_job(w->naive, id) : NULL;
	if (!j)
		return;
	assert_int_equal(phx_batch_killed(w->b, id), !j->no_requeue);
	w->naive->idle += j->size - j->lost;
	if (j->no_requeue) {
		naive_drop(w->naive, j);
		return;
	}
	j->state = PHX_BATCH_WAITING;
	j->start_ms = j->lost = 0;
	j->kills++;
}

static void hold_or_not(struct world *w)
{
	static const int states[] = {PHX_BATCH_WAITING, PHX_BATCH_HELD, PHX_BATCH_BLOCKED,
				     PHX_BATCH_HELD};
	uint64_t pick = draw(w, 4), id = draw_job(w, states[pick]);
	struct phx_batch_job *j = id ? naive_job(w->naive, id) : NULL;
	if (!j)
		return;
	if (pick % 2 == 0) {
		assert_int_equal(phx_batch_hold(w->b, id), 0);
		j->state = PHX_BATCH_HELD;
	} else {
		assert_int_equal(phx_batch_unhold(w->b, id), 0);
		j->state = j->waits_for ? PHX_BATCH_BLOCKED : PHX_BATCH_WAITING;
	}
}

static void unblock(struct world *w)
{
	uint64_t id = draw_job(w, draw(w, 3) ? PHX_BATCH_BLOCKED : PHX_BATCH_HELD);
	struct phx_batch_job *j = id ? naive_job(w->naive, id) : NULL;
	if (!j || !j->waits_for)
		return;
	assert_int_equal(phx_batch_unblock(w->b, id), 0);
	if (!--j->waits_for && j->state == PHX_BATCH_BLOCKED)
		j->state = PHX_BATCH_WAITING;
}

static void cancel(struct world *w)
{
	uint64_t id = draw_job(w, (int)draw(w, 3));
	if (!id)
		return;
	assert_int_equal(phx_batch_cancel(w->b, id), 0);
	naive_drop(w->naive, naive_job(w->naive, id));
}

static void lose(struct world *w)
{
	uint64_t id = draw_job(w, draw(w, 2) ? PHX_BATCH_RUNNING : PHX_BATCH_KILLING);
	struct phx_batch_job *j = id ? naive_job(w->naive, id) : NULL;
	if (!j || draw(w, 3))
		return;
	uint32_t nodes = (uint32_t)draw(w, j->size - j->lost + 1);
	assert_int_equal(phx_batch_lose_busy(w->b, id, nodes), 0);
	j->lost += nodes;
}

static void nodes_move(struct world *w)
{
	uint32_t n = (uint32_t)draw(w, 8);
	if (draw(w, 5) > 1 && w->naive->idle < 60) {
		phx_batch_give(w->b, n);
		w->naive->idle += n;
	} else if (n <= w->naive->idle) {
		assert_int_equal(phx_batch_take(w->b, n), 0);
		w->naive->idle -= n;
	}
}

/* The manager is put back from its records, shuffled. */
static void restore(struct world *w)
{
	PHX_AUTO(phx_list_fini) struct phx_list jobs = {0};
	struct phx_batch_counts counts;
	assert_int_equal(phx_batch_jobs(w->b, &jobs), 0);
	assert_int_equal(jobs.n, w->naive->n);
	phx_batch_counts(w->b, &counts);
	phx_batch_free(w->b);
	assert_int_equal(phx_batch_new(&w->naive->config, &w->b), 0);
	phx_batch_give(w->b, counts.idle);
	for (uint32_t left = jobs.n; left; left--) {
		struct phx_batch_job *j = PHX_LIST_AT(&jobs, struct phx_batch_job, draw(w, left));
		assert_int_equal(phx_batch_restore(w->b, j), 0);
		*j = *PHX_LIST_AT(&jobs, struct phx_batch_job, left - 1);
	}
	w->n_restored++;
}

static void pass(struct world *w)
{
	PHX_AUTO(phx_list_fini) struct phx_list ids = {0};
	uint64_t want[NAIVE_MAX];
	uint32_t n = naive_pass(w->naive, w->now, want);
	assert_int_equal(phx_batch_pass(w->b, w->now, &ids), 0);
	assert_int_equal(ids.n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(*PHX_LIST_AT(&ids, uint64_t, i), want[i]);
	w->n_started += n;
	/* nothing changed: neither now nor later may anything start */
	assert_false(phx_batch_pass_due(w->b));
	assert_int_equal(phx_batch_pass(w->b, w->now + (int64_t)draw(w, 400), &ids), 0);
	assert_int_equal(ids.n, n);
}

static void compare(struct world *w)
{
	PHX_AUTO(phx_list_fini) struct phx_list jobs = {0};
	struct phx_batch_counts have, want;
	phx_batch_counts(w->b, &have);
	naive_counts(w->naive, &want);
	assert_memory_equal(&have, &want, sizeof(have));
	assert_int_equal(phx_batch_jobs(w->b, &jobs), 0);
	assert_int_equal(jobs.n, w->naive->n);
	for (uint32_t i = 0; i < jobs.n; i++) {
		struct phx_batch_job *j = PHX_LIST_AT(&jobs, struct phx_batch_job, i);
		assert_true(i == 0 || j[-1].id < j->id);
		assert_true(phx_record_equal(&phx_batch_job_record, j,
					     must(naive_job(w->naive, j->id))));
		assert_true(phx_record_equal(&phx_batch_job_record, j,
					     must((void *)phx_batch_job(w->b, j->id))));
	}
}

static void live(struct world *w, int steps)
{
	static void (*const acts[])(struct world *) = {
		submit, submit, submit, submit,      submit,     submit,  end,  end,    end,   end,
		end,    killed, killed, hold_or_not, nodes_move, unblock, lose, cancel, cancel};
	for (int i = 0; i < steps; i++) {
		acts[draw(w, PHX_ARRAY_SIZE(acts))](w);
		if (!draw(w, 20))
			kill_some(w);
		if (!draw(w, 25))
			restore(w);
		if (draw(w, 3))
			continue;
		w->now += (int64_t)draw(w, 20);
		pass(w);
		compare(w);
	}
}

static void run_seed(uint64_t seed, int scheduler, int kill_order, uint64_t *ret_started,
		     uint64_t *ret_killed)
{
	PHX_AUTO_FREE struct naive *naive = must(calloc(1, sizeof(*naive)));
	struct world w = {.naive = naive, .random = seed * 0x9e3779b97f4a7c15u + 1, .next_id = 1};
	naive->config = (struct phx_batch_config){.scheduler = scheduler, .kill_order = kill_order};
	assert_int_equal(phx_batch_new(&naive->config, &w.b), 0);
	phx_batch_give(w.b, naive->idle = 40);
	live(&w, STEPS);
	phx_batch_free(w.b);
	assert_true(w.n_restored > 0);
	*ret_started += w.n_started;
	*ret_killed += w.n_killed;
}

/* Where a failure happened. */
struct last_run {
	int scheduler, kill_order;
	uint64_t seed;
};

static void decides_as_the_naive_one(void **state)
{
	const char *one = getenv("PHX_TEST_SEED");
	uint64_t first = one ? strtoull(one, NULL, 10) : 1, last = one ? first : SEEDS;
	struct last_run *at = *state;
	for (int s = 0; s < PHX_SCHEDULER_COUNT_; s++)
		for (int k = 0; k < PHX_KILL_ORDER_COUNT_; k++) {
			uint64_t started = 0, n_killed = 0;
			for (uint64_t seed = first; seed <= last; seed++) {
				*at = (struct last_run){s, k, seed};
				run_seed(seed, s, k, &started, &n_killed);
			}
			assert_true(one || (started > 2500 && n_killed > 1000));
		}
}

static int say_last(void **state)
{
	const struct last_run *at = *state;
	print_message(
		"last run: %s, %s, seed %llu\n", phx_enum_name(&phx_scheduler_names, at->scheduler),
		phx_enum_name(&phx_kill_order_names, at->kill_order), (unsigned long long)at->seed);
	return 0;
}

int main(void)
{
	struct last_run at = {0};
	const struct CMUnitTest tests[] = {cmocka_unit_test_prestate_setup_teardown(
		decides_as_the_naive_one, NULL, say_last, &at)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
