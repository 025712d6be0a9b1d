/* Checks of nodes: the plan of one, what its answers count, and what a pool asks for. See check.c.
 * Pure. */
#ifndef PHX_NODE_CHECK_H
#define PHX_NODE_CHECK_H

#include "node/order.h"

/** Makes the plan of an order that checks a node which nobody holds; after phx_plan_may().
 * -EPERM somebody holds it, or it waits for an erase; -EINVAL the order names parts or a time that
 * there are not; -ENODEV it has no disk that could be checked; -EHOSTUNREACH it must be started,
 * and has no BMC; -EOPNOTSUPP its agent is too old; -ENOMEM: each with a text. The caller frees
 * *ret by phx_record_fini(). */
int phx_check_plan(const struct phx_state *s, const struct phx_node_order *o, struct phx_plan *ret,
		   struct phx_err *err);

/** May the node come into the pool as far as checks are concerned? -EPERM with a text that says
 * what it lacks. */
int phx_check_suffices(const struct phx_state *s, const struct phx_node *n,
		       const struct phx_pool *pool, struct phx_err *err);

/** Why the answer to a step of a check does not count; NULL: it does. A constant. */
const char *phx_check_fault(const struct phx_step *step, const struct phx_event_answer *p);

/** Records what came of the step, which is done or has failed. */
void phx_check_take(struct phx_apply *a, struct phx_node *n, const struct phx_step *step,
		    const struct phx_check *said);

/** A part did not pass, or the machine did not bear it: the node, which has no plan any more, is
 * out of service. */
void phx_check_failed(struct phx_apply *a, struct phx_node *n, const char *why);

#endif
