/* Removes directory trees that somebody else filled, and may still be filling, without touching
 * anything outside. No link is followed and no path leads out; no mount is entered; flags that
 * protect files are cleared, and root takes each directory from its owner before emptying it. Depth
 * and size do not matter: neither memory, stack nor descriptors grow with them. Needs Linux 5.6
 * (openat2). */
#ifndef PHX_BASE_TREE_H
#define PHX_BASE_TREE_H

#include "base/err.h"

/** Removes `name`, one part of a path, from the directory `at`, with all its contents; mounts are
 * detached. A missing name is no error. On an error all that could be removed is gone, and the text
 * names the first entry that could not. Safe twice. */
int phx_tree_remove(int at, const char *name, struct phx_err *err);

/** rm -rf of a path, whose last part may be a link and is not followed. What is mounted below it
 * stays: -EXDEV; of a path that is itself mounted the contents go: -EBUSY. Otherwise as
 * phx_tree_remove(). */
int phx_dir_remove(const char *path, struct phx_err *err);

#endif
