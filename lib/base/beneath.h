/* Files below a directory in which other users may write: no path leads out of it, no link is
 * followed, and a file is published whole or not at all. Paths are relative, their parts separated
 * by one '/', none of them "." or ".." (phx_beneath_check()). */
#ifndef PHX_BASE_BENEATH_H
#define PHX_BASE_BENEATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/** Opens the regular file `path` below the directory `dir` for reading and returns its descriptor,
 * which the caller closes. -ENOENT, -ELOOP for a link in the path, -EINVAL if it is not a regular
 * file, -EFBIG above `max` bytes. */
int phx_beneath_open(int dir, const char *path, uint64_t max, uint64_t *ret_size,
		     struct phx_err *err);

/** Is this a name that phx_beneath_publish() gives a file until it is whole? */
bool phx_beneath_is_temporary(const char *name);

/** The owner of a published file, and its mode; 0: 0644. */
struct phx_beneath_owner {
	uid_t uid;
	gid_t gid;
	mode_t mode;
};
/** Publishes at `path` below `dir` all that can be read from `from`: written to a temporary,
 * synced, renamed. Missing directories are made, with the same owner, and stay on failure; of the
 * file nothing is left then. -EFBIG above `max` bytes. */
int phx_beneath_publish(int dir, const char *path, int from, uint64_t max,
			struct phx_beneath_owner owner, struct phx_err *err);
/** Makes a link to `target` at `path` below `dir`, whatever is there of it; nobody follows it.
 * Replaces a link. Missing directories are made. -EEXIST: something else is there. */
int phx_beneath_link(int dir, const char *path, const char *target, struct phx_beneath_owner owner,
		     struct phx_err *err);
/** Makes a directory at `path` below `dir`, unless there is one, with the mode of `owner` (0:
 * 0755). Missing directories above are made. -ELOOP, -EEXIST: something else is there. */
int phx_beneath_dir(int dir, const char *path, struct phx_beneath_owner owner, struct phx_err *err);
/** Removes the regular file or the link at `path` below `dir`; directories stay. -ENOENT, -ELOOP
 * for a link earlier in the path, -EINVAL if it is neither. */
int phx_beneath_remove(int dir, const char *path, struct phx_err *err);

#endif
