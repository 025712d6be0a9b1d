/* File patterns of triggers: "in/?.fits". A pattern is a path below a directory; within a part '*'
 * matches any bytes, '?' one byte, "[a-z]" and "[!a-z]" one of a set, and '\' quotes the next byte.
 * A name that begins with a dot is matched only by a pattern part that does so, too. Used by
 * flow/trigger.h, and by the watcher. Pure. */
#ifndef PHX_FLOW_GLOB_H
#define PHX_FLOW_GLOB_H

#include "base/util.h"

#define PHX_GLOB_PARTS_MAX 8

/** Is it a valid pattern: a path of at most PHX_GLOB_PARTS_MAX parts, none of them "." or "..",
 * each set closed? -EINVAL with a text. */
int phx_glob_check(const char *pattern, struct phx_err *err);
/** Part `i` (from 0) of a pattern or path: returns its length, *ret is where it begins; 0: there is
 * no such part. */
size_t phx_glob_part(const char *path, unsigned i, const char **ret);
/** Does a name of n bytes, without '/', match one part of a pattern, of n_part bytes? */
bool phx_glob_meets(const char *part, size_t n_part, const char *name, size_t n);
/** Does a whole path match the pattern? */
bool phx_glob_meets_path(const char *pattern, const char *path);

#endif
