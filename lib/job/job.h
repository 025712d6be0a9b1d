/* Jobs: submission, start and end, also when their nodes fail. The ledger (lib/ledger) decides when
 * jobs of an RE start, this room when jobs outside of the REs do. Called by nodes, REs and the
 * dispatcher, and by the daemon for queries between two events. Pure. */
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
 * member start. A state that may not follow the present one: see phx_stick_never(). */
void phx_job_become(struct phx_apply *a, struct phx_job *j, enum phx_job_state state);
/** The run of `j` is told to end for `why`; the caller tells the agents (phx_job_tell()). False: it
 * is told already for this, or for what overrules it, and nothing is changed. No other function
 * sets the reason; phx_job_become() takes it back from a job that is queued again. */
bool phx_job_end_for(struct phx_apply *a, struct phx_job *j, enum phx_job_end why);
/** As phx_job_end_for(), where the ledger does not know yet: it is told. */
bool phx_job_end_early(struct phx_apply *a, struct phx_job *j, enum phx_job_end why);
/** Whether `to` may follow `from` (job_life.def). */
bool phx_job_state_may(enum phx_job_state from, enum phx_job_state to);
/** Makes the agents of the job's open parts fetch their orders. */
void phx_job_tell(struct phx_apply *a, const struct phx_job *j);
/** The job that stores the words, script, environment and files of `j`: `j` itself, or the first
 * member of its array. Borrowed. */
const struct phx_job *phx_job_words(const struct phx_state *s, const struct phx_job *j);

/* array.c */
/** Parses indices as people write them ("1,5,9", "1-10:2,20"; "%N" at the end allows N at a time)
 * into rows; a repeated index counts once. -EINVAL, -E2BIG with a text. `ret_rows` must be empty;
 * the caller owns it. */
int phx_array_parse(const char *text, struct phx_list *ret_rows, uint32_t *ret_at_once,
		    struct phx_err *err);
/** The number of members; 1 if the event submits no array. */
uint32_t phx_array_size(const struct phx_event_job_submit *p);
bool phx_array_is(const struct phx_event_job_submit *p);

/* parts.c: their starts and ends */
/** Ends jobs that exceed their time limit, for good, and workers that were idle for too long. */
void phx_jobs_tick(struct phx_apply *a);
/** Starts a queued job on idle nodes of its RE, as the ledger decided. */
void phx_job_start_in_re(struct phx_apply *a, struct phx_job *j);
/** Kills a job because its RE returns nodes; the job is queued again. */
void phx_job_kill(struct phx_apply *a, struct phx_job *j);
/** How long after it was told to end the end of a run must have been reported. */
int64_t phx_job_ends_within_ms(const struct phx_job *j);
/** The run is told to end because its RE returns nodes: those are taken back whose agents do not
 * say that it has ended (silence.c, node/unheard.c). Nothing if that is waited for already. */
void phx_job_await_end(struct phx_apply *a, struct phx_job *j);
/** Starts those queued jobs outside of the REs that fit. */
void phx_jobs_start(struct phx_apply *a);

/* kept.c: an RE is deactivated, activated again, destroyed */
/** Does the RE keep the job when it is deactivated, by its agreement (keep_jobs)? A queued job
 * waits on; a running one is told to end and waits then, unless it may not run again. False for
 * jobs of an external engine, which keeps them itself. */
bool phx_job_outlives(const struct phx_re *re, const struct phx_job *j);
/** The RE is deactivated; the ledger knows already. Jobs that it keeps stay queued, and those that
 * run are told to end; their number is noted. All others are cancelled or end for good; their
 * number is noted if `tells`. Jobs of an external engine wait there until the next activation. */
void phx_jobs_end_of_re(struct phx_apply *a, const struct phx_re *re, bool tells);
/** The RE is active again; the ledger knows already. The jobs that it kept join its queue, in their
 * former order. */
void phx_jobs_go_on(struct phx_apply *a, const struct phx_re *re);
/** The RE is destroyed: cancels the jobs that it kept. */
void phx_jobs_forsake(struct phx_apply *a, const struct phx_re *re);

/* silence.c: nodes that run jobs are silent, or lost */
/** `n` has restarted or was seen off: its job part ends with `status`. */
void phx_jobs_lost(struct phx_apply *a, struct phx_node *n, int64_t status);
/** `n` is silent: its job part may run until the heartbeat timeout, and is lost then.
 * Idempotent. */
void phx_jobs_silent(struct phx_apply *a, struct phx_node *n);
/** A BMC reports a node as off that was heard a moment ago, so one of the two is wrong. The node's
 * job part is lost if the node is then silent for settings.missing_after_ms. */
void phx_jobs_seen_off(struct phx_apply *a, struct phx_node *n);
/** `n` is heard again and has not restarted: its job part goes on. */
void phx_jobs_heard(struct phx_apply *a, struct phx_node *n);
/** `n` must not be used any more: its job ends, to run again elsewhere. The part on `n` ends when
 * the agent reports its end, or at its heartbeat timeout. */
