/* What will happen in a run at a known time: a binary heap, earliest first;
 * entries of one time in the order of policies.md section 0, then by number,
 * so that no order of insertion shows. Used by run.c alone. */
#ifndef PHX_SIM_DUE_H
#define PHX_SIM_DUE_H

#include "base/util.h"

/** In the order in which they happen at one instant. */
enum phx_sim_due_kind {
	PHX_SIM_DUE_END,     /* a job ends by itself */
	PHX_SIM_DUE_KILLED,  /* a job that was told to end has */
	PHX_SIM_DUE_ARRIVED, /* nodes that were told to move have */
};

struct phx_sim_due {
	int64_t at_ms;
	uint8_t kind;
	int8_t from, to; /* ARRIVED: numbers of REs in the ledger, -1 free; else `to`: index of the RE */
	uint8_t cluster;
	uint32_t job; /* index in the workload; ARRIVED: nodes */
	uint32_t run; /* which run of the job this is about */
};

struct phx_sim_dues {
	struct phx_sim_due *heap; /* owned */
	size_t n, cap;
};
/** -ENOMEM. */
int phx_sim_due_push(struct phx_sim_dues *d, struct phx_sim_due due);
/** The earliest; NULL when there is none. Borrowed until the next call. */
static inline const struct phx_sim_due *phx_sim_due_top(const struct phx_sim_dues *d)
{
	return d->n ? &d->heap[0] : NULL;
}
/** Take the earliest out; there is one. */
struct phx_sim_due phx_sim_due_pop(struct phx_sim_dues *d);
void phx_sim_due_fini(struct phx_sim_dues *d);

#endif
