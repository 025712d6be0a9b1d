/* A workflow that is being carried out: which tasks are ready, the effects of a task's end or
 * failure, and how a person holds, cancels and resumes it. The caller reports acts in the order in
 * which they happened, and begins what is ready: the same acts give the same state. Nothing is
 * allocated after the beginning. An end costs as much as the task has children, a final failure up
 * to its descendants or all tasks, an act on the whole all tasks. Used by flow/plan.h, and by the
 * code that carries out workflows. Pure. */
#ifndef PHX_FLOW_RUN_H
#define PHX_FLOW_RUN_H

#include "flow/flow.h"

/** States of a task: flow/task_life.def. */
enum phx_flow_task_state {
	PHX_FLOW_TASK_WAITING,
	PHX_FLOW_TASK_READY,
	PHX_FLOW_TASK_RUNNING,
	PHX_FLOW_TASK_DONE,
	PHX_FLOW_TASK_FAILED,
	PHX_FLOW_TASK_SKIPPED,
	PHX_FLOW_TASK_STATES,
};
extern const struct phx_enum phx_flow_task_state_names;
/** May `to` follow `from` in the life of a task? */
bool phx_flow_task_may(enum phx_flow_task_state from, enum phx_flow_task_state to);

/** What happened. */
enum phx_flow_act {
	PHX_FLOW_BEGIN,    /* a ready task begins */
	PHX_FLOW_DONE,     /* it ended well, its outputs exist */
	PHX_FLOW_FAIL,     /* it failed: it begins again while it has retries */
	PHX_FLOW_LOSE,     /* its node is gone, or it was preempted: it begins again */
	PHX_FLOW_HOLD_ALL, /* of the whole: nothing begins from now on; running tasks go on */
	PHX_FLOW_RELEASE,  /* of the whole: ends a hold; skips what depends on failed tasks */
	PHX_FLOW_CANCEL, /* of the whole: nothing begins any more; the caller ends running tasks */
	PHX_FLOW_RESUME, /* of the whole: failed and skipped tasks are to be done after all */
	/* of the whole, while no task runs: are the outputs of done tasks still what they were?
	 * Each that has some is to be done again, by whoever looks first whether they are there
	 * (phx_flow_run_had()); the others are done as soon as all for which they wait are */
	PHX_FLOW_CHECK,
};

/** The status of a whole workflow. */
enum phx_flow_status {
	PHX_FLOW_ACTIVE,   /* something runs, or may begin */
	PHX_FLOW_ON_HOLD,  /* by a person, or by a task that failed */
	PHX_FLOW_ENDING,   /* nothing begins any more, something still runs */
	PHX_FLOW_COMPLETE, /* every task is done */
	PHX_FLOW_BROKEN,   /* it ended with tasks that failed */
	PHX_FLOW_CANCELLED,
};
extern const struct phx_enum phx_flow_status_names;

struct phx_flow_run_task {
	uint32_t n_left;     /* parents not yet done */
	uint32_t prev, next; /* in the list of ready tasks; PHX_FLOW_NONE */
	uint16_t n_failures; /* since the last resume */
	uint8_t state;       /* enum phx_flow_task_state */
};

/** What is known of a task's outputs. */
enum phx_flow_had_kind {
	PHX_FLOW_HAD_NONE,
	PHX_FLOW_HAD_SUM,   /* their digest when it was done */
	PHX_FLOW_HAD_STALE, /* the same, but what they are made of is another one now */
	/* it was done, and there is nothing to look at: it is done again by itself, unless a task
	 * for which it waits made other outputs than before */
	PHX_FLOW_HAD_PASSES,
};
struct phx_flow_had {
	uint8_t sha256[32];
	uint8_t kind; /* enum phx_flow_had_kind */
};
/** A run of more tasks does not keep digests: what is done in it stays done. */
#define PHX_FLOW_HAD_MAX 200000

struct phx_flow_run {
	const struct phx_flow *flow; /* borrowed */
	struct phx_flow_run_task *tasks;
	struct phx_flow_had *had; /* of each task; NULL: nothing is known */
	/* ready tasks in the order in which they became so, [1]: those of several nodes;
	 * PHX_FLOW_NONE */
	uint32_t first[2], last[2];
	uint32_t n[PHX_FLOW_TASK_STATES];
	/* the sum of what ready tasks of one node require; n_whole: those that require all its
	 * cores */
	uint64_t ready_cores, ready_bytes;
	uint32_t n_whole;
	bool held, stopped, cancelled;
};

/** Begins a run. `is_done(arg, task)` is asked about each task whose parents are all done: do its
 * outputs already exist, by digest, from an earlier run? Then it counts as done, too. NULL: none
 * does. `flow` is borrowed until phx_flow_run_fini(). -ENOMEM; ret is untouched then. */
int phx_flow_run_init(const struct phx_flow *flow, bool (*is_done)(void *arg, uint32_t task),
		      void *arg, struct phx_flow_run *ret);
/** Restores a saved run: `tasks` (taken; with the state and failures of each) and the n_ready ready
 * ones in their order. The caller sets held, stopped and cancelled afterwards. -EINVAL: they
 * contradict the workflow. On failure `tasks` is freed and ret untouched. */
int phx_flow_run_restore(const struct phx_flow *flow, struct phx_flow_run_task *tasks,
			 const uint32_t *ready, uint32_t n_ready, struct phx_flow_run *ret);
/** Safe on NULL and on a zeroed run. */
void phx_flow_run_fini(struct phx_flow_run *run);

/** Reports an act; `task` only matters for acts on one task. 0; -EALREADY: it was so before (a
 * result reported twice, a workflow held twice); -EINVAL: impossible in this state (a task that is
 * not ready begins, one that does not run ends); -EBUSY: tasks run. On an error nothing changes. */
int phx_flow_run_act(struct phx_flow_run *run, enum phx_flow_act act, uint32_t task);

/** The digest of a task's outputs (64 hexadecimal digits; "": it has none), before PHX_FLOW_DONE is
 * reported: if it is another one than before, those of the tasks that wait for it count no more.
 * -ENOMEM, -EINVAL: malformed; nothing is changed then. */
int phx_flow_run_note(struct phx_flow_run *run, uint32_t task, const char *sha256);
/** Should whoever begins the task look first whether its outputs are there with this digest? ""
 * if not. */
void phx_flow_run_had(const struct phx_flow_run *run, uint32_t task, char ret[65]);

/** The ready task of one node that may begin next, or, of those of several nodes, the first;
 * PHX_FLOW_NONE: none, or nothing may begin. Those of several nodes are a list of their own, so
 * that they hold up nobody: the one behind it is run->tasks[task].next. */
static inline uint32_t phx_flow_run_next(const struct phx_flow_run *run)
{
	return run->held || run->stopped || run->cancelled ? PHX_FLOW_NONE : run->first[0];
}
static inline uint32_t phx_flow_run_next_wide(const struct phx_flow_run *run)
{
	return run->held || run->stopped || run->cancelled ? PHX_FLOW_NONE : run->first[1];
}
enum phx_flow_status phx_flow_run_status(const struct phx_flow_run *run);

#endif
