/* Child programs of the daemon: started, watched by pidfd (no SIGCHLD), restarted with back-off,
 * stopped. One thread of its own does it all; the caller's loop never waits. */
#ifndef PHX_DEPLOY_CHILD_H
#define PHX_DEPLOY_CHILD_H

#include <sys/types.h>

#include "base/record.h"

struct phx_child_spec {
	const char *name;        /* "dnsmasq" */
	const char *const *argv; /* NULL-terminated, argv[0] absolute; copied */
	/* so that one left by a killed daemon is found and ended first; NULL = none */
	const char *pid_file;
	/* stdout and stderr are appended here, cut to the last MiB above 4; NULL = inherited */
	const char *log_file;
};

#define PHX_CHILD_STATUS_FIELDS(F, S) \
	F(S, name, STR(32)) \
	F(S, pid, U64) /* 0 when not running */ \
	F(S, running, BOOL) \
	F(S, restarts, U32) \
	F(S, status, I64)     /* of the last end: exit status, 128 + signal */ \
	F(S, error, STR(160)) /* why it could not be started, "" */
PHX_RECORD_STRUCT(phx_child_status, PHX_CHILD_STATUS_FIELDS);

/** Called on the supervisor's thread whenever a child started or ended; may be NULL. Must not call
 * phx_children_*(). */
typedef void (*phx_child_fn)(void *arg, const struct phx_child_status *status);

struct phx_children;
int phx_children_new(phx_child_fn changed, void *arg, struct phx_children **ret,
		     struct phx_err *err);
/** Stops all (SIGTERM, after 3 s SIGKILL) and frees. Safe on NULL. */
void phx_children_free(struct phx_children *c);

/** Start a program and keep it running: a restart comes after 100 ms, doubled up to 30 s while it
 * ends within 10 s. -EEXIST name taken; -ENOENT, -EACCES no such program (it is not kept then).
 * Children die with the daemon (PDEATHSIG).
 */
int phx_children_add(struct phx_children *c, const struct phx_child_spec *spec,
		     struct phx_err *err);
/** Send a signal to the running program, by its pidfd. -ENOENT, -ESRCH when it does not run now. */
int phx_children_signal(struct phx_children *c, const char *name, int sig, struct phx_err *err);
/** End it; the supervisor starts it again at once (new configuration file). */
int phx_children_restart(struct phx_children *c, const char *name, struct phx_err *err);
/** All children; ret: struct phx_child_status, owned by the caller (phx_list_fini). */
int phx_children_status(struct phx_children *c, struct phx_list *ret);

/** Cut a log of more than `max` bytes down to its last `keep` (from a whole line on); a program
 * that appends to it goes on. */
int phx_child_trim_log(const char *log_file, size_t max, size_t keep);

#endif
