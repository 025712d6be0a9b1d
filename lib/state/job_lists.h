/* Lists of jobs that the index keeps: when each job wants a tick, and the jobs of each RE. They
 * follow from the state's list of jobs and may contain numbers of jobs that no longer exist. Called
 * by index.c alone. */
#ifndef PHX_STATE_JOB_LISTS_H
#define PHX_STATE_JOB_LISTS_H

#include "state/state.h"

/* ---- when jobs want a tick: a heap with an entry for each job that has a time, at that time or
 * earlier ---- */

/** Note the job's time; -ENOMEM. */
int phx_dues_put(struct phx_list *dues, const struct phx_job *j);
/** Drop stale entries from the top: the job is over, or its time has changed. -ENOMEM. */
int phx_dues_settle(struct phx_list *dues, const struct phx_state *s);
/** The first time; INT64_MAX: never. Correct for a settled heap. */
int64_t phx_dues_next(const struct phx_list *dues);
/** Numbers (uint64_t) of the jobs whose time has come by `now_ms`, ascending and each once, into
 * the empty list *ret; they stay in the heap. -ENOMEM: the heap lacks some. */
int phx_dues_come(struct phx_list *dues, const struct phx_state *s, int64_t now_ms,
		  struct phx_list *ret);

/* ---- the jobs of each RE, and of none ("") ---- */

/** Add a job to the list of its RE. Jobs must be added in the order of their numbers; adding one
 * again does nothing. -ENOMEM. */
int phx_re_jobs_put(struct phx_list *lists, const struct phx_state *s, const struct phx_job *j);
bool phx_re_jobs_has(const struct phx_list *lists, const struct phx_job *j);
/** The first job of `re` after number `after`; NULL: none. */
struct phx_job *phx_re_jobs_next(const struct phx_list *lists, const struct phx_state *s,
				 const char *re, uint64_t after);
void phx_re_jobs_fini(struct phx_list *lists);

#endif
