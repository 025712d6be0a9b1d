/* An order on one node, from an event or from the core itself, in the form that
 * planning and spare.c read. Pure. */
#include "node/internal.h"

#include <errno.h>

int phx_need_node(struct phx_apply *a, struct phx_node **ret)
{
	*ret = phx_state_node(a->s, a->ev->node);
	return *ret ? 0 : phx_err_set(a->err, -ENOENT, "there is no node '%s'", a->ev->node);
}

struct phx_node_order phx_order_of(const struct phx_event *ev, const struct phx_node *n)
{
	return (struct phx_node_order){.kind = (enum phx_event_kind)ev->kind,
				       .node = n,
				       .by = ev->by,
				       .text = ev->text,
				       .role = ev->role,
				       .pool = ev->pool,
				       .has_setup = ev->has_setup,
				       .setup = ev->setup,
				       .encrypt = ev->encrypt,
				       .pin = ev->pin,
				       .power_cycle = ev->power_cycle,
				       .force = ev->force,
				       .jobs = (enum phx_jobs_say)ev->jobs,
				       .may_end = &ev->may_end,
				       .has_grace = ev->has_grace,
				       .grace_ms = ev->grace_ms};
}

struct phx_node_order phx_order_own(enum phx_event_kind kind, const struct phx_node *n,
				    const char *why)
{
	static const struct phx_list none = {0};
	return (struct phx_node_order){.kind = kind,
				       .node = n,
				       .by = "",
				       .text = why,
				       .role = "",
				       .pool = "",
				       .jobs = PHX_JOBS_UNSAID,
				       .may_end = &none};
}

int phx_need_order(struct phx_apply *a, struct phx_node **ret_node, struct phx_node_order *ret)
{
	int r = phx_need_node(a, ret_node);
	if (r == 0)
		*ret = phx_order_of(a->ev, *ret_node);
	return r;
}