void phx_jobs_leave(struct phx_apply *a, struct phx_node *n, const char *why);
/** Ends the parts that silent agents must have ended by now: they are lost. */
void phx_silence_tick(struct phx_apply *a);

/* workers.c: nodes of REs with workflows */
/** Gives waiting tasks to nodes, and asks the ledger for as many more nodes as the remaining ones
 * would fill. Called before nodes and ledger are brought to agree. */
void phx_workers_ask(struct phx_apply *a);
/** Gives tasks to the nodes that came when nodes and ledger were brought to agree. */
void phx_workers_fill(struct phx_apply *a);

/* flowruns.c: runs of workflows */
/** The RE is destroyed: cancels its open runs. */
void phx_flowruns_end_of_re(struct phx_apply *a, const struct phx_re *re);
/** Has the RE runs that are not over? */
bool phx_flowruns_open(const struct phx_state *s, const struct phx_re *re);

/* triggers.c: what submits workflows without a person */
/** Handles all triggers that are due: fires them or runs their commands, and begins waiting runs.
 */
void phx_triggers_tick(struct phx_apply *a);
/** The RE runs again: runs that could not begin are tried again at the next tick. */
void phx_triggers_go_on(struct phx_apply *a, const struct phx_re *re);
/** The RE is destroyed: deletes its triggers. */
void phx_triggers_end_of_re(struct phx_apply *a, const struct phx_re *re);

/* given.c */
/** A task on a node, as the node's orders name it. */
struct phx_task_given {
	const struct phx_flowrun *run; /* borrowed from the state */
	uint32_t task, attempt;
	bool ends; /* it is to end */
	bool wide; /* it is on all nodes of the worker, of which this is number `rank`, from 0 */
	uint32_t rank;
	/* digest of its outputs: where they are there with it, it need not run; "": it runs */
	char had_sha256[65];
};
/** Appends the node's tasks to `ret` (struct phx_task_given). `ret_worker`: the node's worker,
 * whose room, heartbeat timeout and grace apply to them; NULL if the node has none, and so no
 * tasks. -ENOMEM. */
int phx_tasks_on(const struct phx_state *s, const struct phx_node *n, struct phx_list *ret,
		 const struct phx_job **ret_worker);

/* waits.c */
/** Counts that calls of phx_job_waits_for() share between two events. Zero-initialise all but `s`,
 * which is borrowed. */
struct phx_job_waits {
	const struct phx_state *s;
	bool counted;
	/* nodes outside of the REs: that would start a job now; that run jobs at all */
	uint32_t n_idle, n_could;
};
/** Writes why a queued job waits, or that a running job waits for a silent node; "" for other jobs.
 * Looks at no other job; the first call for a job outside of the REs counts the nodes there. */
void phx_job_waits_for(struct phx_job_waits *w, const struct phx_job *j, char *ret, size_t size);

/* external.c: jobs of external engines */
/** The second half of a re_queue event, after free nodes went where they were promised: tells the
 * ledger which jobs began, and advances hand-overs that wait for the engine. */
void phx_engine_count_runs(struct phx_apply *a);
/** The RE becomes active: its engine counts as not answering until its first report. */
void phx_engine_begin(struct phx_re *re);
/** Has its engine not been heard since the RE became active? It must be told of as a whole then,
 * whatever was told before: the RE may have been inactive meanwhile. */
bool phx_engine_is_unheard(const struct phx_re *re);
/** Detaches the engine of an RE that is not active any more: its queued jobs belong to the engine
 * alone again. Does nothing while a node waits for the engine, or while a partition that we closed
 * is still to be opened and the engine answers. */
void phx_engine_end(struct phx_apply *a, struct phx_re *re);

/* external_orders.c: orders for external engines */
/** The RE is suspended from now on: its open partitions are those that we close, and may open
 * again. */
void phx_engine_suspended(struct phx_re *re);
/** May the RE's engine still use the node? If so, a step that would end the node's service waits,
 * and the engine's job there is ordered to end. */
bool phx_engine_holds(struct phx_apply *a, const struct phx_node *n);
/** The node is ordered away. Earlier reports of its engine do not count any more, since an order to
 * open the node may be on its way. */
void phx_engine_doubt(struct phx_apply *a, const struct phx_node *n);
/** Appends the orders for the RE's external engine, in the sequence in which they must be carried
 * out. They are derived from its last report, so repeating one is harmless. None while the engine
 * does not answer. The next re_queue event must report the node or partition of each order, whether
 * it failed or succeeded, changed it or not. -ENOENT: the RE has no engine; -ENOMEM. */
int phx_engine_orders(const struct phx_state *s, const char *re, struct phx_list *ret_orders);

#endif
