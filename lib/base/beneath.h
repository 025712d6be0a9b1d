/* Files below a directory that somebody else may write in: no name leads out of it, no link is
 * followed, and a file is there whole or not at all. Paths are relative, their parts separated by
 * one '/', none of them "." or ".." (phx_beneath_check()). */
#ifndef PHX_BASE_BENEATH_H
#define PHX_BASE_BENEATH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/** Open the regular file `path` below the directory `dir` for reading; its size. -ENOENT, -ELOOP
 * for a link on the way, -EINVAL for what is no regular file, -EFBIG above `max`. Caller closes
 * it. */
int phx_beneath_open(int dir, const char *path, uint64_t max, uint64_t *ret_size,
		     struct phx_err *err);

/** Whose a published file is. */
struct phx_beneath_owner {
	uid_t uid;
	gid_t gid;
};
/** Make `path` below `dir` out of all that `from` has to read: written beside, synced, renamed.
 * Directories on the way are made, of the same owner. -EFBIG above `max`; nothing is left then. */
int phx_beneath_publish(int dir, const char *path, int from, uint64_t max,
			struct phx_beneath_owner owner, struct phx_err *err);
/** Remove the regular file `path` below `dir`, or the link that stands in its place; directories
 * stay. -ENOENT: there is none; -ELOOP for a link on the way, -EINVAL for what is no file. */
int phx_beneath_remove(int dir, const char *path, struct phx_err *err);

#endif
