/* CPU time that programs have used, read from the kernel: of a cgroup (version 2), or of sessions
 * with all that they started. Reads only; any thread. */
#ifndef PHX_AGENT_CPU_TIME_H
#define PHX_AGENT_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

#include "base/util.h"

/** Of a cgroup, µs, ended processes too. `dir` is its directory. -ENOENT and the like: there is
 * none, or it tells none. */
int cpu_time_of_cgroup(const char *dir, uint64_t *ret_us);

/** Of all processes in the sessions that `leaders` lead, and of their descendants in other
 * sessions, µs; children that ended count when their parent has waited for them. `proc` is "/proc".
 * A leader that is gone counts nothing. */
int cpu_time_of_sessions(const char *proc, const pid_t *leaders, uint32_t n, uint64_t *ret_us,
			 struct phx_err *err);

#endif
