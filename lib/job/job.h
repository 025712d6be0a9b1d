/* Jobs: how one comes into the list, starts, ends, and what becomes of it when its nodes do. What
 * starts when is the ledger's (lib/ledger) for jobs of an RE, and this room's for the others.
 * Called by nodes, REs and the dispatcher; what is asked between two events, by the daemon too.
 * Pure. */
#ifndef PHX_JOB_JOB_H
#define PHX_JOB_JOB_H

#include "state/apply.h"
#include "state/order.h"

/* handlers of events, for the dispatcher (core/apply.c) alone */
int phx_apply_restart(struct phx_apply *a);
int phx_apply_re_queue(struct phx_apply *a);
int phx_apply_job_submit(struct phx_apply *a);
int phx_apply_job_cancel(struct phx_apply *a);
int phx_apply_job_result(struct phx_apply *a);
int phx_apply_job_hold(struct phx_apply *a);

/* job.c: one job */
/** What people call the job. */
struct phx_job_title {
	char text[64];
};
struct phx_job_title phx_job_title(const struct phx_job *j);
/** Who ended the job's run, and why: kept with it. */
void phx_job_blame(struct phx_apply *a, struct phx_job *j, const char *by, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** The job is queued, runs, has ended; the only way to say so. The end of a member of an array lets
 * the next one go. */
void phx_job_become(struct phx_apply *a, struct phx_job *j, enum phx_job_state state);
/** Whether `to` may follow `from` (job_life.def). */
bool phx_job_state_may(enum phx_job_state from, enum phx_job_state to);
/** The agents of its open parts are to look at their orders. */
void phx_job_tell(struct phx_apply *a, const struct phx_job *j);
/** The job that has the words, script, environment and files of `j`: itself, or the first of its
 * array. Borrowed. */
const struct phx_job *phx_job_words(const struct phx_state *s, const struct phx_job *j);

/* array.c */
/** Indices as people write them, "1,5,9", "1-10:2,20", "%N" behind them for so many at a time, as
 * rows; each index counts once, in whatever order they stand. -EINVAL, -E2BIG with text.
 * `ret_rows`: an empty list; the caller's. */
int phx_array_parse(const char *text, struct phx_list *ret_rows, uint32_t *ret_at_once,
		    struct phx_err *err);
/** How many members the array of the event has: 1 when it is none. */
uint32_t phx_array_size(const struct phx_event *ev);
bool phx_array_is(const struct phx_event *ev);

/* jobs.c: their starts and ends */
/** Jobs that run for longer than their time end, for good. */
void phx_jobs_tick(struct phx_apply *a);
/** Start a queued job on the idle nodes of its RE, as the ledger said. */
void phx_job_start_in_re(struct phx_apply *a, struct phx_job *j);
/** Make it end, to be queued again: its RE returns nodes. */
void phx_job_kill(struct phx_apply *a, struct phx_job *j);
/** Start queued jobs that fit, of those that belong to no RE. */
void phx_jobs_start(struct phx_apply *a);

/* lease.c: their nodes are not heard, or lost */
/** What ran on `n` is known to be gone (it started anew, it was seen off): its parts ended with
 * `status`. */
void phx_jobs_lost(struct phx_apply *a, struct phx_node *n, int64_t status);
/** `n` is not heard: its parts may run until their lease ends, and do not run afterwards. Twice is
 * once. */
void phx_jobs_silent(struct phx_apply *a, struct phx_node *n);
/** A BMC says that `n` is off, which was heard a moment ago: one of both errs. If it is not heard
 * for as long as a node may be silent, its parts do not run. */
void phx_jobs_seen_off(struct phx_apply *a, struct phx_node *n);
/** `n` is heard, and is the same start of the machine: its parts go on. */
void phx_jobs_heard(struct phx_apply *a, struct phx_node *n);
/** `n` is not to be used any more: its jobs end to run again elsewhere, its own parts when it says
 * so or their lease ends. */
void phx_jobs_leave(struct phx_apply *a, struct phx_node *n, const char *why);
/** Parts whose lease has ended are lost. */
void phx_lease_tick(struct phx_apply *a);

/* waits.c */
/** Why jobs wait, asked for one after the other between two events: zeroed but for the state, which
 * is borrowed. */
struct phx_job_waits {
	const struct phx_state *s;
	bool counted;
	/* outside of REs: nodes that would start a job now, that run jobs at all */
	uint32_t n_idle, n_could;
	uint64_t first; /* the first waiting job outside of REs */
};
/** In words why the queued job waits, or what the running one hangs on (a node that is not heard);
 * "" for every other one. O(1) but for the first that is in no RE. */
void phx_job_waits_for(struct phx_job_waits *w, const struct phx_job *j, char *ret, size_t size);

/* foreign.c: jobs of engines that are not ours */
/** The second half of a re_queue event: what came free has gone where it was promised; now the ledger hears
 * what began, and hand-overs that wait for the engine look again. */
void phx_engine_count_runs(struct phx_apply *a);
/** The RE becomes active: until its engine has told of itself nothing is known of it. */
void phx_engine_begin(struct phx_re *re);
/** If the RE holds nothing any more, and no node waits for its engine: what that has queued is its
 * own again. */
void phx_engine_end(struct phx_apply *a, struct phx_re *re);

/* engine.c: what those are to be told */
/** The RE is suspended from now on: what is open there we may close. */
void phx_engine_suspended(struct phx_re *re);
/** The engine of an RE may still have something on the node: what ends its service waits. Its jobs
 * there are told to end. */
bool phx_engine_holds(struct phx_apply *a, const struct phx_node *n);
/** The node is ordered away: what its engine said of it before does not count, since an order to
 * open it may be on its way. */
void phx_engine_doubt(struct phx_apply *a, const struct phx_node *n);
/** What the engine of an RE, not being ours, is to be told now, in this order: derived from what it
 * last told of itself, so that telling it twice does it once. Nothing while it does not answer. Of
 * the node or partition of an order, done or failed, the next re_queue event tells, changed or
 * not. */
int phx_engine_orders(const struct phx_state *s, const char *re, struct phx_list *ret_orders);

#endif
