/* The agent puts itself into a root file system that it is about to enter. */
#ifndef PHX_AGENT_INSTALL_H
#define PHX_AGENT_INSTALL_H

#include "agent/agent.h"

/** Write bundle, unit, agent.conf, CA, keys, the demand for signed images and the host's names
 * below `root`. A second call refreshes them. */
int install_agent(struct agent *a, const char *root, struct phx_err *err);

/** Copy key, certificate and step log into the new system's state directory, which is made if it is
 * missing. */
int install_state(struct agent *a, const char *state_dir, struct phx_err *err);

#endif
