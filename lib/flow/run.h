/* A workflow that is being carried out: which tasks are ready, what the end of one brings about,
 * what a failure does, how a person holds, ends and resumes it. The caller says what happened, in
 * the order in which it happened, and begins what is ready: the same acts give the same state. An
 * act costs as much as the task has children, and nothing is allocated after the beginning. Used by
 * flow/plan.h, and by whoever carries workflows out. Pure. */
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
/** Does the life of a task have this step? */
bool phx_flow_task_may(enum phx_flow_task_state from, enum phx_flow_task_state to);

/** What happened. */
enum phx_flow_act {
	PHX_FLOW_BEGIN,    /* a ready task begins */
	PHX_FLOW_DONE,     /* it ended well, its outputs are there */
	PHX_FLOW_FAIL,     /* it ended, and not well: it begins again while it has retries */
	PHX_FLOW_LOSE,     /* its node is gone, or it was ended for another: it begins again */
	PHX_FLOW_HOLD_ALL, /* of the whole: nothing begins from now on; what runs goes on */
	PHX_FLOW_RELEASE,  /* of the whole: what was held begins; what failed is left as it is */
	PHX_FLOW_CANCEL,   /* of the whole: nothing begins any more; the caller ends what runs */
	PHX_FLOW_RESUME,   /* of the whole: what failed or was skipped is done after all */
};

/** What a whole workflow is about. */
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
	uint32_t n_left;     /* parents that are not done */
	uint32_t prev, next; /* in the list of the ready ones; PHX_FLOW_NONE */
	uint16_t n_failures; /* since it was resumed */
	uint8_t state;       /* enum phx_flow_task_state */
};

struct phx_flow_run {
	const struct phx_flow *flow; /* borrowed */
	struct phx_flow_run_task *tasks;
	uint32_t first, last; /* ready tasks, as they became ready; PHX_FLOW_NONE */
	uint32_t n[PHX_FLOW_TASK_STATES];
	/* what the ready ones want together; n_whole: those that want all the cores of a node */
	uint64_t ready_cores, ready_bytes;
	uint32_t n_whole;
	bool held, stopped, cancelled;
};

/** Begin. `is_done(arg, task)` is asked of each task whose parents all are done: is what it would
 * make there already, by digest, from an earlier run? Then it is done, too. NULL: none is. `flow`
 * is borrowed until phx_flow_run_fini(). -ENOMEM; ret untouched then. */
int phx_flow_run_init(const struct phx_flow *flow, bool (*is_done)(void *arg, uint32_t task),
		      void *arg, struct phx_flow_run *ret);
/** Begin where a saved one was: `tasks` (taken, with the state and the failures of each) and the
 * ready ones in their order, n_ready of them. Whether it holds, was stopped or cancelled the caller
 * sets afterwards. -EINVAL: they contradict the workflow; -ENOMEM; `tasks` is freed, ret untouched
 * then. */
int phx_flow_run_restore(const struct phx_flow *flow, struct phx_flow_run_task *tasks,
			 const uint32_t *ready, uint32_t n_ready, struct phx_flow_run *ret);
/** Safe on NULL and on a zeroed one. */
void phx_flow_run_fini(struct phx_flow_run *run);

/** Something happened; `task`: for those acts that are of one. 0; -EALREADY: it was so before (a
 * result told twice, a workflow held twice), and nothing changed; -EINVAL: that cannot happen in
 * this state (a task that is not ready begins, one that does not run ends), and nothing changed. */
int phx_flow_run_act(struct phx_flow_run *run, enum phx_flow_act act, uint32_t task);

/** The ready task that may begin next; PHX_FLOW_NONE: none, or nothing may begin. */
static inline uint32_t phx_flow_run_next(const struct phx_flow_run *run)
{
	return run->held || run->stopped || run->cancelled ? PHX_FLOW_NONE : run->first;
}
enum phx_flow_status phx_flow_run_status(const struct phx_flow_run *run);

#endif
