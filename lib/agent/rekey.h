/* Gives this node another key, in the step of that name (NOOP between two owners). The old key is
 * valid until the head has certified the new one, and dead from then on. So the new key is recorded
 * before the head is asked: it outlasts the agent, and its certificate can be asked for again. */
#ifndef PHX_AGENT_REKEY_H
#define PHX_AGENT_REKEY_H

#include "agent/agent.h"

/** The file, in the state directory, of the key that a step made, until its certificate is
 * there. */
#define REKEY_FILE "next-key.json"

/** The head refuses the node's key: if a step had made another one, asks once for its certificate.
 * True: the node has that key now. Called by the link. */
bool rekey_take_up(struct agent *a);

#endif
