/* Settings of the kernel, by /proc/sys. */
#ifndef PHX_AGENT_SYSCTL_H
#define PHX_AGENT_SYSCTL_H

#include "base/util.h"

/** Write `value` to /proc/sys/NAME ("net/ipv4/vs/expire_nodest_conn"). Negative errno with a
 * text. */
int sysctl_write(const char *name, const char *value, struct phx_err *err);

#endif
