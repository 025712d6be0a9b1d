/* Removes directory trees that somebody else filled, and may still be filling, without touching
 * anything outside. No link is followed and no path leads out; mounts are detached, not entered;
 * flags that protect files are cleared. Depth and size do not matter. Needs Linux 5.6 (openat2). */
#ifndef PHX_BASE_TREE_H
#define PHX_BASE_TREE_H

#include "base/err.h"

/** Removes `name`, one part of a path, from the directory `at`, with all its contents. A missing
 * name is no error. On an error all that could be removed is gone, and the text names the first
 * entry that could not. Safe twice. */
int phx_tree_remove(int at, const char *name, struct phx_err *err);

#endif
