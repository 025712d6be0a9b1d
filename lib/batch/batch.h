/* The manager of one batch RE (PBJ manager of 000, HTC/MTC server of 003): its
 * jobs, which wait and which run, the nodes it may use, and the scheduler that
 * chooses among them. Counts nodes, not names: which node serves a job is the
 * ledger's business (lib/core), so that a trace of years runs in a second.
 * Pure: time comes in, decisions go out; the caller acts and confirms.
 *
 *   submit ─▶ waiting ──start──▶ running ──ended──▶ gone
 *               ▲   ▲              │ kill
 *          held─┘   └──killed── killing        (or gone: drop)
 *
 * Every decision depends on the jobs only, never on the order in which indexes
 * were built: a manager restored from its records decides as the one before. */
#ifndef PHX_BATCH_BATCH_H
#define PHX_BATCH_BATCH_H

#include "base/record.h"

enum phx_batch_job_state {
	PHX_BATCH_BLOCKED, /* parents of a workflow are not complete */
	PHX_BATCH_HELD,
	PHX_BATCH_WAITING,
	PHX_BATCH_RUNNING,
	PHX_BATCH_KILLING, /* told to end: its nodes are still busy */
};
extern const struct phx_enum phx_batch_job_state_names;

/** One job as the scheduler sees it. */
#define PHX_BATCH_JOB_FIELDS(F, S) \
	F(S, id, U64) /* unique in the RE; ties are broken by it */ \
	/* its place in the queue, kept when it is requeued (policies.md, reading 11) */ \
	F(S, submit_ms, I64) \
	/* wall time the user named, or run time where a study knows it; -1 unknown: never \
	 * backfilled into a reservation, last under SJF */ \
	F(S, estimate_ms, I64) \
	F(S, start_ms, I64)  /* of the present run; 0 while waiting */ \
	F(S, size, U32)      /* nodes, at least 1 */ \
	F(S, kills, U32)     /* how often it was killed */ \
	F(S, waits_for, U32) /* parents not yet complete */ \
	/* of size: nodes that broke under the present run, phx_batch_lose_busy() */ \
	F(S, lost, U32) \
	F(S, state, ENUM(phx_batch_job_state)) \
	F(S, no_requeue, BOOL) /* a kill is its end */
PHX_RECORD_STRUCT(phx_batch_job, PHX_BATCH_JOB_FIELDS);

/** One row a scheduler (scheduler.def): name, one line for people, pass. */
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

struct phx_batch; /* owned by whoever made it */

struct phx_batch_config {
	int scheduler;  /* enum phx_scheduler */
	int kill_order; /* enum phx_kill_order */
	/* jobs are started by somebody else: a pass starts none, phx_batch_started() tells of
	 * them */
	bool foreign;
};

/** What policies and people ask of a manager; all in nodes unless said. O(1). */
struct phx_batch_counts {
	uint32_t idle;            /* may be given to a job now */
	uint32_t busy;            /* held by running and killing jobs */
	uint32_t killing;         /* of these, by killing ones */
	uint64_t waiting_nodes;   /* Q: sum of the sizes of waiting jobs */
	uint32_t waiting_biggest; /* big: largest waiting job, 0 when none waits */
	uint32_t n_waiting, n_running, n_held, n_blocked; /* jobs; killing ones are not running */
};

/** A manager with no job and no node. -EINVAL: no such scheduler or kill order; -ENOMEM. */
int phx_batch_new(const struct phx_batch_config *config, struct phx_batch **ret);
void phx_batch_free(struct phx_batch *b);
void phx_batch_counts(const struct phx_batch *b, struct phx_batch_counts *ret);
/** Borrowed until the next call that changes `b`; NULL when unknown. */
const struct phx_batch_job *phx_batch_job(const struct phx_batch *b, uint64_t id);

/** Take a job: held when its state says so, else blocked (waits_for > 0), else waiting. Its other
 * run-time fields (start_ms, kills, lost) are set by the manager. -EEXIST, -EINVAL (size 0, or said
 * to run), -ENOMEM. */
