/* Nodes that run several tasks side by side: which have cores and memory left, and which of them a
 * task goes to. Used by flow/plan.h. Pure. */
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
	struct phx_flow_slot node; /* what each has in all; memory 0: it is not counted */
};

/** All free. -ENOMEM; ret untouched then. */
int phx_flow_slots_init(uint32_t n_nodes, struct phx_flow_slot node, struct phx_flow_slots *ret);
/** Safe on a zeroed one. */
void phx_flow_slots_fini(struct phx_flow_slots *s);

/** Can so many nodes of this kind ever run the task? */
bool phx_flow_slots_can(const struct phx_flow_slots *s, const struct phx_flow_task *t);
/** Take what the task wants: on `wanted` if it fits there (where its inputs are; PHX_FLOW_NONE: no
 * matter), else on the fullest nodes that it fits on, so that wide ones find room. The nodes,
 * t->nodes of them, go to ret_nodes. False: it does not fit now, and nothing is taken. */
bool phx_flow_slots_take(struct phx_flow_slots *s, const struct phx_flow_task *t, uint32_t wanted,
			 uint32_t *ret_nodes);
/** Give back what the task took on these nodes. */
void phx_flow_slots_give(struct phx_flow_slots *s, const struct phx_flow_task *t,
			 const uint32_t *nodes);

#endif
