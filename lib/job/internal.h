/* Declarations that the files of lib/job share. No other file includes this one. */
#ifndef PHX_JOB_INTERNAL_H
#define PHX_JOB_INTERNAL_H

#include "job/job.h"
#include "state/node_sets.h"
#include "state/index.h"

/* external_orders.c: orders for external engines */
/** Nodes and partitions of the event become those of the RE. -ENOMEM. */
int phx_engine_put(const struct phx_event_re_queue *p, struct phx_re *re);
/** The node of that name in a list of struct phx_engine_node; borrowed; NULL: none. */
struct phx_engine_node *phx_engine_there(const struct phx_list *list, const char *name);
/** Does the node serve the RE, and is no order taking it away? */
bool phx_engine_serves(const struct phx_re *re, const struct phx_node *n);
/** May the engine start jobs on the node, by its last report? */
bool phx_engine_may_start(const struct phx_engine_node *there);
/** Does the job run in the engine of the RE? */
bool phx_engine_runs(const struct phx_job *j, const struct phx_re *re);
/** Has the engine end a job of the RE and queue it again, because node `n` is taken away; tells the
 * ledger. Twice is once. */
void phx_engine_send_away(struct phx_apply *a, const struct phx_re *re, struct phx_job *j,
			  const struct phx_node *n);
/** The RE's number in the ledger, or PHX_LEDGER_FREE: the RE leaves the ledger before its last node
 * leaves the engine. */
int phx_engine_number(const struct phx_re *re);
/** Does the engine take no new jobs because we told it so? */
bool phx_engine_refuses(const struct phx_re *re);

/* job.c */
/** Records what ended the run; a reason that is recorded already stays. */
void phx_job_why(struct phx_apply *a, struct phx_job *j, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Holds the job back from its queue, for a user or for its array, or lets it go on: it waits there
 * as soon as neither holds it. The error is the ledger's: nothing is changed. */
int phx_job_hold_back(struct phx_apply *a, struct phx_job *j, bool held, bool throttled);
/** The job as the queue of its RE takes it. */
struct phx_batch_job phx_job_in_queue(const struct phx_job *j);
/** No run of `j` is on its nodes any more: they count as idle. The caller tells the ledger in the
 * same event. */
void phx_job_left_nodes(struct phx_apply *a, const struct phx_job *j);

/* array.c */
/** Checks the rows of the event's array: -EINVAL for invalid rows, or rows out of order. */
int phx_array_check(const struct phx_event_job_submit *p, struct phx_err *err);
/** Appends the other members of an array, whose first member is the last job of the list: copies
 * without its words, in no queue. -ENOMEM: some members may have been appended. */
int phx_array_make(struct phx_apply *a, const struct phx_event_job_submit *p);

/* kept.c */
/** A job that its RE keeps waits for its next run: it joins the queue if the RE is active again. */
void phx_job_wait_on(struct phx_apply *a, struct phx_job *j);

/* given.c: tasks on nodes */
/** Begins a task of a run on a node whose worker has room for it. */
void phx_given_begin(struct phx_apply *a, struct phx_flowrun *w, uint32_t task,
		     const struct phx_node *n);
/** The node's worker ends: what it was given is to be done elsewhere. */
void phx_given_lose(struct phx_apply *a, const struct phx_node *n);
/** Takes notice of what an act on a run has brought about: its counts, its end. */
void phx_flowrun_settle(struct phx_apply *a, struct phx_flowrun *w);
/** Has the agents of all nodes that run its tasks look at their orders. */
void phx_flowrun_tell(struct phx_apply *a, const struct phx_flowrun *w);

/* flowruns.c */
/** May who submits `p` submit it to the RE of that name, and is that one for workflows? As
 * phx_submit_need_re(), -EPERM, -EINVAL. */
int phx_flowrun_may(struct phx_apply *a, const char *name,
		    const struct phx_event_workflow_submit *p, const struct phx_re **ret);
/** -E2BIG with a text: a task fits on no node. Looks at all of them. */
int phx_flowrun_check_fit(struct phx_apply *a, const struct phx_flow *f);
/** What a run is begun by that no person submits. */
struct phx_flowrun_cause {
	uint64_t trigger;
	bool looks;
	const struct phx_list *vars; /* struct phx_text; copied. NULL: none */
};
/** Begins a run in an RE that runs, of who may: a->out->workflow is its number. `c`: NULL, it was
 * submitted; else that its tasks fit was checked before. -EAGAIN, -EDQUOT: there is no room.
 * Pointers to runs mean nothing any more. */
int phx_flowrun_begin(struct phx_apply *a, const char *re,
		      const struct phx_event_workflow_submit *p, const struct phx_flowrun_cause *c);

/* trigger_runs.c: what its runs bring about for a trigger. None of them begins a run */
/** The run is over, or, resumed, goes on. */
void phx_trigger_run_over(struct phx_apply *a, const struct phx_flowrun *w);
void phx_trigger_run_again(struct phx_apply *a, const struct phx_flowrun *w);
/** The command of a trigger, which `w` is, has ended well and printed this; "": its agent does not
 * say. */
void phx_trigger_printed(struct phx_apply *a, const struct phx_flowrun *w, const char *sha256);

/* submit.c */
/** As whom somebody may be a member of an RE, where he must be one. */
struct phx_member_of {
	bool must_be;
	const char *user, *group, *identity;
};
/** The RE of that name: -ENOENT with a text, also for who has to be a member and is none. */
int phx_submit_need_re(struct phx_apply *a, const char *name, const struct phx_member_of *who,
		       const struct phx_re **ret);
/** -EBUSY with a text: the RE is not running. */
int phx_submit_re_runs(struct phx_apply *a, const struct phx_re *re);

/* parts.c */
/** A worker ends by itself, since nothing is left for it to do. */
void phx_worker_end(struct phx_apply *a, struct phx_job *j, int64_t status);
/** Removes the oldest jobs that have ended; open jobs stay. */
void phx_jobs_forget_old(struct phx_state *s);
/** A part of a running job ended with `status`: a failure ends the other parts; the last part ends
 * the job. */
void phx_job_part_end(struct phx_apply *a, struct phx_job *j, struct phx_job_part *p,
		      int64_t status);

#endif
