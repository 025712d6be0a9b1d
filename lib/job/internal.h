/* Declarations that the files of lib/job share. No other file includes this one. */
#ifndef PHX_JOB_INTERNAL_H
#define PHX_JOB_INTERNAL_H

#include "job/job.h"

#include "state/crew.h"
#include "state/node_sets.h"
#include "state/index.h"
#include "state/timed.h"

/* external_orders.c: orders for external engines */
/** Copies the nodes and partitions that the event reports into the RE. -ENOMEM. */
int phx_engine_put(const struct phx_event_re_queue *p, struct phx_re *re);
/** Finds a node by name in a list of struct phx_engine_node. Borrowed; NULL: none. */
struct phx_engine_node *phx_engine_there(const struct phx_list *list, const char *name);
/** Does the node serve the RE, and is no order taking it away? */
bool phx_engine_serves(const struct phx_re *re, const struct phx_node *n);
/** May the engine start jobs on the node, by its last report? */
bool phx_engine_may_start(const struct phx_engine_node *there);
/** Is the job running in the RE's external engine? */
bool phx_engine_runs(const struct phx_job *j, const struct phx_re *re);
/** Marks a job of the RE's engine as killed, because node `n` is taken away: the engine is ordered
 * to queue it again, or to cancel it if it may not run again. Tells the ledger. Idempotent. */
void phx_engine_send_away(struct phx_apply *a, const struct phx_re *re, struct phx_job *j,
			  const struct phx_node *n);
/** The RE's number in the ledger, or PHX_LEDGER_FREE if the RE is not active: it leaves the ledger
 * before its last node leaves the engine. */
int phx_engine_number(const struct phx_re *re);
/** Has the engine a partition that we have closed to new jobs? */
bool phx_engine_refuses(const struct phx_re *re);

