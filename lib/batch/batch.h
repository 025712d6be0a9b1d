/* The manager of one batch RE (PBJ manager of 000, HTC/MTC server of 003): its
 * jobs, the nodes it may use, and the scheduler that chooses among the jobs that
 * wait. Counts nodes, does not name them: lib/job chooses the nodes of a job, so
 * that the simulator runs a trace of years in a second. Pure: time comes in,
 * decisions go out; the caller acts and confirms.
 *
 *   submit ─▶ waiting ──start──▶ running ──ended──▶ gone
 *               ▲   ▲              │ kill
 *          held─┘   └──killed── killing        (or gone: drop)
 *
 * Every decision depends on the jobs only, never on the order in which indexes
 * were built: a manager restored from its records decides as it did before. */
#ifndef PHX_BATCH_BATCH_H
#define PHX_BATCH_BATCH_H

#include "base/record.h"

enum phx_batch_job_state {
	PHX_BATCH_BLOCKED, /* some of its parents in a workflow are not complete */
	PHX_BATCH_HELD,
	PHX_BATCH_WAITING,
	PHX_BATCH_RUNNING,
	PHX_BATCH_KILLING, /* told to end: its nodes are still busy */
};
extern const struct phx_enum phx_batch_job_state_names;

/** One job as the scheduler sees it. */
#define PHX_BATCH_JOB_FIELDS(F, S) \
	F(S, id, U64) /* unique in the RE; breaks ties */ \
	/* its place in the queue, kept when it is requeued (policies.md, reading 11) */ \
	F(S, submit_ms, I64) \
	/* wall time that the user gave, or the run time if a study knows it; -1 unknown: the job \
	 * is never backfilled into a reservation, and comes last under SJF */ \
	F(S, estimate_ms, I64) \
	F(S, start_ms, I64)  /* start of the present run; 0 while waiting */ \
	F(S, size, U32)      /* nodes, at least 1 */ \
	F(S, kills, U32)     /* how often it was killed */ \
	F(S, waits_for, U32) /* parents not yet complete */ \
	/* nodes of `size` that broke in the present run, phx_batch_lose_busy() */ \
	F(S, lost, U32) \
	F(S, state, ENUM(phx_batch_job_state)) \
	F(S, no_requeue, BOOL) /* a killed job is gone, not queued again */
PHX_RECORD_STRUCT(phx_batch_job, PHX_BATCH_JOB_FIELDS);

/** One row a scheduler: scheduler.def. */
enum phx_scheduler {
#define SCHEDULER(name, ...) PHX_SCHEDULER_##name,
#include "batch/scheduler.def"
#undef SCHEDULER
	PHX_SCHEDULER_COUNT_
};
extern const struct phx_enum phx_scheduler_names; /* "first-fit", "fcfs", "sjf", "easy" */

/** Order in which running jobs are killed for a forced return. */
enum phx_kill_order {
#define KILL_ORDER(name, ...) PHX_KILL_ORDER_##name,
#include "batch/killorder.def"
#undef KILL_ORDER
	PHX_KILL_ORDER_COUNT_
};
/* "smallest-latest" (000 5.1, 001 II-B; default), "latest", "smallest", "largest" */
extern const struct phx_enum phx_kill_order_names;
const char *phx_kill_order_text(enum phx_kill_order o);

struct phx_batch;

struct phx_batch_config {
	int scheduler;  /* enum phx_scheduler */
	int kill_order; /* enum phx_kill_order */
	/* an external engine starts the jobs: a pass starts none, phx_batch_started() reports
	 * each start */
	bool external;
};

/** Figures for policies and people, in nodes unless stated otherwise. O(1). */
struct phx_batch_counts {
	uint32_t idle;            /* may be given to a job now */
	uint32_t busy;            /* held by running and killing jobs */
	uint32_t killing;         /* busy nodes that killing jobs hold */
	uint64_t waiting_nodes;   /* Q: sum of the sizes of waiting jobs */
	uint32_t waiting_biggest; /* big: largest waiting job, 0 when none waits */
	uint32_t n_waiting, n_running, n_held, n_blocked; /* jobs; a killing job is not running */
};

/** A manager with no job and no node, owned by the caller. -EINVAL: no such scheduler or kill
 * order; -ENOMEM. */
int phx_batch_new(const struct phx_batch_config *config, struct phx_batch **ret);
void phx_batch_free(struct phx_batch *b);
void phx_batch_counts(const struct phx_batch *b, struct phx_batch_counts *ret);
/** The job, borrowed until the next call that changes `b`; NULL when unknown. */
const struct phx_batch_job *phx_batch_job(const struct phx_batch *b, uint64_t id);

