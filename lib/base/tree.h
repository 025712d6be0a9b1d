/* Trees that somebody else filled, and may still be filling: they are removed whole, and nothing
 * beside them is touched. No link is followed, no name leads out, what is mounted there is taken
 * off and not entered, flags that keep a file are taken away; how deep it goes, and how much is in
 * it, does not matter. Needs Linux 5.6 (openat2). */
#ifndef PHX_BASE_TREE_H
#define PHX_BASE_TREE_H

#include "base/err.h"

/** Remove `name`, one part of a path, from the directory `at`, with all that is in it. What is not
 * there is no error. On an error all that could be removed is gone, and the text names the first
 * that could not. Safe twice. */
int phx_tree_remove(int at, const char *name, struct phx_err *err);

#endif
