/* An order on one node, from an event or from the core itself, in the form that planning and
 * order_jobs.c read. Called by the handlers of orders. Pure. */
#include "node/internal.h"

#include <errno.h>

int phx_need_node(struct phx_apply *a, struct phx_node **ret)
{
	*ret = phx_state_node(a->s, a->ev->node);
	return *ret ? 0 : phx_err_set(a->err, -ENOENT, "there is no node '%s'", a->ev->node);
}

/* An older journal says it in words. */
static enum phx_power_op power_op(const struct phx_event_head *ev, const struct phx_event_order *p)
{
	enum phx_power_op op = (enum phx_power_op)p->op;
	if (op == PHX_POWER_NONE && ev->kind == PHX_EV_power)
		phx_power_op_parse(ev->text, PHX_POWER_STATUS, &op, NULL);
	return op;
}

struct phx_node_order phx_order_of(const struct phx_event_head *ev, const struct phx_event_order *p,
				   const struct phx_node *n)
{
	return (struct phx_node_order){.kind = (enum phx_event_kind)ev->kind,
				       .node = n,
				       .by = ev->by,
				       .text = ev->text,
				       .role = p->role,
				       .pool = p->pool,
				       .has_setup = p->has_setup,
				       .setup = p->setup,
				       .encrypt = p->encrypt,
				       .pin = p->pin,
				       .power_cycle = p->power_cycle,
				       .force = p->force,
				       .when_idle = p->when_idle,
				       .op = power_op(ev, p),
				       .jobs = (enum phx_jobs_say)p->jobs,
				       .may_end = &p->may_end,
				       .has_grace = p->has_grace,
				       .with = p->with,
				       .for_s = p->for_s,
				       .grace_ms = p->grace_ms};
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
				       .with = "",
				       .jobs = PHX_JOBS_UNSAID,
				       .may_end = &none};
}

int phx_need_order(struct phx_apply *a, const struct phx_event_order *p, struct phx_node **ret_node,
		   struct phx_node_order *ret)
{
	int r = phx_need_node(a, ret_node);
	if (r < 0)
		return r;
	*ret = phx_order_of(a->ev, p, *ret_node);
	a->jobs = ret->jobs;
	return 0;
}
