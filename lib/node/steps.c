/* The steps of a plan as a list. Called by all that change a plan in use; decides nothing. Pure. */
#include "node/internal.h"

#include <string.h>

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
