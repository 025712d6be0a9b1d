/* A watcher: a process (phxd --watcher) that is a user and tells which files come into a directory
 * of his, or go, as long as a trigger waits for them. The launcher starts one, the head tells it
 * what to look for and believes it no more than the user whom it is; it ends with its socket. What
 * is seen: regular files that were written and closed, moved there, or linked; never what a link
 * leads to. */
#ifndef PHXD_WATCHER_H
#define PHXD_WATCHER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum watch_kind {
	WATCH_FILE,    /* it is there, closed, and has been like this for as long as is asked */
	WATCH_THERE,   /* it is there, and not yet so */
	WATCH_GONE,    /* it is not there any more */
	WATCH_LOOKS,   /* all that is there is told from here on, */
	WATCH_LOOKED,  /* until here */
	WATCH_ODD,     /* a name that cannot be told */
	WATCH_TROUBLE, /* why nothing is seen: a text; then it ends */
	WATCH_KINDS,
};
enum { WATCH_TEXT_MAX = 255 };

/** What a watcher says: this, and `n` bytes of a path or text. */
struct watch_said {
	uint32_t kind, n;
	uint64_t size, number; /* of a file; its number on its file system */
	int64_t changed_ns;    /* when its content was changed last */
	int64_t came_ms;       /* when anything of it was: also its name */
};

/** What it is told at first: this, and `n` bytes of a pattern (flow/glob.h). */
struct watch_start {
	uint32_t n, path_max;
	int64_t stable_ms;
	uint32_t whole; /* it is the directory of an RE: those of users are left out */
};

/** Start one, in the directory that `dir` is: its socket. -EPERM: nobody watches as that one. */
int watcher_spawn(int dir, uid_t uid, gid_t gid, int *ret_fd, struct phx_err *err);
/** Be one, on standard input; the exit status. */
int watcher_run(void);

#endif
