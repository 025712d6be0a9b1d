/* Copying files and small trees. */
#ifndef PHX_AGENT_COPY_H
#define PHX_AGENT_COPY_H

#include "base/util.h"

/** Copy a regular file with its mode and sync it; `to` is replaced by one rename. */
int copy_file(const char *from, const char *to, struct phx_err *err);

/** Copy a directory tree of directories, regular files and links, at most 8 levels deep. `to` is
 * replaced as a whole: the copy is written beside it, exchanged with it, and the old tree removed.
 * -EINVAL: a file of another kind, -ELOOP: too deep. */
int copy_tree(const char *from, const char *to, struct phx_err *err);

#endif
