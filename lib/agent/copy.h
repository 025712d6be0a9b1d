/* Copying files and small trees. */
#ifndef PHX_AGENT_COPY_H
#define PHX_AGENT_COPY_H

#include "base/util.h"

/** Copy a regular file with its mode and sync it; `to` is replaced by one rename. */
int copy_file(const char *from, const char *to, struct phx_err *err);

/** Copy a directory of directories, regular files and links (nothing else: -EINVAL) so that `to` is
 * replaced as a whole: written beside, then exchanged; what was there is removed. At most 8 levels
 * deep. */
int copy_tree(const char *from, const char *to, struct phx_err *err);

#endif
