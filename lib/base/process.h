/* Processes: started with an argument vector, never through a shell; watched by their pidfd;
 * written down, so that another program finds them again and takes no other process for them;
 * ended. Everything that Phoenix starts is started here: spawn.h runs a program to its end on top
 * of it. */
#ifndef PHX_BASE_PROCESS_H
#define PHX_BASE_PROCESS_H

#include <signal.h>
#include <sys/types.h>

#include "base/util.h"

enum { PHX_GROUPS_MAX = 64 };

/** Whom a program runs as: this user and these groups, and no others. Who is not root can only give
 * himself. */
struct phx_run_as {
	uid_t uid;
	gid_t gid;
	int n_groups; /* beside gid */
	gid_t groups[PHX_GROUPS_MAX];
};

/** Whose process group a program is in. */
enum phx_launch_group {
	PHX_GROUP_SHARED,  /* ours: what the terminal sends us, it gets, too */
	PHX_GROUP_OWN,     /* one of its own, which its pid names */
	PHX_GROUP_SESSION, /* a session of its own; no signal is ignored in it */
};

/** How a program is to start. Everything is borrowed for the call. */
struct phx_launch {
	/* NULL-terminated; argv[0] is looked up in the PATH of its environment */
	const char *const *argv;
	const char *const *env; /* its whole environment; NULL = ours */
	const char *dir;        /* where it starts; NULL = where we are */
	/* or here: entered after `dir`, with the rights that it has; NULL = none */
	const char *user_dir;
	const struct phx_run_as *as; /* NULL = ourselves */
	int in;                      /* its stdin; 0 = /dev/null */
	/* its stdout and stderr; 0 = ours. It gets no other descriptor of ours */
	int out, errout;
	enum phx_launch_group group;
	int death_signal; /* which it gets when the thread that started it ends; 0 = none */
	/* called in the new process before its rights change: async-signal-safe, 0 or negative
	 * errno; NULL = none */
	int (*prepare)(const void *arg);
	const void *arg;
};

/** Block what a terminal or a service manager sends (SIGINT, SIGTERM, SIGHUP; they are left in
 * `ret_held`, may be NULL) for who reads them from a descriptor, or heeds them not; and ignore
 * SIGPIPE. Blocked and not ignored: what is started with a signal mask of its own heeds them.
 * Before any other thread is there. */
void phx_signals_hold(sigset_t *ret_held);

/** A child of ours. */
struct phx_process {
	pid_t pid;
	int pidfd; /* owned by whom it was given to */
};

/** Start a program; returns when it has been executed, or could not be: -ENOENT, -EACCES no such
 * program, -EPERM `as` cannot be, another -errno. Any thread may call it. */
int phx_process_start(const struct phx_launch *l, struct phx_process *ret, struct phx_err *err);

/** The second half of that, for one that has forked itself: become the program. Returns only on
 * failure, a negative errno; ret_what is what it is about: the program or a directory. `parent`:
 * who forked, for the death signal; if he has ended meanwhile, so do we. Async-signal-safe. */
int phx_process_become(const struct phx_launch *l, pid_t parent, const char **ret_what);

/** Be this user, with these groups, for good; in a process with one thread that becomes no other
 * program. Negative errno: it must not go on. Async-signal-safe. */
int phx_process_take_rights(const struct phx_run_as *as);

/** -ESRCH when it has ended. */
int phx_process_signal(int pidfd, int sig);
/** 0 when it has ended, -ETIMEDOUT when it has not by then. Does not collect it. */
int phx_process_wait(int pidfd, uint32_t timeout_ms);
/** Wait until a child has ended, and collect it: its exit status, or 128 + signal. -ECHILD: it was
 * collected before. */
int phx_process_status(int pidfd);

/** When a process started, in clock ticks since boot: with the pid it names a process for ever. 0
 * when there is none. */
uint64_t phx_process_since(pid_t pid);

/** Write the process down. */
int phx_process_note(const char *pid_file, pid_t pid, struct phx_err *err);
/** The process that was written down there; 0 when it does not run any more, or none was. */
pid_t phx_process_noted(const char *pid_file);
/** End the process that was written down there, then remove the file: SIGTERM, after grace_ms
 * SIGKILL; 0 ms = SIGKILL at once. group: its process group, what is left of it included. None that
 * runs: 0. -ETIMEDOUT, -EPERM: the file stays. */
int phx_process_end_noted(const char *pid_file, bool group, uint32_t grace_ms, struct phx_err *err);
/** Likewise one by its pid. Does not collect it. */
int phx_process_end(pid_t pid, bool group, uint32_t grace_ms, struct phx_err *err);

#endif
