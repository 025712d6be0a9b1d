/* The owner of a machine, who is root on it, and would rather keep it: does he let its agent do
 * what it is told? Called by agent.c; decides nothing of what is done instead. */
#include "fault/parts.h"

#include <errno.h>

/* Does the plan go on with a power cycle? Then a refusal explains no quarantine. */
static bool is_cut_next(const struct fault_sim *f, const struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	bool boots = false;
	for (uint32_t i = n ? n->plan.cursor : 0; n && i < n->plan.steps.n; i++)
		boots = boots ||
			PHX_LIST_AT(&n->plan.steps, struct phx_step, i)->kind == PHX_STEP_boot;
	return m->bmc && boots;
}

bool phx_fault_refuses(struct fault_sim *f, struct fault_machine *m, struct fault_done *done)
{
	if (f->now >= m->refuses_until)
		return false;
	done->result = -EPERM;
	if (!is_cut_next(f, m))
		phx_fault_cause(f, m);
	return true;
}