/** Add a job (copied): held when its state says so, else blocked (waits_for > 0), else waiting. The
 * manager sets its other run-time fields (start_ms, kills, lost). -EEXIST, -EINVAL (size 0, or its
 * state says that it runs), -ENOMEM. */
int phx_batch_submit(struct phx_batch *b, const struct phx_batch_job *job);
/** Put a job of a snapshot back exactly as phx_batch_job() gave it; the nodes of a running job
 * count as busy. -EEXIST, -EINVAL phx_batch_job() could not have given such a record, -ENOMEM. */
int phx_batch_restore(struct phx_batch *b, const struct phx_batch_job *job);
/** A parent of the job is complete. After the last one a blocked job waits; a held job stays held.
 * -ENOENT, -EINVAL the job has no incomplete parent. */
int phx_batch_unblock(struct phx_batch *b, uint64_t id);
/** Keep a waiting or blocked job from starting; safe twice. -ENOENT, -EBUSY the job runs. */
int phx_batch_hold(struct phx_batch *b, uint64_t id);
/** Release a held job: it waits at its old place, or for its parents. A job that is not held is not
 * changed. -ENOENT. */
int phx_batch_unhold(struct phx_batch *b, uint64_t id);
/** Forget a job that does not run. -EBUSY the job runs (kill it first), -ENOENT. */
int phx_batch_cancel(struct phx_batch *b, uint64_t id);

/** The job ended by itself (a killing job may, too): its nodes are idle, the job is gone. -ENOENT,
 * -EINVAL not running. */
int phx_batch_ended(struct phx_batch *b, uint64_t id);
/** The external engine (config.external) started the job on `size` idle nodes, which is its size
 * from now on. -ENOENT, -EBUSY the job runs already, -ENOSPC fewer nodes are idle, -EINVAL. */
int phx_batch_started(struct phx_batch *b, uint64_t id, uint32_t size, int64_t start_ms);
/** The job was told to end; its nodes stay busy until phx_batch_killed(). Safe twice. -ENOENT,
 * -EINVAL not running. */
int phx_batch_kill(struct phx_batch *b, uint64_t id);
/** The kill is confirmed: the nodes are idle; the job waits again at its old place with kills + 1,
 * or is gone (no_requeue). Returns 1 when requeued, 0 when gone; -ENOENT, -EINVAL not being
 * killed. */
int phx_batch_killed(struct phx_batch *b, uint64_t id);

/** The manager gets idle nodes, or loses idle nodes. take: -ENOSPC fewer nodes are idle. */
void phx_batch_give(struct phx_batch *b, uint32_t nodes);
int phx_batch_take(struct phx_batch *b, uint32_t nodes);
/** Nodes of a running or killing job broke: the manager counts them no more, and they do not become
 * idle when the job ends. The caller must then kill the job. -ENOENT, -EINVAL not running, or the
 * job holds fewer nodes. */
int phx_batch_lose_busy(struct phx_batch *b, uint64_t id, uint32_t nodes);

/** One scheduling pass at `now_ms`: the jobs chosen run from now on; their ids are appended to
 * ret_ids (uint64_t) in order of start. first-fit, fcfs, sjf: O(started · log waiting). -ENOMEM: no
 * job was started. */
int phx_batch_pass(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);
/** May a pass start a job? Jobs or idle nodes changed since the last pass. Time alone lets no job
 * start under any scheduler: EASY's reservation stays where the estimates put it, also when they
 * run out (easy.c). O(1). */
bool phx_batch_pass_due(const struct phx_batch *b);

/** Choose whole running jobs, in the kill order, until they hold `nodes` nodes together (or no job
 * is left); their ids are appended to ret_ids. Kills none. Returns the nodes that they hold;
 * -ENOMEM: ret_ids cannot grow. Jobs that are being killed are not chosen: counts.killing has their
 * nodes. O(chosen + log running). */
int64_t phx_batch_victims(const struct phx_batch *b, uint32_t nodes, struct phx_list *ret_ids);

/** The waiting job that the scheduler looks at first; 0 when none waits. */
uint64_t phx_batch_first(const struct phx_batch *b);

/** Appends every job, in order of id, to ret_jobs (struct phx_batch_job), for snapshots and lists.
 * -ENOMEM: none was appended. O(n log n). */
int phx_batch_jobs(const struct phx_batch *b, struct phx_list *ret_jobs);

#endif
