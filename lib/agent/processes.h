/* Which processes the people of this node see. Jobs see those of their own user by a /proc of their
 * own (job_private.h); who logs in has the machine's. Called by accounts.c and site.c, before
 * anybody has an account. */
#ifndef PHX_AGENT_PROCESSES_H
#define PHX_AGENT_PROCESSES_H

#include "agent/config.h"

/** From now on, until the machine starts anew, its /proc shows everybody but root and root's group
 * the processes of his own user alone. Nothing is done where nobody has an account (`people`),
 * where job_private says so, and where nothing shows processes. Safe twice; what hides more stays
 * as it is. A negative errno: the text says of which place; who has no account yet must get none
 * then. */
int processes_hide(const struct agent_config *cfg, bool people, struct phx_err *err);

#endif
