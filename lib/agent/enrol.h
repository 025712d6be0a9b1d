/* Who this node is: its key, made here and never leaving, and the certificate
 * that the head gives for it. */
#ifndef PHX_AGENT_ENROL_H
#define PHX_AGENT_ENROL_H

#include "agent/agent.h"

/** Make sure that there is a key (STATE/agent.key) and a certificate for it (STATE/agent.pem),
 * asking the head until it gives one or the agent stops (-ECANCELED). */
int enrol(struct agent *a, struct phx_err *err);

/** The head does not know our certificate: forget it (the key stays), so that enrol() asks
 * again. */
void enrol_forget(struct agent *a);

#endif
