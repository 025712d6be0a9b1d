/* CPU time that programs have used, read from the kernel: of a cgroup (version 2), or of sessions
 * and all their descendants. Reads only; callable from any thread. */
#ifndef PHX_AGENT_CPU_TIME_H
#define PHX_AGENT_CPU_TIME_H

#include <stdint.h>
#include <sys/types.h>

#include "base/util.h"

/** CPU time of the cgroup in directory `dir`, µs, with processes that ended. Negative: there is no
 * such cgroup; -ENOENT also when the kernel does not count its time. */
int cpu_time_of_cgroup(const char *dir, uint64_t *ret_us);

/** CPU time of all processes in the sessions that `leaders` lead, and of their descendants in other
 * sessions, µs. Children that ended count when their parent has waited for them. A leader that is
 * gone does not count. `proc` is "/proc". */
int cpu_time_of_sessions(const char *proc, const pid_t *leaders, uint32_t n, uint64_t *ret_us,
			 struct phx_err *err);

#endif
