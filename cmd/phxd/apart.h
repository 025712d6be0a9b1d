/* What phxd does for each process that stands apart (lib/apart). */
#ifndef PHXD_APART_H
#define PHXD_APART_H

#include <stdatomic.h>
#include <sys/types.h>

#include "config/config.h"

struct daemon;

struct apart_watch {
	struct daemon *d;
	const char *what; /* how people are told of it */
	atomic_uint n_restarts;
	unsigned n_told; /* of the loop */
};

/** For `restarted` of its configuration, with the watch: on any thread, which may hold the engine;
 * the loop tells it. */
void apart_restarted(void *watch);
/** Journals that it was started again. Returns ms to the next call. */
int apart_tick(struct apart_watch *w, pid_t pid);
/** By the launcher, before anything is made: where we are root the users that phxd becomes are
 * there, none of them is root, and no two are one. -ENOENT or -EPERM, and what to do; another errno
 * where nobody can tell. */
int apart_check_users(const struct phx_config *cfg, struct phx_err *err);
/** What runs as whom where root starts phxd, a line each. For phxd --check. */
void apart_print(const struct phx_config *cfg);

#endif
