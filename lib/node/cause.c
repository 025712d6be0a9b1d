/* The cause of a plan: events name for every erase and overwrite who or what wanted it, be it a
 * person's order, a policy or an agreement. Called when a plan begins. Pure. */
#include "node/internal.h"
#include "node/plan.h"

bool phx_plan_has(const struct phx_plan *p, enum phx_step_kind kind)
{
	PHX_LIST_EACH(struct phx_step, s, &p->steps)
		if (s->kind == (int)kind)
			return true;
	return false;
}

bool phx_plan_takes_data(const struct phx_plan *p)
{
	return phx_plan_has(p, PHX_STEP_wipe) || phx_plan_has(p, PHX_STEP_destroy_key) ||
		phx_plan_has(p, PHX_STEP_scratch) || phx_plan_has(p, PHX_STEP_image);
}

void phx_say_cause(struct phx_apply *a, const struct phx_node_order *o, const char *why_erase,
		   struct phx_plan *plan)
{
	const char *request = phx_enum_name(&phx_event_kind_names, (int)o->kind);
	bool by_itself = !o->by[0] && o->text[0];
	bool erases = phx_plan_has(plan, PHX_STEP_wipe) || phx_plan_has(plan, PHX_STEP_destroy_key);
	const char *why = erases ? why_erase : "";
	if (by_itself)
		phx_put_text(a, &plan->cause, "%.120s%s%.110s", o->text, why[0] ? "; " : "", why);
	else
		phx_put_text(a, &plan->cause, "%s ordered%s%.100s%s%.110s", request,
			     o->by[0] ? " by " : "", o->by, why[0] ? "; " : "", why);
	if (!phx_of_before(a->s) && (erases || phx_plan_has(plan, PHX_STEP_image)))
		phx_note_re(a, o->node, o->node->tenant_pool, plan->to_pool, "%s is %s: %.200s",
			    o->node->name, erases ? "erased" : "installed anew",
			    phx_text(plan->cause));
}
