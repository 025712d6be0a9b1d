/* Systems that run from memory: a reset destroys them, also between the step that fetches a system
 * and the step that enters it. A system on the disk is then that of an earlier role, and must not
 * be entered: the plan fetches again. Called by heard.c and handover.c. Pure. */
#include "node/internal.h"

#include <stdio.h>

void phx_ram_system_reset(struct phx_apply *a, struct phx_node *n)
{
	if (phx_of_before(a->s) || !phx_node_step(n))
		return;
	for (uint32_t i = 0; i < n->plan.cursor; i++) {
		struct phx_step *step = PHX_LIST_AT(&n->plan.steps, struct phx_step, i);
		if (step->kind != PHX_STEP_ram || step->status != PHX_STEP_DONE)
			continue;
		step->status = PHX_STEP_FAILED;
		snprintf(step->error, sizeof(step->error),
			 "the node started again: what was in its memory is gone");
		phx_note(a, n,
			 "%s: the system in its memory is gone with a reset: it is fetched again",
			 n->name);
	}
}

bool phx_ram_system_lost(const struct phx_node *n)
{
	bool lacks = false;
	for (uint32_t i = 0; i < n->plan.cursor; i++) {
		const struct phx_step *step = PHX_LIST_AT(&n->plan.steps, struct phx_step, i);
		if (step->kind == PHX_STEP_ram)
			lacks = step->status == PHX_STEP_FAILED;
	}
	return lacks;
}
