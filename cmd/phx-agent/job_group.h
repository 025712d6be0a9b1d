/* The control group (version 2) of one run of a job: what is in it is the job,
 * whatever it forked. Where there is none every call says so, and the keeper
 * goes by session and by who comes back to it. */
#ifndef PHX_AGENT_JOB_GROUP_H
#define PHX_AGENT_JOB_GROUP_H

#include "base/util.h"
#include "phx-agent/config.h"

#define JOB_GROUP_MAX (AGENT_PATH_MAX + 256)

/** Where groups of jobs are made: "phx-jobs-…" below this process' own group; `tell_apart` is a directory whose identity
 * tells agents of one machine apart. "" where version 2 is not there or not ours to write (systemd's tree is not). */
void job_group_find(const char *tell_apart, char ret_base[JOB_GROUP_MAX]);

/** Make the group of a run, empty; its path in ret_dir, and cgroup.procs opened: -1 and "" when it cannot be made. What an earlier
 * one of that name still held is killed. */
int job_group_make(const char *base, uint64_t id, uint32_t run, char ret_dir[JOB_GROUP_MAX]);

/** Kill what is left in the group of a run, and remove it. None is fine. */
void job_group_remove(const char *base, uint64_t id, uint32_t run);

/* By the directory, "" = none. Async-signal-safe, to be called by the keeper. */
/** Signal each process of it once; how many there were. -ENOENT no group. */
int job_group_signal(const char *dir, int sig);
/** All at once, forks included; before Linux 5.14 one by one. Negative: no group. */
int job_group_kill(const char *dir);
bool job_group_populated(const char *dir);
/** CPU time and peak memory of all that ever was in it; what the kernel does not tell stays untouched. */
void job_group_usage(const char *dir, uint64_t *ret_cpu_ms, uint64_t *ret_memory_peak_bytes);

#endif
