/* What phxd does for each process that stands apart (lib/apart). */
#ifndef PHXD_APART_H
#define PHXD_APART_H

#include <stdatomic.h>
#include <sys/types.h>

#include "config/config.h"

struct daemon;

struct apart_watch {
	struct daemon *d;
	const char *what; /* the name of the process for people */
	atomic_uint n_restarts;
	unsigned n_told; /* used by the loop's thread */
};

/** Callback `restarted` of a process, with its struct apart_watch as argument: on any thread, which
 * may hold the engine's lock. It only counts; apart_tick() tells people. */
void apart_restarted(void *watch);
/** Journals that the process, now `pid`, was started again. On the loop's thread. Returns
 * WAKE_NEVER. */
int apart_tick(struct apart_watch *w, pid_t pid);
/** Called by the launcher before it makes anything: if we are root, the users that phxd's processes
 * become must exist, be different, and not be root. -ENOENT or -EPERM with a text that says what to
 * do; another errno if the user database does not answer. */
int apart_check_users(const struct phx_config *cfg, struct phx_err *err);
/** Prints which process runs as which user when root starts phxd, a line each. For phxd --check. */
void apart_print(const struct phx_config *cfg);

#endif
