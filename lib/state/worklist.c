/* The worklist of one event: work that a lower room leaves to an upper one, which it may not call.
 * The dispatcher (core/apply.c) has the table of functions that do the work, and settles the list
 * after the event's handler. Where the order of actions requires it, the list is settled sooner.
 * Entries are done in order. Pure. */
#include "state/apply.h"
#include "state/index.h"

struct work {
	enum phx_work_kind kind;
	uint32_t place; /* place of the node */
};

void phx_work_add(struct phx_apply *a, enum phx_work_kind kind, const struct phx_node *n)
{
	struct work *w = phx_grow(a, a->work, sizeof(*w));
	if (w)
		*w = (struct work){kind, n ? phx_index_place(a->s, n) : 0};
}

void phx_work_now(struct phx_apply *a, enum phx_work_kind kind, struct phx_node *n)
{
	a->do_work[kind](a, n);
}

void phx_work_settle(struct phx_apply *a)
{
	while (a->work->n) {
		struct work w = *PHX_LIST_AT(a->work, struct work, 0);
		phx_list_remove(a->work, sizeof(w), 0);
		a->do_work[w.kind](a, PHX_LIST_AT(&a->s->nodes, struct phx_node, w.place));
	}
}
