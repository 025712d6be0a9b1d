/* What a journal says of its state, its clock and its trouble: see journal.h. Changes no state. */
#include <errno.h>

#include "journal/internal.h"

const struct phx_state *phx_journal_lock(struct phx_journal *j)
{
	pthread_mutex_lock(&j->lock);
	return &j->state;
}

void phx_journal_unlock(struct phx_journal *j)
{
	pthread_mutex_unlock(&j->lock);
}

const struct phx_state *phx_journal_state(const struct phx_journal *j)
{
	return &j->state;
}

int64_t phx_journal_clock_held(struct phx_journal *j)
{
	return j->clock.held_ms;
}

bool phx_journal_clock_believe(struct phx_journal *j)
{
	pthread_mutex_lock(&j->lock);
	bool stepped = phx_core_clock_believe(&j->clock);
	pthread_mutex_unlock(&j->lock);
	return stepped;
}

int64_t phx_journal_now(struct phx_journal *j)
{
	pthread_mutex_lock(&j->lock);
	int64_t now = phx_journal_now_locked(j);
	pthread_mutex_unlock(&j->lock);
	return now;
}

int phx_journal_status(struct phx_journal *j, struct phx_err *ret_why)
{
	pthread_mutex_lock(&j->lock);
	int r = j->trouble;
	if (ret_why)
		*ret_why = r ? j->why : (struct phx_err){0};
	pthread_mutex_unlock(&j->lock);
	return r;
}

int64_t phx_journal_retry_in(struct phx_journal *j)
{
	pthread_mutex_lock(&j->lock);
	int64_t left = j->trouble == -EROFS ? j->retry_ms - phx_journal_now_locked(j) : 0;
	pthread_mutex_unlock(&j->lock);
	return left > 0 ? left : 0;
}
