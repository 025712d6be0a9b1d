/* The agent puts itself into a root file system that it is about to enter. */
#ifndef PHX_AGENT_INSTALL_H
#define PHX_AGENT_INSTALL_H

#include "agent/agent.h"

/** Bundle, unit, agent.conf, CA, package key and host name below `root`. Doing it again refreshes
 * them. */
int install_agent(struct agent *a, const char *root, struct phx_err *err);

/** Key, certificate and journal into the new system's state directory (an existing mount point or
 * directory). */
int install_state(struct agent *a, const char *state_dir, struct phx_err *err);

#endif
