/* The steps of a plan as a list. Called by all that change a plan in use; decides nothing. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

int phx_steps_add(struct phx_apply *a, struct phx_plan *plan, enum phx_step_kind kind,
		  const char *role)
{
	struct phx_step *step = phx_grow(a, &plan->steps, sizeof(*step));
	if (!step)
		return -ENOMEM;
	step->kind = (int)kind;
	step->expected_ms = phx_step_info(kind)->expected_ms;
	PHX_STR_SET(step->role, role);
	return 0;
}

struct phx_step *phx_steps_insert(struct phx_apply *a, struct phx_node *n, uint32_t at,
				  enum phx_step_kind kind)
{
	struct phx_list *l = &n->plan.steps;
	if (!phx_grow(a, l, sizeof(struct phx_step)))
		return NULL;
	struct phx_step *steps = l->items;
	memmove(&steps[at + 1], &steps[at], (l->n - 1 - at) * sizeof(*steps));
	steps[at] = (struct phx_step){.id = ++a->s->last_step_id,
				      .kind = (int)kind,
				      .expected_ms = phx_step_info(kind)->expected_ms,
				      .deadline_ms = a->s->now_ms};
	PHX_STR_SET(steps[at].role, n->plan.to_role);
	return &steps[at];
}
