/* What will happen in a run at a known time: a heap, earliest first;
 * entries of one time in the order of policies.md section 0, then by number,
 * so that no order of insertion shows. Used by run.c alone. */
#ifndef PHX_SIM_DUE_H
#define PHX_SIM_DUE_H

#include "base/heap.h"

/** In the order in which they happen at one instant. */
enum phx_sim_due_kind {
	PHX_SIM_DUE_END,     /* a job ends by itself */
	PHX_SIM_DUE_KILLED,  /* a job that was told to end has */
	PHX_SIM_DUE_ARRIVED, /* nodes that were told to move have */
};

struct phx_sim_due {
	int64_t at_ms;
	uint8_t kind;
	/* ARRIVED: numbers of REs in the ledger, -1 free; else `to`: index of the RE */
	int8_t from, to;
	uint8_t cluster;
	uint32_t job; /* index in the workload; ARRIVED: nodes */
	uint32_t run; /* which run of the job this is about */
};

static inline bool phx_sim_due_before(const struct phx_sim_due *a, const struct phx_sim_due *b)
{
	if (a->at_ms != b->at_ms)
		return a->at_ms < b->at_ms;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	if (a->cluster != b->cluster)
		return a->cluster < b->cluster;
	if (a->to != b->to)
		return a->to < b->to;
	if (a->from != b->from)
		return a->from < b->from;
	return a->job != b->job ? a->job < b->job : a->run < b->run;
}
PHX_HEAP(phx_sim_due, struct phx_sim_due, phx_sim_due_before)

#endif
