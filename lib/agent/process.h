/* Processes: the user that a process becomes, and when it started. Shared by services and jobs. */
#ifndef PHX_AGENT_PROCESS_H
#define PHX_AGENT_PROCESS_H

#include <sys/types.h>

#include "base/util.h"

enum { PROCESS_GROUPS_MAX = 64 };

/** Ids to take on; looked up before fork. */
struct process_user {
	uid_t uid;
	gid_t gid;
	int n_groups;
	gid_t groups[PROCESS_GROUPS_MAX];
};

/** User NAME with all its groups; "" = root. -ENOENT unknown. */
int process_find_user(const char *name, struct process_user *ret, struct phx_err *err);

/** In the child: take on groups, gid, uid, in this order. Async-signal-safe. 0 or -errno;
 * -EPERM: an id is not valid. */
int process_become(const struct process_user *u);

/** In the child: unblock all signals, and ignore none. Async-signal-safe. */
void process_reset_signals(void);

/** Start time of a process in clock ticks since boot: with its pid it names the process uniquely.
 * 0: there is no such process. */
uint64_t process_start_time(pid_t pid);

#endif
