/* A watcher: a process (phxd --watcher) that runs as a user and reports which files appear in a
 * directory of that user, or vanish, as long as a trigger waits for them. The launcher starts one;
 * the head tells it what to look for and trusts it no more than its user; it ends with its socket.
 * It reports regular files that were written and closed, moved there, or linked; it never follows
 * symbolic links. */
#ifndef PHXD_WATCHER_H
#define PHXD_WATCHER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum watch_kind {
	WATCH_FILE,    /* a file is there, closed, and unchanged for stable_ms */
	WATCH_THERE,   /* a file is there, but not unchanged for so long yet */
	WATCH_GONE,    /* a file is not there any more */
	WATCH_LOOKS,   /* a report of all files that are there begins, */
	WATCH_LOOKED,  /* and ends */
	WATCH_ODD,     /* a name that cannot be reported */
	WATCH_TROUBLE, /* a text: why the watcher can see nothing; then it ends */
	WATCH_KINDS,
};
enum { WATCH_TEXT_MAX = 255 };

/** A message of a watcher: this, and `n` bytes of a path or text. */
struct watch_said {
	uint32_t kind, n;
	uint64_t size, number; /* of a file; its inode number */
	int64_t changed_ns;    /* mtime */
	int64_t came_ms;       /* ctime, which a new name changes, too */
};

/** The first message to a watcher: this, and `n` bytes of a pattern (flow/glob.h). */
struct watch_start {
	uint32_t n, path_max;
	int64_t stable_ms;
	uint32_t whole; /* the directory is an RE's: those of users in it are left out */
};

/** Starts a watcher in the directory `dir` (a descriptor): its socket, owned by the caller. -EPERM:
 * uid is root. The process is reaped when it ends. */
int watcher_spawn(int dir, uid_t uid, gid_t gid, int *ret_fd, struct phx_err *err);
/** Runs as a watcher, on standard input; returns the exit status. */
int watcher_run(void);

#endif
