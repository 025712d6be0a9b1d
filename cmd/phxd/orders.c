/* What an agent is told with the answer to its beat: orders of the core, questions for logs. Called
 * for live.c, which holds the beats and knows nothing of what is in an answer. Reads only. */
#include "phxd/daemon.h"

#include <string.h>

/* Beats list what runs: a step as its id, a run of a job as [ID, RUN], what stands by its kind:
 * ["table", ID]. */
static bool is_same(const json_t *it, const struct phx_order *o)
{
	const json_t *first = json_array_get(it, 0), *second = json_array_get(it, 1);
	json_int_t id = (json_int_t)o->id;
	if (json_is_string(first))
		return !strcmp(json_string_value(first), o->kind) &&
			json_integer_value(second) == id;
	if (!strcmp(o->kind, "job"))
		return json_is_integer(first) && json_integer_value(first) == id &&
			json_integer_value(second) == (json_int_t)o->run;
	return json_is_integer(it) && json_integer_value(it) == id;
}

static bool is_running(const json_t *running, const struct phx_order *o)
{
	size_t i;
	json_t *it;
	/* a kill is for something that runs: it always goes out */
	if (!strcmp(o->kind, "kill"))
		return false;
	json_array_foreach((json_t *)running, i, it) {
		if (is_same(it, o))
			return true;
	}
	return false;
}

json_t *orders_of(struct daemon *d, const char *node, const json_t *running)
{
	struct phx_list orders = {0};
	json_t *a = json_array();
	const struct phx_state *s = engine_lock(d->engine);
	phx_core_orders(s, node, &orders);
	engine_unlock(d->engine);
	PHX_LIST_EACH(struct phx_order, o, &orders) {
		if (!is_running(running, o))
			json_array_append_new(a, view_order(d, o));
		phx_record_fini(&phx_order_record, o);
	}
	phx_list_fini(&orders);
	logs_orders(d->logs, node, a);
	return a;
}
