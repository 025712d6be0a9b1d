/* Jobs: how a job comes into the list, starts and ends, also when its nodes fail. The ledger
 * (lib/ledger) decides when jobs of an RE start, this room when other jobs do. Called by nodes, REs
 * and the dispatcher; queries between two events by the daemon too. Pure. */
#ifndef PHX_JOB_JOB_H
#define PHX_JOB_JOB_H

#include "state/apply.h"
#include "state/order.h"

/* job.c: one job */
/** The job's name for people. */
struct phx_job_title {
	char text[64];
};
struct phx_job_title phx_job_title(const struct phx_job *j);
/** Records with the job who ended its run, and why. */
void phx_job_blame(struct phx_apply *a, struct phx_job *j, const char *by, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/** Changes the job's state; no other function does. The end of an array's member lets the next
 * member start. */
void phx_job_become(struct phx_apply *a, struct phx_job *j, enum phx_job_state state);
/** Whether `to` may follow `from` (job_life.def). */
bool phx_job_state_may(enum phx_job_state from, enum phx_job_state to);
/** Has the agents of the job's open parts look at their orders. */
void phx_job_tell(struct phx_apply *a, const struct phx_job *j);
/** The job that has the words, script, environment and files of `j`: itself, or the first of its
 * array. Borrowed. */
const struct phx_job *phx_job_words(const struct phx_state *s, const struct phx_job *j);

/* array.c */
/** Parse indices as people write them, "1,5,9", "1-10:2,20", with "%N" at the end for N at a time,
 * into rows; each index counts once. -EINVAL, -E2BIG with a text. `ret_rows`: an empty list, which
 * the caller owns. */
int phx_array_parse(const char *text, struct phx_list *ret_rows, uint32_t *ret_at_once,
		    struct phx_err *err);
/** How many members the array has: 1 when it is none. */
uint32_t phx_array_size(const struct phx_event_job_submit *p);
bool phx_array_is(const struct phx_event_job_submit *p);

/* parts.c: their starts and ends */
/** Jobs that run for longer than their time end, for good. */
void phx_jobs_tick(struct phx_apply *a);
/** Starts a queued job on the idle nodes of its RE, as the ledger said. */
void phx_job_start_in_re(struct phx_apply *a, struct phx_job *j);
/** Kills a job, to be queued again: its RE returns nodes. */
void phx_job_kill(struct phx_apply *a, struct phx_job *j);
/** Starts queued jobs of no RE that fit. */
void phx_jobs_start(struct phx_apply *a);

/* kept.c: their RE is deactivated, activated again, destroyed */
/** Would the job outlive a deactivation of its RE, as the agreement has it (keep_jobs)? It waits,
 * and so does one that runs, once it was told to end, unless it may not run again. Jobs of another
 * engine are that engine's. */
bool phx_job_outlives(const struct phx_re *re, const struct phx_job *j);
/** The RE is deactivated, and the ledger knows. Jobs that outlive it are kept: those that run are
 * told to end, to run again, and it is told how many. Others are cancelled, or end for good, and
 * how many is told if `tells`. Jobs of another engine wait there until the next activation. */
void phx_jobs_end_of_re(struct phx_apply *a, const struct phx_re *re, bool tells);
/** The RE is active again, and the ledger knows: jobs that it kept join its queue, in their order.
 */
void phx_jobs_go_on(struct phx_apply *a, const struct phx_re *re);
/** The RE is destroyed: the jobs that it kept are cancelled. */
void phx_jobs_forsake(struct phx_apply *a, const struct phx_re *re);

/* silence.c: nodes of jobs are not heard, or lost */
/** `n` started anew or was seen off: job parts that ran on it ended with `status`. */
void phx_jobs_lost(struct phx_apply *a, struct phx_node *n, int64_t status);
/** `n` is not heard: its parts may run until their lease ends, and do not run afterwards. Twice is
 * once. */
void phx_jobs_silent(struct phx_apply *a, struct phx_node *n);
/** A BMC reports as off a node that was heard a moment ago; one of both errs. If `n` is then not
 * heard for as long as a node may be silent, its parts do not run. */
void phx_jobs_seen_off(struct phx_apply *a, struct phx_node *n);
/** `n` is heard, and is the same start of the machine: its parts go on. */
void phx_jobs_heard(struct phx_apply *a, struct phx_node *n);
/** `n` must not be used any more: its jobs end, to run again elsewhere. Parts on `n` end when it
 * reports their end, or with their lease. */
void phx_jobs_leave(struct phx_apply *a, struct phx_node *n, const char *why);
/** Parts whose lease has ended are lost. */
void phx_lease_tick(struct phx_apply *a);

/* workers.c: nodes of REs with workflows */
/** Gives tasks to nodes, and asks the ledger for as many nodes as those that wait would fill.
 * Before nodes and ledger are brought to agree. */
void phx_workers_ask(struct phx_apply *a);
/** Gives tasks to the nodes that have come by that. */
void phx_workers_fill(struct phx_apply *a);

/* flowruns.c: runs of workflows */
/** The RE is destroyed: what was to run there never will. */
void phx_flowruns_end_of_re(struct phx_apply *a, const struct phx_re *re);
/** Has the RE runs that are not over? */
bool phx_flowruns_open(const struct phx_state *s, const struct phx_re *re);

/* triggers.c: what submits workflows by itself */
/** Moments of triggers that have come: they fire, their commands run, what waits begins. */
void phx_triggers_tick(struct phx_apply *a);
/** When the first of them comes; INT64_MAX never. */
int64_t phx_triggers_due(const struct phx_state *s);
/** The RE runs again: what could not begin is tried with the next tick. */
void phx_triggers_go_on(struct phx_apply *a, const struct phx_re *re);
/** The RE is destroyed: its triggers go. */
void phx_triggers_end_of_re(struct phx_apply *a, const struct phx_re *re);

/* given.c */
/** A task that a node was given, for its orders. */
struct phx_task_given {
	const struct phx_flowrun *run; /* borrowed from the state */
	uint32_t task, attempt;
	bool ends; /* it is to end */
};
/** Appends those of the node (struct phx_task_given), and says by which worker it has them, whose
 * room, lease and grace are theirs; NULL: it has none, and no tasks. -ENOMEM. */
int phx_tasks_on(const struct phx_state *s, const struct phx_node *n, struct phx_list *ret,
		 const struct phx_job **ret_worker);

/* waits.c */
/** Counts for phx_job_waits_for(), which are shared by calls between two events: zero-initialise
 * all but the state, which is borrowed. */
struct phx_job_waits {
	const struct phx_state *s;
	bool counted;
	/* outside of REs: nodes that would start a job now, nodes that run jobs at all */
	uint32_t n_idle, n_could;
};
/** Says why a queued job waits, or that a running job waits for a node that is not heard; "" for
 * other jobs. Looks at no other job; the first call for a job of no RE looks at the nodes
 * outside of the REs. */
void phx_job_waits_for(struct phx_job_waits *w, const struct phx_job *j, char *ret, size_t size);

/* external.c: jobs of engines that are not ours */
/** The second half of a re_queue event, after free nodes have gone where they were promised: the
 * ledger hears which jobs began, and hand-overs that wait for the engine look again. */
void phx_engine_count_runs(struct phx_apply *a);
/** The RE becomes active: its engine is unknown until its first report. */
void phx_engine_begin(struct phx_re *re);
/** If the RE holds no node any more, and no node waits for its engine: queued jobs belong to the
 * engine alone again. */
void phx_engine_end(struct phx_apply *a, struct phx_re *re);

/* external_orders.c: orders for external engines */
/** The RE is suspended from now on: we may close its open nodes and partitions. */
void phx_engine_suspended(struct phx_re *re);
/** May the engine of an RE still use the node? A step that ends the node's service then waits, and
 * the engine's jobs there are told to end. */
bool phx_engine_holds(struct phx_apply *a, const struct phx_node *n);
/** The node is ordered away: former reports of its engine do not count, since an order to open the
 * node may be on its way. */
void phx_engine_doubt(struct phx_apply *a, const struct phx_node *n);
/** Orders for the external engine of an RE, in this sequence, derived from its last report, so that
 * an order that is given twice is carried out once. None while the engine does not answer. The next
 * re_queue event reports the node or partition of each order, done or failed, changed or not. */
int phx_engine_orders(const struct phx_state *s, const char *re, struct phx_list *ret_orders);

#endif
