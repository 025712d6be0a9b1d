/* What the ledger counts a node as, and how it ceases to: see holding.c. Pure. */
#ifndef PHX_NODE_HOLDING_H
#define PHX_NODE_HOLDING_H

#include "state/apply.h"

/** The ledger's number of an RE by name, or PHX_LEDGER_FREE: "" and those that are not active. */
int phx_holding_number(const struct phx_state *s, const char *name);
/** The ledger counts it no more, whatever it was counted as. */
void phx_holding_lose(struct phx_apply *a, struct phx_node *n);
/** The ledger loses the node now: it is about to be forgotten, or broke under a job. */
void phx_holding_leave(struct phx_apply *a, struct phx_node *n);
/** A job on it is lost with its node: that leaves the ledger, or is away. */
void phx_holding_job_lost(struct phx_apply *a, struct phx_node *n);
/** The RE in whose pool it is, out of service, that would not take it back as it is now: in service
 * again it is released. NULL: it would, or nothing takes it from there. Works on a copy of the
 * ledger: for orders by hand. */
const struct phx_re *phx_holding_full(struct phx_apply *a, const struct phx_node *n);
/** Does its RE go on counting on it, though it does not serve just now? */
bool phx_away_may(const struct phx_state *s, const struct phx_node *n);
/** It is held, and does not serve: from now on it is away, with its job if it has one. */
void phx_away_begin(struct phx_apply *a, struct phx_node *n);
/** It is away: back, lost, or as it was. */
void phx_away_look(struct phx_apply *a, struct phx_node *n);
void phx_away_tick(struct phx_apply *a, struct phx_node *n);
/** The RE is deactivated: those that are not there to be released are when they come. Activated
 * again: they are not. */
void phx_away_deactivated(struct phx_apply *a, const struct phx_re *re);
void phx_away_activated(struct phx_apply *a, const struct phx_re *re);
/** The deactivated RE counts on it no more: it is released as soon as that can be done. Twice is
 * once. */
void phx_away_give_up(struct phx_apply *a, struct phx_node *n, const struct phx_re *re);
/** Its plan is at its end, in the pool of an RE that was deactivated meanwhile: the same. */
void phx_away_end(struct phx_apply *a, struct phx_node *n);
/** Its plan is at its end: where that brought it out of the pool, or its RE is there again, it is
 * given up no more. */
void phx_away_settle(const struct phx_state *s, struct phx_node *n);
/** Its pool goes while it is away: it waits for its release in no pool. */
void phx_away_detach(struct phx_apply *a, struct phx_node *n);

#endif
