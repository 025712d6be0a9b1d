/* Waits until no job of this node runs, and ends jobs that take too long; or until the head knows
 * all ends: see jobs.h. Called by the steps drain and scratch. */
#include "agent/jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "agent/job_keeper.h"
#include "agent/jobs_internal.h"

/* How many jobs run, and the longest time that one of them may take to end. Called by whoever has
 * the jobs. */
static uint32_t count_running(struct jobs *j, int64_t *ret_goodbye_ms)
{
	uint32_t n = j->n_telling;
	*ret_goodbye_ms = 0;
	PHX_LIST_EACH(struct running, r, &j->list) {
		n += !r->ended;
		if (!r->ended && r->goodbye_ms > *ret_goodbye_ms)
			*ret_goodbye_ms = r->goodbye_ms;
	}
	return n;
}

/* The same of runs that go on, or whose end the head does not know. */
static uint32_t count_untold(struct jobs *j, int64_t *ret_goodbye_ms)
{
	*ret_goodbye_ms = 0;
	return j->list.n;
}

/* Waits for news. Asks whether to give up while the loop is held, so that no news can be missed in
 * between. */
static bool wait_news(struct jobs *j, int64_t due_ms, const struct jobs_until *until)
{
	loop_hold(j->loop);
	bool given_up = until->cancelled(until->arg);
	loop_give(j->loop, &j->busy);
	if (!given_up)
		loop_wait(j->loop, due_ms);
	loop_release(j->loop);
	loop_take(j->loop, &j->busy);
	return given_up;
}

typedef uint32_t (*count_fn)(struct jobs *j, int64_t *ret_goodbye_ms);

/* Called by whoever has the jobs. */
static int wait_none(struct jobs *j, count_fn count, int64_t timeout_ms,
		     const struct jobs_until *until)
{
	int64_t now = phx_clock_ms(), end = now + timeout_ms, goodbye_ms;
	for (; count(j, &goodbye_ms); now = phx_clock_ms()) {
		if (now >= end)
			return until->cancelled(until->arg) ? -ECANCELED : -ETIMEDOUT;
		if (wait_news(j, until->due_ms > now && until->due_ms < end ? until->due_ms : end,
			      until))
			return -ECANCELED;
	}
	return 0;
}

int jobs_drain(struct jobs *j, uint32_t grace_ms, const struct jobs_until *until,
	       struct phx_err *err)
{
	int64_t goodbye_ms;
	LOOP_TAKEN(j->loop, &j->busy);
	int r = wait_none(j, count_running, grace_ms, until);
	if (r == -ETIMEDOUT) {
		count_running(j, &goodbye_ms);
		PHX_LIST_EACH(struct running, run, &j->list)
			if (!run->ended)
				jobs_tell_keeper(j, run, JOB_SIGNAL_RETURN);
		r = wait_none(j, count_running, goodbye_ms + JOB_DIE_MS, until);
	}
	return r < 0 ? phx_err_set(err, r, "jobs: %s",
				   r == -ETIMEDOUT ? "some processes do not end" : strerror(-r))
		     : 0;
}

int jobs_await_told(struct jobs *j, const struct jobs_until *until, struct phx_err *err)
{
	LOOP_TAKEN(j->loop, &j->busy);
	int r = wait_none(j, count_untold, until->due_ms - phx_clock_ms(), until);
	if (r == 0)
		return 0;
	const struct running *first = j->list.n ? PHX_LIST_AT(&j->list, struct running, 0) : NULL;
	return phx_err_set(err, r, "job %" PRIu64 " runs, or its end is not told yet",
			   first ? first->run.id : 0);
}
