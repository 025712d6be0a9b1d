/* How the ledger counts a node, and how it loses one: see holding.c. Pure. */
#ifndef PHX_NODE_HOLDING_H
#define PHX_NODE_HOLDING_H

#include "state/apply.h"

/** The ledger's number of an RE by name; PHX_LEDGER_FREE for "" and for REs that are not active. */
int phx_holding_number(const struct phx_state *s, const char *name);
/** Takes the node out of the ledger, in whatever share it was counted. */
void phx_holding_lose(struct phx_apply *a, struct phx_node *n);
/** The ledger loses the node now: it is about to be forgotten, or broke under a job. */
void phx_holding_leave(struct phx_apply *a, struct phx_node *n);
/** The node's job is lost with it: the node leaves the ledger, or is away. */
void phx_holding_job_lost(struct phx_apply *a, struct phx_node *n);
/** The RE of a node out of service, if the RE would not take the node back now: the node is
 * released when it is in service again. NULL: the RE would, or the node stays anyway. Works on a
 * copy of the ledger: for orders by hand. */
const struct phx_re *phx_holding_full(struct phx_apply *a, const struct phx_node *n);
/** Does the node's RE keep it although it does not serve now? */
bool phx_away_may(const struct phx_state *s, const struct phx_node *n);
/** A held node does not serve: from now on it is away, with its job if it has one. */
void phx_away_begin(struct phx_apply *a, struct phx_node *n);
/** Looks whether an away node is back, lost or still away. */
void phx_away_look(struct phx_apply *a, struct phx_node *n);
void phx_away_tick(struct phx_apply *a, struct phx_node *n);
/** The RE is deactivated: its nodes that cannot be released now are released when they are heard.
 * If it is activated again before that, it keeps them. */
void phx_away_deactivated(struct phx_apply *a, const struct phx_re *re);
void phx_away_activated(struct phx_apply *a, const struct phx_re *re);
/** The deactivated RE gives the node up: it is released as soon as possible. Twice is once. */
void phx_away_give_up(struct phx_apply *a, struct phx_node *n, const struct phx_re *re);
/** The node's plan has ended in the pool of an RE that was deactivated meanwhile: gives it up. */
void phx_away_end(struct phx_apply *a, struct phx_node *n);
/** The node's plan has ended: if the node has left the pool, or its RE is active again, it is no
 * longer given up. */
void phx_away_settle(const struct phx_state *s, struct phx_node *n);
/** The node serves nobody until somebody looks after it. */
void phx_maintain(struct phx_apply *a, struct phx_node *n, const char *why);
/** The pool of an away node is removed: the node waits for its release in no pool. */
void phx_away_detach(struct phx_apply *a, struct phx_node *n);

#endif
