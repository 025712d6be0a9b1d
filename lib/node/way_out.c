/* How a plan leaves the system that its node runs: does a power cycle follow that needs nothing of
 * the node's agent? Then nobody waits for ever for an agent that does not take its former role off.
 * Called by take_back.c, which decides what follows from it, by order_jobs.c and heard.c; by
 * handover.c and core/orders.c for deadlines. Pure. */
#include "node/internal.h"
#include "node/wipes.h"

enum { MARGIN_S = 120 }; /* for a step beyond the grace times that were promised */

/* Must somebody believe the agent in its system that the step is done? */
static bool needs_agent(const struct phx_step_info *info)
{
	return info->executor == PHX_EXEC_CORE ||
		(info->executor == PHX_EXEC_AGENT && info->on_fail != PHX_ON_FAIL_CUT &&
		 info->on_fail != PHX_ON_FAIL_ERASE);
}

struct phx_step *phx_way_out(const struct phx_node *n)
{
	for (uint32_t i = n->plan.cursor; i < n->plan.steps.n; i++) {
		struct phx_step *step = PHX_LIST_AT(&n->plan.steps, struct phx_step, i);
		const struct phx_step_info *info = info_of(step);
		if (info->executor == PHX_EXEC_POWER ||
		    (info->on_fail == PHX_ON_FAIL_FALLBACK && n->plan.apart))
			return step;
		if (needs_agent(info))
			return NULL;
	}
	return NULL;
}

bool phx_cut_follows(const struct phx_state *s, const struct phx_node *n)
{
	return s->settings.takes_back && phx_node_has_bmc(n) && phx_way_out(n);
}

/* That of its row, and beyond it as long as a check takes. For a step that may be left out: the
 * grace times of role and job and a margin, if that is shorter. */
uint32_t phx_step_deadline_s(const struct phx_state *s, const struct phx_node *n,
			     const struct phx_step *step)
{
	uint32_t row_s = phx_wipes_deadline_s(n, step) + step->seconds;
	if (info_of(step)->on_fail != PHX_ON_FAIL_CUT || !phx_cut_follows(s, n))
		return row_s;
	const struct phx_role *role = phx_state_role(s, step->role);
	const struct phx_job *j = phx_index_job_on(s, n);
	/* jobs and requests have the role's grace one after the other */
	uint64_t most_s = MARGIN_S + (role ? 2 * (uint64_t)role->drain_grace_s : 0) +
		(j ? ((uint64_t)j->checkpoint_ms + j->grace_ms) / 1000 : 0);
	return most_s < row_s ? (uint32_t)most_s : row_s;
}

int64_t phx_step_due_ms(const struct phx_apply *a, const struct phx_node *n,
			const struct phx_step *step)
{
	const struct phx_role *role = phx_state_role(a->s, step->role);
	uint32_t s = phx_step_deadline_s(a->s, n, step);
	if (info_of(step)->executor == PHX_EXEC_DIRECTOR && role)
		s = role->drain_grace_s ? role->drain_grace_s : 1;
	return a->s->now_ms + (int64_t)s * 1000;
}
