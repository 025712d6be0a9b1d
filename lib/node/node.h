/* Nodes: enrolment, orders, the plan that each node follows, and reports of agents, BMCs and the
 * key store. Called by REs and the dispatcher. Orders: node/order.h; how the ledger counts nodes:
 * node/holding.h; directors: node/director.h; plans: node/plan.h. Pure. */
#ifndef PHX_NODE_NODE_H
#define PHX_NODE_NODE_H

#include "state/apply.h"

/* heard.c, keys.c: deadlines */
/** Handles the node's deadlines that have passed; for keys, orders again the destruction of doomed
 * ones. */
void phx_node_tick(struct phx_apply *a, struct phx_node *n);
void phx_keys_tick(struct phx_apply *a);

/* line.c */
/** Begins the reboots whose turn has come; `n` is not looked at. */
void phx_lines_settle(struct phx_apply *a, struct phx_node *n);

/* start.c */
/** The start whose token is given to a machine that boots, or asks again, from `address`; 0: none.
 * It must ask from the node's reserved address or, if there is none, from the one that the node
 * last registered from. It may ask again until the token is used. A node that is up gets none,
 * unless step kexec starts it. */
uint64_t phx_start_given(const struct phx_node *n, const char *address);
/** Name of the node that the machine says it is, borrowed from the state; "": of none, or of
 * two. */
const char *phx_enrolling(const struct phx_state *s, const struct phx_event_enrol *p);
/** See phx_core_key_holds(). */
bool phx_node_key_holds(const struct phx_node *n, const char *key_fp);

/* keys.c */
/** May the node be given this disk key? It may have its disk's key, and the key that its plan made
 * for the image that it is writing; a quarantined node gets none. */
bool phx_key_may_have(const struct phx_node *n, const char *key_id);

/* handover.c */
/** Issues the steps that can be issued, and ends the plan after its last one. May be called at any
 * time. */
void phx_handover_advance(struct phx_apply *a, struct phx_node *n);
/** Takes the node out of service for `why`: drops its plan and its pool, and ends its job. */
void phx_quarantine(struct phx_apply *a, struct phx_node *n, const char *why);

/* way_out.c */
/** How many seconds an attempt of the agent's step may take. */
uint32_t phx_step_deadline_s(const struct phx_state *s, const struct phx_node *n,
			     const struct phx_step *step);

/* request.c */
/** Assigns a ready, idle node its role by the rules, if automatic assignment is on. */
void phx_auto_assign(struct phx_apply *a, struct phx_node *n);
/** Orders a serving node away whose agent does not say that its job has ended (unheard.c). */
void phx_take_back_unheard(struct phx_apply *a, struct phx_node *n);

/* role_update.c */
/** Call it before a role is replaced by `put`: keeps a copy of the old definition for as long as
 * nodes run it. -ENOMEM. */
int phx_former_keep(struct phx_apply *a, const struct phx_role *old, const struct phx_role *put);
/** The role of a step, in the step's version and with the image of the pool that the node goes to
 * (phx_state_role_in(), which may use `store`); NULL: it has none, or the role was removed. */
const struct phx_role *phx_step_role(const struct phx_state *s, const struct phx_node *n,
				     const struct phx_step *step, struct phx_role *store);

#endif
