/* Pushing the agent over SSH to machines that have none: push.c, called by package.c. */
#ifndef PHX_PUSH_H
#define PHX_PUSH_H

#include "phx/cli.h"

/** Install the agent package (verified by the keys at `ring`) on every host of the list, announce
 * it, start it and wait until it has enrolled (--timeout, default 2 min). A host whose node is up
 * already is left alone. Failures are told by host. */
int cli_push(struct cli *cli, const char *hosts, const char *package, const char *ring);

#endif