/* job.c */
/** Records why the run ended; the first recorded reason stays. */
void phx_job_why(struct phx_apply *a, struct phx_job *j, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Sets whether a user (`held`) or the array's limit (`throttled`) holds the job back; it waits in
 * its queue only while neither does. The error is the ledger's; nothing is changed then. */
int phx_job_hold_back(struct phx_apply *a, struct phx_job *j, bool held, bool throttled);
/** The job in the form that the queue of its RE takes. */
struct phx_batch_job phx_job_in_queue(const struct phx_job *j);
/** The run of `j` has ended on all nodes: they count as idle. The caller tells the ledger in the
 * same event. */
void phx_job_left_nodes(struct phx_apply *a, const struct phx_job *j);

/* array.c */
/** Checks the rows of the event's array: -EINVAL for invalid rows, or rows out of order. */
int phx_array_check(const struct phx_event_job_submit *p, struct phx_err *err);
/** Appends the other members of an array, whose first member is the last job in the list. They are
 * copies without its words, and are in no queue yet. -ENOMEM: some members may have been appended.
 */
int phx_array_make(struct phx_apply *a, const struct phx_event_job_submit *p);

/* kept.c */
/** Queues a kept job again if its RE is active and not being deactivated; otherwise the job stays
 * kept. */
void phx_job_wait_on(struct phx_apply *a, struct phx_job *j);

/* given.c: tasks on nodes */
/** Gives a task of run `w` to node `n`, whose worker has room for it. */
void phx_given_begin(struct phx_apply *a, struct phx_flowrun *w, uint32_t task,
		     const struct phx_node *n);
/** Reports to the run how a task has ended (PHX_FLOW_DONE, FAIL or LOSE), and counts losses. As
 * phx_flow_run_act(). */
int phx_given_end(struct phx_flowrun *w, enum phx_flow_act act, uint32_t task);
/** Gives a task of several nodes to all those of `worker`, which has none. */
void phx_given_begin_wide(struct phx_apply *a, struct phx_flowrun *w, uint32_t task,
			  struct phx_job *worker);
/** Node `n` of the worker is done with the worker's task (worker->run): the task ends with the last
 * one; if it cannot end well any more, the others are told to end. */
void phx_given_answer(struct phx_apply *a, struct phx_job *worker, const struct phx_node *n,
		      enum phx_task_end end);
/** The node's worker ends: its tasks become ready again, to run elsewhere. */
void phx_given_lose(struct phx_apply *a, const struct phx_node *n);
/** Updates the run's counts and status after its tasks have changed, and ends the run if it is
 * over. */
void phx_flowrun_settle(struct phx_apply *a, struct phx_flowrun *w);
/** Makes the agents of all nodes that run its tasks fetch their orders. */
void phx_flowrun_tell(struct phx_apply *a, const struct phx_flowrun *w);

/* flowruns.c */
/** May the submitter of `p` submit to the RE named `name`, and does that RE run workflows? Errors
 * of phx_submit_need_re(), -EPERM, -EINVAL; with a text. */
int phx_flowrun_may(struct phx_apply *a, const char *name,
		    const struct phx_event_workflow_submit *p, const struct phx_re **ret);
/** -E2BIG with a text: a task fits on no node, or wants more nodes than the RE can have. Goes
 * through all nodes. */
int phx_flowrun_check_fit(struct phx_apply *a, const char *re, const struct phx_flow *f);
/** The cause of a run that no person submitted. */
struct phx_flowrun_cause {
	uint64_t trigger;
	bool looks;
	const struct phx_list *vars; /* struct phx_text; copied. NULL: none */
};
/** Begins a run in a running RE for a submitter who was checked by phx_flowrun_may(); its number is
 * in a->out->workflow. `c` is NULL for a run that a person submitted; otherwise the caller has
 * checked that its tasks fit. -EAGAIN, -EDQUOT: there is no room. Invalidates pointers to runs. */
int phx_flowrun_begin(struct phx_apply *a, const char *re,
		      const struct phx_event_workflow_submit *p, const struct phx_flowrun_cause *c);

/* trigger_runs.c: how a trigger follows its runs. None of these begins a run */
/** The run has ended; it was resumed after its end. */
void phx_trigger_run_over(struct phx_apply *a, const struct phx_flowrun *w);
void phx_trigger_run_again(struct phx_apply *a, const struct phx_flowrun *w);
/** The trigger's command, which is run `w`, has succeeded; `sha256` is the digest of its output.
 * "": the agent is too old to report it. */
void phx_trigger_printed(struct phx_apply *a, const struct phx_flowrun *w, const char *sha256);

/* submit.c */
/** The identities by which somebody may be a member of an RE; checked if `must_be`. */
struct phx_member_of {
	bool must_be;
	const char *user, *group, *identity;
};
/** Finds the RE by name. -ENOENT with a text, also if `who` must be a member and is none. */
int phx_submit_need_re(struct phx_apply *a, const char *name, const struct phx_member_of *who,
		       const struct phx_re **ret);
/** -EBUSY with a text: the RE is not running. */
int phx_submit_re_runs(struct phx_apply *a, const struct phx_re *re);

/** Then the task fails: a node may claim losses for ever. */
enum { PHX_TASK_LOSSES_MAX = 100 };

/* wide.c: tasks of several nodes */
/** Gives ready tasks of several nodes to workers that have as many and no task. */
void phx_wide_give(struct phx_apply *a, struct phx_crew_re *c);
/** Asks for a worker for each of the first ready tasks of several nodes, takes those back that
 * nobody needs, and lets workers of one node go where their nodes are missing. *ret_n: how many
 * wait; true: for nodes. */
bool phx_wide_ask(struct phx_apply *a, const struct phx_re *re, struct phx_crew_re *c,
		  uint32_t *ret_n);
/** Asks the ledger for a worker of so many nodes. */
void phx_worker_ask(struct phx_apply *a, const struct phx_re *re, uint32_t nodes);
/** Cancels a worker that waits. */
void phx_worker_take_back(struct phx_apply *a, const struct phx_re *re, struct phx_job *j);

/* parts.c */
/** Ends all parts of a worker with `status`, or the part on `n`: it has no tasks left there. */
void phx_worker_end(struct phx_apply *a, struct phx_job *j, int64_t status);
void phx_worker_leave(struct phx_apply *a, struct phx_job *j, const struct phx_node *n,
		      int64_t status);
/** Removes the oldest jobs that have ended; open jobs stay. */
void phx_jobs_forget_old(struct phx_state *s);
/** A part of a running job ended with `status`: a failure ends the other parts; the last part ends
 * the job. */
void phx_job_part_end(struct phx_apply *a, struct phx_job *j, struct phx_job_part *p,
		      int64_t status);

#endif
