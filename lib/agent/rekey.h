/* Another key for this node, within a step of that name (NOOP between two owners). Until the head
 * has certified it the former key is the node's; from then on that is dead, so that what was made
 * outlasts the agent, and the certificate can be asked for again. */
#ifndef PHX_AGENT_REKEY_H
#define PHX_AGENT_REKEY_H

#include "agent/agent.h"

/** The key that a step made, until its certificate is there; in the state directory. */
#define REKEY_FILE "next-key.json"

/** The head does not take the node's key: if a step had made another one, asks once for its
 * certificate. True: the node has that key now. Called by the link. */
bool rekey_take_up(struct agent *a);

#endif
