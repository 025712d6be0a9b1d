/* Processes: starts them with an argument vector, never through a shell; watches them by their
 * pidfd; notes them in files, so that another program can find them again and takes no other
 * process for them; ends them. Everything that Phoenix starts is started here: spawn.h, which runs
 * a program to its end, builds on it. */
#ifndef PHX_BASE_PROCESS_H
#define PHX_BASE_PROCESS_H

#include <signal.h>
#include <sys/types.h>

#include "base/util.h"

enum { PHX_GROUPS_MAX = 64 };

/** The user and groups that a program runs with, and no others. A process that is not root can only
 * name its own user. */
struct phx_run_as {
	uid_t uid;
	gid_t gid;
	int n_groups; /* beside gid */
	gid_t groups[PHX_GROUPS_MAX];
};

/** Which process group a program is in. */
enum phx_launch_group {
	PHX_GROUP_SHARED,  /* ours: it gets the terminal's signals, too */
	PHX_GROUP_OWN,     /* its own, numbered by its pid */
	PHX_GROUP_SESSION, /* a session of its own, in which no signal is ignored */
};

/** How to start a program. Everything is borrowed for the call. */
struct phx_launch {
	/* NULL-terminated; argv[0] is looked up in the PATH of its environment */
	const char *const *argv;
	const char *const *env; /* its whole environment; NULL = ours */
	const char *dir;        /* its working directory; NULL = ours */
	/* a further directory, entered after `dir` with the program's own rights; NULL = none */
	const char *user_dir;
	const struct phx_run_as *as; /* NULL = ourselves */
	int in;                      /* its stdin; 0 = /dev/null */
	/* its stdout and stderr; 0 = ours. It inherits no other descriptor of ours */
	int out, errout;
	enum phx_launch_group group;
	int death_signal; /* sent when the thread that started it ends; 0 = none */
	/* called in the new process before its rights change: async-signal-safe, 0 or negative
	 * errno; NULL = none */
	int (*prepare)(const void *arg);
	const void *arg;
};

/** Blocks the signals of a terminal or a service manager (SIGINT, SIGTERM, SIGHUP; ret_held, may be
 * NULL, gets them) for callers that read them from a descriptor or disregard them, and ignores
 * SIGPIPE. They are blocked, not ignored, so that a program started with its own signal mask reacts
 * to them. Call it before the first thread is started. */
void phx_signals_hold(sigset_t *ret_held);

/** A child of ours. */
struct phx_process {
	pid_t pid;
	int pidfd; /* owned by the caller that got it */
};

/** Starts a program; returns when its execution has begun or failed: -ENOENT, -EACCES no such
 * program, -EPERM the rights of `as` cannot be taken, another -errno. Any thread may call it. */
int phx_process_start(const struct phx_launch *l, struct phx_process *ret, struct phx_err *err);

/** The second half of phx_process_start(), for a caller that has forked by itself: becomes the
 * program. Returns only on failure, a negative errno; ret_what names the program or directory
 * concerned. `parent` is the process that forked, for the death signal; if it has ended meanwhile,
 * so do we. Async-signal-safe. */
int phx_process_become(const struct phx_launch *l, pid_t parent, const char **ret_what);

/** Becomes this user with these groups, for good; in a process with one thread that executes no
 * other program. On a negative errno the process must not go on. Async-signal-safe. */
int phx_process_take_rights(const struct phx_run_as *as);

/** -ESRCH: the process has ended. */
int phx_process_signal(int pidfd, int sig);
/** 0: the process has ended; -ETIMEDOUT: it has not within timeout_ms. Does not reap it. */
int phx_process_wait(int pidfd, uint32_t timeout_ms);
/** Waits until a child has ended and reaps it: its exit status, or 128 + signal. -ECHILD: it was
 * reaped before. */
int phx_process_status(int pidfd);

/** When a process started, in clock ticks since boot; together with the pid this identifies a
 * process for ever. 0: there is no such process. */
uint64_t phx_process_since(pid_t pid);

/** Notes the process in `pid_file`. */
int phx_process_note(const char *pid_file, pid_t pid, struct phx_err *err);
/** The pid of the process noted there; 0 if it no longer runs, or none was noted. */
pid_t phx_process_noted(const char *pid_file);
/** Ends the process noted there, then removes the file: SIGTERM, and SIGKILL after grace_ms (0:
 * SIGKILL at once). `group`: ends its process group, including members that outlive it. 0 also if
 * no such process runs. -ETIMEDOUT, -EPERM: the file stays. */
int phx_process_end_noted(const char *pid_file, bool group, uint32_t grace_ms, struct phx_err *err);
/** Ends a process by its pid, likewise. Does not reap it. */
int phx_process_end(pid_t pid, bool group, uint32_t grace_ms, struct phx_err *err);

#endif
