/* Which job is killed first when nodes must be given back: the orders of killorder.def. Chooses
 * jobs, kills none. Called by the ledger for a forced return. */
#include "batch/internal.h"

#include <errno.h>

static const char *const labels[] = {
#define KILL_ORDER(name, label, ...) label,
#include "batch/killorder.def"
#undef KILL_ORDER
};
const struct phx_enum phx_kill_order_names = {"kill order", labels, PHX_ARRAY_SIZE(labels)};

const char *phx_kill_order_text(enum phx_kill_order o)
{
	static const char *const texts[] = {
#define KILL_ORDER(name, label, first, second, text) text,
#include "batch/killorder.def"
#undef KILL_ORDER
	};
	return texts[o];
}

#define KILL_ORDER(name, label, first, second, text) \
	static void order_##name(const struct phx_batch_job *j, struct phx_batch_node *n) \
	{ \
		n->a = first; \
		n->b = second; \
	}
#include "batch/killorder.def"
#undef KILL_ORDER

void phx_batch_order_kill(enum phx_kill_order order, const struct phx_batch_job *j,
			  struct phx_batch_node *ret_key)
{
	static void (*const orders[])(const struct phx_batch_job *, struct phx_batch_node *) = {
#define KILL_ORDER(name, ...) order_##name,
#include "batch/killorder.def"
#undef KILL_ORDER
	};
	orders[order](j, ret_key);
	ret_key->c = ~j->id;
}

int64_t phx_batch_victims(const struct phx_batch *b, uint32_t nodes, struct phx_list *ret_ids)
{
	uint32_t sum = 0;
	for (uint32_t i = b->running.first; i && sum < nodes;
	     i = phx_batch_tree_next(&b->running, i)) {
		uint32_t held = phx_batch_held(&b->jobs[i]);
		uint64_t *id = held ? phx_list_push(ret_ids, sizeof(*id)) : NULL;
		if (held && !id)
			return -ENOMEM;
		if (held)
			*id = b->jobs[i].id;
		sum += held;
	}
	return sum;
}
