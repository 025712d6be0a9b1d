/* Nodes that run several tasks side by side: which have free cores and memory, and where a task is
 * placed. Used by flow/plan.h. Pure. */
#ifndef PHX_FLOW_SLOTS_H
#define PHX_FLOW_SLOTS_H

#include "flow/flow.h"

struct phx_flow_slot {
	uint32_t cores; /* free */
	uint64_t memory_bytes;
};

struct phx_flow_slots {
	struct phx_flow_slot *free; /* of each node */
	uint32_t n_nodes;
	struct phx_flow_slot node; /* the total of each node; memory 0: not counted */
};

/** All nodes are free. -ENOMEM; ret is untouched then. */
int phx_flow_slots_init(uint32_t n_nodes, struct phx_flow_slot node, struct phx_flow_slots *ret);
/** Safe on zeroed slots. */
void phx_flow_slots_fini(struct phx_flow_slots *s);

/** Can this many nodes of this kind ever run the task? */
bool phx_flow_slots_can(const struct phx_flow_slots *s, const struct phx_flow_task *t);
/** Places a task: on `wanted` if it fits there (where its inputs are; PHX_FLOW_NONE: none), else on
 * the fullest nodes on which it fits, so that room is left for wide ones. ret_nodes gets its
 * t->nodes nodes. False: it does not fit now, and nothing is taken. */
bool phx_flow_slots_take(struct phx_flow_slots *s, const struct phx_flow_task *t, uint32_t wanted,
			 uint32_t *ret_nodes);
/** Gives back what the task took on these nodes. */
void phx_flow_slots_give(struct phx_flow_slots *s, const struct phx_flow_task *t,
			 const uint32_t *nodes);

#endif
