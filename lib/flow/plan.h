/* Planning: what would happen if a workflow were carried out on so many nodes, by the expected
 * times of its tasks, several side by side on a node, first come, first served, those of several
 * nodes before the others. Used by `phx workflow plan`. Task states are those of real runs
 * (flow/run.h); only time is simulated. Pure. */
#ifndef PHX_FLOW_PLAN_H
#define PHX_FLOW_PLAN_H

#include "flow/run.h"
#include "flow/slots.h"

struct phx_flow_plan_options {
	uint32_t n_nodes;
	struct phx_flow_slot node;                 /* memory 0: not counted */
	bool (*is_done)(void *arg, uint32_t task); /* as phx_flow_run_init(); may be NULL */
	bool (*fails)(void *arg, uint32_t task);   /* asked at each run; may be NULL */
	void *arg;
};

struct phx_flow_planned {
	int64_t begin_ms, end_ms; /* of its last run; -1: it never begins */
	uint32_t node;            /* the first of its nodes */
	uint32_t n_runs;
	uint32_t state; /* enum phx_flow_task_state */
};

struct phx_flow_plan {
	struct phx_flow_planned *tasks; /* indexed as the tasks of the workflow */
	int64_t end_ms;                 /* when the last one ends */
	int64_t busy_core_ms;           /* integral of the cores in use */
	uint32_t n_runs;
	enum phx_flow_status status;
};

/** Plans a workflow. -EINVAL "task "ID": ...": its run time is unknown, or it never fits;
 * -EOVERFLOW: the end is too late to be represented; -ENOMEM; ret is untouched then. Owned by the
 * caller: phx_flow_plan_fini(). */
int phx_flow_plan(const struct phx_flow *f, const struct phx_flow_plan_options *options,
		  struct phx_flow_plan *ret, struct phx_err *err);
/** Safe on a zeroed plan. */
void phx_flow_plan_fini(struct phx_flow_plan *p);

#endif
