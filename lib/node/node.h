/* Nodes: their enrolment, their orders, the plan that each follows, and reports of agents, BMCs and
 * the key store. Called by REs and the dispatcher. Orders: node/order.h; the ledger's count:
 * node/holding.h; balancers: node/director.h; plans: node/plan.h. Pure. */
#ifndef PHX_NODE_NODE_H
#define PHX_NODE_NODE_H

#include "state/apply.h"

/* live.c, keys.c: deadlines */
/** A deadline of the node has passed. */
void phx_node_tick(struct phx_apply *a, struct phx_node *n);
void phx_keys_tick(struct phx_apply *a);

/* start.c */
/** The start whose token a machine is given that boots, or asks again, from `address`; 0: none. It
 * is given to the node's reserved address, or else to the one that it last registered from, as
 * often as it asks, until it is used; and to no node that is heard. */
uint64_t phx_start_given(const struct phx_node *n, const char *address);
/** phx_core_key_holds() */
bool phx_node_key_holds(const struct phx_node *n, const char *key_fp);

/* keys.c */
/** May this node be given this disk key? It may have the key of its disk, and the key that its plan
 * made for the image that it writes; a quarantined node gets none. */
bool phx_key_may_have(const struct phx_node *n, const char *key_id);

/* handover.c */
/** Issues steps that can be issued, and ends a plan that is done. Safe to call at any time. */
void phx_handover_advance(struct phx_apply *a, struct phx_node *n);
void phx_quarantine(struct phx_apply *a, struct phx_node *n, const char *why);

/* request.c */
/** Rules give a ready, idle node its role, if automatic assignment is on. */
void phx_auto_assign(struct phx_apply *a, struct phx_node *n);

/* role_update.c */
/** Before a role is replaced: its old definition stays known for as long as nodes run it.
 * -ENOMEM. */
int phx_former_keep(struct phx_apply *a, const struct phx_role *old, const struct phx_role *put);
/** The role of a step, in the step's version, and with the image of the pool that the node goes to
 * (phx_state_role_in()); NULL: it has none, or the role was removed. */
const struct phx_role *phx_step_role(const struct phx_state *s, const struct phx_node *n,
				     const struct phx_step *step, struct phx_role *store);

#endif
