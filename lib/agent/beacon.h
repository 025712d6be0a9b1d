/* The agent cannot reach the head by TLS: it says so in the clear (types/beacon.h), so that the
 * head's administrator learns why. Called by the link, and by enrolment for it. */
#ifndef PHX_AGENT_BEACON_H
#define PHX_AGENT_BEACON_H

#include "agent/agent.h"

/** Sends a beacon with what went wrong, once in 30 s at most; others are dropped, as is one that
 * does not arrive. Returns within 2 s. Does nothing where the head's plain HTTP is not known. The
 * text goes over the network in the clear: no secret may be in it. */
void beacon_trouble(struct agent *a, const struct phx_err *err);

#endif
