/* Which paths a role may have removed when it leaves a node. */
#ifndef PHX_AGENT_GUARD_H
#define PHX_AGENT_GUARD_H

#include "base/util.h"

/** Is `path` (as a role names it) one that may be removed, by phx_role_removal_check()? -EPERM says
 * why not. Pure. */
int guard_check(const char *path, struct phx_err *err);

/** Check, then remove `path` below `root` ("" = the machine's) with all that is in it. A symbolic
 * link on the way (other than the last component, which is then removed itself) is -EPERM. Missing
 * is no error. */
int guard_remove(const char *root, const char *path, struct phx_err *err);

#endif
