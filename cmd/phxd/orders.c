/* What an agent is told with the answer to its beat: orders of the core, questions for logs, the
 * journal's last anchor. Called for live.c, which holds the beats and knows nothing of what is in
 * an answer. Reads only. */
#include "phxd/daemon.h"

#include <string.h>

static bool is_same(const struct beat_running *r, const struct phx_order *o)
{
	bool job = !strcmp(o->kind, "job");
	bool fits = r->kind[0] ? !strcmp(r->kind, o->kind) : !job;
	return fits && (uint64_t)r->id == o->id && (!job || r->run == (int64_t)o->run);
}

static bool is_running(const struct phx_list *running, const struct phx_order *o)
{
	/* a kill is for something that runs: it always goes out */
	if (!strcmp(o->kind, "kill"))
		return false;
	PHX_LIST_EACH(struct beat_running, r, running)
		if (is_same(r, o))
			return true;
	return false;
}

void orders_put(struct daemon *d, const char *node, const char *key_fp,
		const struct phx_list *running, struct phx_buf *b)
{
	struct phx_list orders = {0};
	const struct phx_state *s = engine_lock(d->engine);
	bool holds = phx_core_key_holds(s, node, key_fp);
	if (holds)
		phx_core_orders(s, node, &orders);
	engine_unlock(d->engine);
	if (!holds)
		return; /* a beat that was held since before the node had its present key */
	PHX_LIST_EACH(struct phx_order, o, &orders) {
		if (!is_running(running, o))
			view_order_put(d, o, b);
		phx_record_fini(&phx_order_record, o);
	}
	phx_list_fini(&orders);
	tasks_orders_put(d->tasks, node, running, b);
	logs_orders_put(d->logs, node, b);
	anchors_orders_put(d->anchors, running, b);
	keys_orders_put(d->keys, running, b);
}
