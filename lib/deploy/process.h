/* One child process by its pidfd; inside lib/deploy only. */
#ifndef PHX_DEPLOY_PROCESS_H
#define PHX_DEPLOY_PROCESS_H

#include <sys/types.h>

#include "base/util.h"

struct phx_process {
	pid_t pid;
	int pidfd; /* owned */
};

/** Fork and exec; stdout and stderr are appended to `log_file` (NULL: inherited), stdin is
 * /dev/null. The child gets SIGTERM when the calling thread dies. Returns when exec has happened or
 * failed (-errno). */
int phx_process_start(char *const *argv, const char *log_file, struct phx_process *ret,
		      struct phx_err *err);
/** Cut a log of more than `max` bytes down to its last `keep` (from a whole line on); a program
 * that appends to it goes on. */
int phx_process_trim_log(const char *log_file, size_t max, size_t keep);
/** -ESRCH when it has ended. */
int phx_process_signal(int pidfd, int sig);
/** Collect an ended child: exit status, or 128 + signal; -EAGAIN while it runs. Never waits. */
int64_t phx_process_status(int pidfd);
/** Note the pid in `pid_file`; best effort. */
void phx_process_note(const char *pid_file, pid_t pid);
/** End the process that `pid_file` names if its arguments are `argv` (left by a daemon that was
 * killed): SIGTERM, after grace_ms SIGKILL. No file, no such process, other arguments: 0.
 * -ETIMEDOUT. */
int phx_process_end_stale(const char *pid_file, char *const *argv, uint32_t grace_ms,
			  struct phx_err *err);

#endif
