/* Removes the paths that a role may have removed when it leaves a node, and no others. */
#ifndef PHX_AGENT_REMOVAL_H
#define PHX_AGENT_REMOVAL_H

#include "base/util.h"

/** May `path`, as a role names it, be removed? 0, or -EPERM with the text of
 * phx_role_removal_check(). Pure. */
int removal_check(const char *path, struct phx_err *err);

/** Check `path`, then remove it below `root` ("" = the machine's) with all files in it. -EPERM: a
 * symbolic link on the way; if the last component is a link, the link itself is removed. A missing
 * path is no error. */
int removal_remove(const char *root, const char *path, struct phx_err *err);

#endif
