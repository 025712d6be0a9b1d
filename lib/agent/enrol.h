/* The identity of this node: its key, which is made here and never leaves it, and
 * the certificate that the head gives for the key. */
#ifndef PHX_AGENT_ENROL_H
#define PHX_AGENT_ENROL_H

#include "agent/agent.h"

/** Make sure that there is a key (STATE/agent.key) and a certificate for it (STATE/agent.pem). Asks
 * the head until it gives a certificate, or the agent stops (-ECANCELED). */
int enrol(struct agent *a, struct phx_err *err);

/** The head does not know the node's certificate: remove it, so that enrol() asks again. The key
 * stays. */
void enrol_forget(struct agent *a);

#endif
