/* What the files of the rule of a crash share: see journal.h. */
#ifndef PHX_JOURNAL_INTERNAL_H
#define PHX_JOURNAL_INTERNAL_H

#include <pthread.h>

#include "journal/journal.h"
#include "journal/todo.h"
#include "journal/turns.h"

struct phx_journal {
	struct phx_journal_config config;
	struct phx_turns turns; /* submissions that wait */
	struct phx_todo todo;   /* what follows from those that are committed */
	struct phx_journal_store store;
	struct phx_state state;
	struct phx_core_clock clock;
	/* a thread that changes the state holds both, `changes` first; one that reads it holds
	 * either, and a long read holds `changes`, so that short reads go on */
	pthread_mutex_t changes, lock;
	/* this start's number; the next event that changes the state records it */
	uint64_t incarnation;
	uint64_t snapshot_seq;
	bool snapshot_asked; /* for one that is not written yet */
	int trouble;         /* 0, -EROFS: the store refuses; -EAGAIN: ended */
	struct phx_err why;
	int64_t retry_ms;
};

/** Core time for a caller that has the lock. */
static inline int64_t phx_journal_now_locked(const struct phx_journal *j)
{
	return phx_core_clock_now(&j->clock, j->state.now_ms);
}

#endif
