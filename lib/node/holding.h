/* How the ledger counts a node, and how a node leaves it: see holding.c. Pure. */
#ifndef PHX_NODE_HOLDING_H
#define PHX_NODE_HOLDING_H

#include "state/apply.h"

/** The ledger's number of an RE by name; PHX_LEDGER_FREE for "" and for REs that are not active. */
int phx_holding_number(const struct phx_state *s, const char *name);
/** Takes the node out of the ledger, however it was counted there (coming, held or away). */
void phx_holding_lose(struct phx_apply *a, struct phx_node *n);
/** The same, if the ledger counts the node at all: it is about to be forgotten, or broke under a
 * job. */
void phx_holding_leave(struct phx_apply *a, struct phx_node *n);
/** The node's job is lost with the node: the node is away from now on if its RE keeps it, or else
 * leaves the ledger. */
void phx_holding_job_lost(struct phx_apply *a, struct phx_node *n);
/** The RE of a node that is out of service, if that RE would not take it back now, so that the node
 * is released when it is in service again. NULL: the RE would, or the node stays anyway. Costly,
 * since it tries on a copy of the ledger: only for orders by hand. */
const struct phx_re *phx_holding_full(struct phx_apply *a, const struct phx_node *n);
/** Does the node's RE keep it although it does not serve now? */
bool phx_away_may(const struct phx_state *s, const struct phx_node *n);
/** A held node does not serve: it is away from now on, and so is its job if it has one. */
void phx_away_begin(struct phx_apply *a, struct phx_node *n);
/** Checks whether an away node is back, lost or still away; the tick gives it up when its time is
 * over. */
void phx_away_look(struct phx_apply *a, struct phx_node *n);
void phx_away_tick(struct phx_apply *a, struct phx_node *n);
/** The RE is deactivated: nodes of it that cannot be released now are released when they are heard.
 * If it is activated again first, it keeps them. */
void phx_away_deactivated(struct phx_apply *a, const struct phx_re *re);
void phx_away_activated(struct phx_apply *a, const struct phx_re *re);
/** The deactivated RE gives the node up: it is released as soon as possible. Idempotent. */
void phx_away_give_up(struct phx_apply *a, struct phx_node *n, const struct phx_re *re);
/** The node's plan has ended: gives the node up if the RE of its pool was deactivated meanwhile. */
void phx_away_end(struct phx_apply *a, struct phx_node *n);
/** The node's plan has ended: the node is not given up any more if it has left the pool, or if its
 * RE is active again. */
void phx_away_settle(const struct phx_state *s, struct phx_node *n);
/** Puts the node into maintenance: it serves nobody until somebody looks after it. */
void phx_maintain(struct phx_apply *a, struct phx_node *n, const char *why);
/** The pool of an away node is removed: the node waits in no pool for its release. */
void phx_away_detach(struct phx_apply *a, struct phx_node *n);

#endif
