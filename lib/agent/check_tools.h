/* The programs of a check, which the deploy image has in a file of its own, so that no node loads
 * them to start. */
#ifndef PHX_AGENT_CHECK_TOOLS_H
#define PHX_AGENT_CHECK_TOOLS_H

#include "agent/step.h"

#define CHECK_TOOLS_DIR "/run/phoenix/check"

/** Brings them to this machine, once. *ret_env: what they need beside PATH and LC_ALL of their
 * environment ("NAME=value", NULL-terminated, static); NULL: the order brings no such file, and
 * those of the system are used. -errno with a text: the file cannot be had, or is not the one of
 * the order. */
int check_tools(struct step_run *s, const char *const **ret_env, struct phx_err *err);

#endif
