/* Waits until no job of this node runs, and ends jobs that take too long: see jobs.h. Called by the
 * step drain, and at the agent's end. */
#include "agent/jobs.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "agent/job_keeper.h"
#include "agent/jobs_internal.h"

/* How many jobs run, and the longest time that one of them may take to end. Called with the lock.
 */
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

/* Called with the lock. */
static int wait_none(struct jobs *j, int64_t timeout_ms, const struct jobs_until *until)
{
	int64_t now = phx_clock_ms(), end = now + timeout_ms, goodbye_ms;
	while (count_running(j, &goodbye_ms)) {
		if (until->cancelled(until->arg))
			return -ECANCELED;
		if (now >= end)
			return -ETIMEDOUT;
		phx_cond_until(&j->changed, &j->lock,
			       until->due_ms > now && until->due_ms < end ? until->due_ms : end);
		now = phx_clock_ms();
	}
	return 0;
}

void jobs_wake(struct jobs *j)
{
	pthread_mutex_lock(&j->lock);
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

int jobs_drain(struct jobs *j, uint32_t grace_ms, const struct jobs_until *until,
	       struct phx_err *err)
{
	int64_t goodbye_ms;
	pthread_mutex_lock(&j->lock);
	int r = wait_none(j, grace_ms, until);
	if (r == -ETIMEDOUT) {
		count_running(j, &goodbye_ms);
		PHX_LIST_EACH(struct running, run, &j->list)
			if (!run->ended)
				jobs_tell_keeper(j, run, JOB_SIGNAL_RETURN);
		r = wait_none(j, goodbye_ms + JOB_DIE_MS, until);
	}
	pthread_mutex_unlock(&j->lock);
	return r < 0 ? phx_err_set(err, r, "jobs: %s",
				   r == -ETIMEDOUT ? "some processes do not end" : strerror(-r))
		     : 0;
}
