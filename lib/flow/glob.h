/* Patterns of files as triggers have them: "in/?.fits". A pattern is a path below a directory; in
 * each part '*' stands for any bytes, '?' for one, "[a-z]" and "[!a-z]" for one of a set, and '\'
 * takes the next byte as it is. A part that begins with a dot is met only by a pattern that says
 * so. Used by flow/trigger.h, and by the process that watches. Pure. */
#ifndef PHX_FLOW_GLOB_H
#define PHX_FLOW_GLOB_H

#include "base/util.h"

#define PHX_GLOB_PARTS_MAX 8

/** Is it one: a path of at most PHX_GLOB_PARTS_MAX parts, none of them "." or "..", with each set
 * closed? -EINVAL with a text. */
int phx_glob_check(const char *pattern, struct phx_err *err);
/** Part `i` of a pattern or path, from 0: its length, *ret where it begins; 0: it has no such
 * part. */
size_t phx_glob_part(const char *path, unsigned i, const char **ret);
/** Does a name of n bytes, without '/', meet one part of a pattern, of n_part bytes? */
bool phx_glob_meets(const char *part, size_t n_part, const char *name, size_t n);
/** The same of a whole path. */
bool phx_glob_meets_path(const char *pattern, const char *path);

#endif
