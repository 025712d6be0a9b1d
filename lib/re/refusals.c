/* Refused requests for REs: each is kept for its owner until he asks for that RE again. Called by
 * create.c and life.c. Pure. */
#include <string.h>

#include "re/internal.h"

static void drop(struct phx_state *s, uint32_t i)
{
	phx_list_remove(&s->refusals, sizeof(struct phx_re_refusal), i);
}

/* Makes room for one more refusal of this owner: his oldest ones go, then the oldest of all. */
static void make_room(struct phx_state *s, const char *owner)
{
	uint32_t n_own = 0;
	for (uint32_t i = s->refusals.n; i-- > 0;) {
		const struct phx_re_refusal *it =
			PHX_LIST_AT(&s->refusals, struct phx_re_refusal, i);
		if (!strcmp(it->owner, owner) && ++n_own >= PHX_RE_REFUSALS_MAX)
			drop(s, i);
	}
	while (s->refusals.n >= PHX_RE_REFUSALS_ALL_MAX)
		drop(s, 0);
}

void phx_refusal_forget(struct phx_state *s, const struct phx_agreement *g)
{
	for (uint32_t i = s->refusals.n; i-- > 0;) {
		const struct phx_re_refusal *it =
			PHX_LIST_AT(&s->refusals, struct phx_re_refusal, i);
		if (!strcmp(it->name, g->name) && !strcmp(it->owner, g->owner))
			drop(s, i);
	}
}

void phx_refusal_keep(struct phx_apply *a, const struct phx_re *re)
{
	phx_refusal_forget(a->s, &re->agreement);
	make_room(a->s, re->agreement.owner);
	struct phx_re_refusal *it = phx_grow(a, &a->s->refusals, sizeof(*it));
	if (!it)
		return;
	PHX_STR_SET(it->name, re->name);
	PHX_STR_SET(it->owner, re->agreement.owner);
	PHX_STR_SET(it->text, a->ev->text);
	PHX_STR_SET(it->by, a->by);
	it->asked_ms = re->asked_ms;
	it->at_ms = a->s->now_ms;
}
