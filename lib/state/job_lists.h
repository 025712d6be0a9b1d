/* Lists of jobs that the index keeps: when each wants a tick, and the jobs of each RE. They follow
 * from the state's list of jobs and may have numbers of jobs that are there no more. Called by
 * index.c alone. */
#ifndef PHX_STATE_JOB_LISTS_H
#define PHX_STATE_JOB_LISTS_H

#include "state/state.h"

/* ---- when jobs want a tick: a heap, in which each job with a time has an entry that is not later
 * ---- */

/** Note the job's time; -ENOMEM. */
int phx_dues_put(struct phx_list *dues, const struct phx_job *j);
/** Drop entries from the top that are stale: the job is over, or its time has changed. -ENOMEM. */
int phx_dues_settle(struct phx_list *dues, const struct phx_state *s);
/** The first time; INT64_MAX. True of a settled heap. */
int64_t phx_dues_next(const struct phx_list *dues);
/** Numbers (uint64_t) of the jobs whose time has come by `now_ms`, in their order, each once; they
 * stay in the heap. *ret is empty. -ENOMEM: the heap lacks some. */
int phx_dues_come(struct phx_list *dues, const struct phx_state *s, int64_t now_ms,
		  struct phx_list *ret);

/* ---- the jobs of each RE, and of none ("") ---- */

/** Jobs are put in the order of their numbers; one that is there already is no mistake. -ENOMEM. */
int phx_re_jobs_put(struct phx_list *lists, const struct phx_state *s, const struct phx_job *j);
bool phx_re_jobs_has(const struct phx_list *lists, const struct phx_job *j);
/** The first job of `re` after number `after`; NULL. */
struct phx_job *phx_re_jobs_next(const struct phx_list *lists, const struct phx_state *s,
				 const char *re, uint64_t after);
void phx_re_jobs_fini(struct phx_list *lists);

#endif