int phx_batch_submit(struct phx_batch *b, const struct phx_batch_job *job);
/** Put a job back exactly as phx_batch_job() gave it (from a snapshot); its nodes are counted busy
 * when it runs. -EEXIST, -EINVAL a record that phx_batch_job() could not have given, -ENOMEM. */
int phx_batch_restore(struct phx_batch *b, const struct phx_batch_job *job);
/** A parent is complete: at zero a blocked job waits; a held one stays held. -ENOENT, -EINVAL it
 * waits for none. */
int phx_batch_unblock(struct phx_batch *b, uint64_t id);
/** Keep a waiting or blocked job from starting; safe twice. -ENOENT, -EBUSY when it runs. */
int phx_batch_hold(struct phx_batch *b, uint64_t id);
/** Held no longer: it waits at its old place, or for its parents. Nothing happens to a job that is
 * not held. -ENOENT. */
int phx_batch_unhold(struct phx_batch *b, uint64_t id);
/** Forget a job that does not run. -EBUSY when it does (kill it first), -ENOENT. */
int phx_batch_cancel(struct phx_batch *b, uint64_t id);

/** The job ended by itself: its nodes are idle, it is gone (also a killing one whose end came
 * first). -ENOENT, -EINVAL not running. */
int phx_batch_ended(struct phx_batch *b, uint64_t id);
/** Somebody else started the job, on as many idle nodes as it now has (`size`). Under
 * config.foreign only. -ENOENT, -EBUSY it runs already, -ENOSPC, -EINVAL. */
int phx_batch_started(struct phx_batch *b, uint64_t id, uint32_t size, int64_t start_ms);
/** It was told to end; nodes stay busy until phx_batch_killed(). Safe twice. -ENOENT, -EINVAL not
 * running. */
int phx_batch_kill(struct phx_batch *b, uint64_t id);
/** The kill is confirmed: nodes idle; it waits again at its old place with kills + 1, or is gone
 * (no_requeue). Returns 1 when requeued, 0 when gone; -ENOENT, -EINVAL not being killed. */
int phx_batch_killed(struct phx_batch *b, uint64_t id);

/** Nodes come into the manager's hands idle / leave it idle. take: -ENOSPC when fewer are idle. */
void phx_batch_give(struct phx_batch *b, uint32_t nodes);
int phx_batch_take(struct phx_batch *b, uint32_t nodes);
/** Nodes of a running or killing job that broke: they are in no hand any more, and do not come back
 * with its end. The job must then be killed. -ENOENT, -EINVAL not running, or more than it has
 * left. */
int phx_batch_lose_busy(struct phx_batch *b, uint64_t id, uint32_t nodes);

/** One scheduling pass at `now_ms`: the jobs chosen are running from now on; their ids are appended
 * to ret_ids (struct uint64_t) in order of start. first-fit, fcfs, sjf: O(started · log waiting).
 * -ENOMEM: nothing was started. */
int phx_batch_pass(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);
/** A pass may start something: jobs or idle nodes changed since the last one. Time alone opens
 * nothing, under no scheduler: EASY's reservation stays where the estimates put it, also when they
 * run out (easy.c). O(1). */
bool phx_batch_pass_due(const struct phx_batch *b);

/** Choose whole running jobs, in the kill order, until their nodes reach `nodes` (or none is left);
 * appended to ret_ids. Chooses only; returns the nodes they hold together; -ENOMEM: ret_ids cannot
 * grow. Jobs that are being killed already are not chosen: what they hold is in counts.killing.
 * O(chosen + log running). */
int64_t phx_batch_victims(const struct phx_batch *b, uint32_t nodes, struct phx_list *ret_ids);

/** The waiting job that the scheduler looks at first; 0 when none waits. */
uint64_t phx_batch_first(const struct phx_batch *b);

/** Every job, in order of id, for snapshots and lists: appended to ret_jobs (struct phx_batch_job).
 * -ENOMEM: nothing was. O(n log n). */
int phx_batch_jobs(const struct phx_batch *b, struct phx_list *ret_jobs);

#endif
