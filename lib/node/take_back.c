/* A node is taken back from an owner who is root on it, and whose agent does not take its former
 * role off: it refuses, never answers, is silent, or says that it is not in its system any more.
 * Where the plan goes on with a power cycle, that ends all that runs on the machine: the step is
 * left out. Where the system stays up, or the machine has no BMC, it is not (handover.c):
 *
 *   drain, stop, leave ──last attempt failed────────────┐  ┌─yes─▶ left out, on to the power cycle
 *                      ──silent, or not in its system ──┴──┤
 *                                    a power cycle next?   └─no──▶ quarantine; or brought back
 *
 * Called by handover.c. Pure. */
#include "node/internal.h"

#include <stdio.h>

void phx_step_cut(struct phx_apply *a, struct phx_step *step)
{
	*step = (struct phx_step){.id = ++a->s->last_step_id,
				  .kind = PHX_STEP_boot,
				  .expected_ms = phx_step_info(PHX_STEP_boot)->expected_ms,
				  .deadline_ms = a->s->now_ms};
}

bool phx_take_back(struct phx_apply *a, struct phx_node *n, struct phx_step *step, const char *why)
{
	struct phx_plan *p = &n->plan;
	if (info_of(step)->on_fail != PHX_ON_FAIL_CUT || !phx_cut_follows(a->s, n))
		return false;
	phx_note_re(a, n, p->from_pool, p->to_pool,
		    "%s: step %s is left out, and a power cycle ends what runs there: %.200s",
		    n->name, info_of(step)->name, why);
	phx_order_jobs_end(a, n);
	if (!step->error[0])
		snprintf(step->error, sizeof(step->error), "%s", why);
	step->status = PHX_STEP_FAILED;
	step->ended_ms = a->s->now_ms;
	p->cursor++;
	struct phx_step *out = phx_way_out(n);
	if (info_of(out)->executor != PHX_EXEC_POWER) {
		phx_step_cut(a, out);
		p->tier = PHX_TIER_POWER;
		PHX_STR_SET(p->reason, "its agent does not take its former role off");
	}
	a->out->changed = true;
	return true;
}

bool phx_take_back_gone(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	return phx_take_back(a, n, step,
			     n->up ? "its system does not run any more" : "it is silent");
}
