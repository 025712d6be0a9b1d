/* Which switch and port each network card is plugged into: listens for what switches say of
 * themselves (LLDP) on all cards. Called by whoever reads the node's facts. Sends nothing, and
 * believes nothing but for people: anybody on the wire can say anything. */
#ifndef PHX_AGENT_NEIGHBORS_H
#define PHX_AGENT_NEIGHBORS_H

#include "agent/loop.h"

struct neighbors;

/** -ENOMEM. Where the agent may not listen, nothing is ever heard, and that is logged. */
int neighbors_new(struct loop *loop, struct neighbors **ret);
/** Writes into `nics` (struct phx_nic_facts) what was heard, and listens on these cards from now
 * on. Called with the loop held. */
void neighbors_add(struct neighbors *n, struct phx_list *nics);
/** Safe on NULL. */
void neighbors_free(struct neighbors *n);

#endif
