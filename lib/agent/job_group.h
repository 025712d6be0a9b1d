/* The control group (version 2) of one run of a job: what is in it is the job,
 * whatever it forked. Where there is none every call says so, and the keeper
 * goes by session and by who comes back to it. */
#ifndef PHX_AGENT_JOB_GROUP_H
#define PHX_AGENT_JOB_GROUP_H

#include <sys/types.h>

#include "base/util.h"
#include "agent/config.h"

#define JOB_GROUP_MAX (AGENT_PATH_MAX + 256)

/** Where groups of jobs are. */
struct job_groups {
	char base[JOB_GROUP_MAX]; /* "" nowhere */
	bool scopes;              /* each below a unit of systemd, which is asked for it */
	unsigned long apart;      /* tells agents of one machine apart */
	char how[200];            /* for people: what each run has */
};

/** Find where groups of jobs can be made: "phx-jobs-…" below this process' own group, or, where
 * systemd runs the machine, answers, and may be asked (`may_ask`), scopes in phx-jobs.slice,
 * outside of the agent's own unit. `tell_apart` is a directory whose identity tells agents of one
 * machine apart. base "" where version 2 is not there or not ours to write. */
void job_group_find(const char *tell_apart, bool may_ask, struct job_groups *ret);

/** Make the group of a run, empty; its path in ret_dir, "" when it cannot be made. What an earlier
 * one of that name still held is killed. One that is a scope's is only named here:
 * job_scope_start() makes it. */
void job_group_make(const struct job_groups *g, uint64_t id, uint32_t run,
		    char ret_dir[JOB_GROUP_MAX]);

/** Kill what is left in the group of a run, and remove it. None is fine. */
void job_group_remove(const struct job_groups *g, uint64_t id, uint32_t run);

/* ---- job_scope.c ---- */

/** Does systemd answer? */
int job_scope_check(struct phx_err *err);

/** Have systemd put `keeper` into the scope of the run, outside of the agent's unit, and make the
 * group of the job in it (where job_group_make() said). The scope ends with its last process.
 * stop_ms: how long the job may take when the machine goes down; its keeper is then told to have it
 * run again. */
int job_scope_start(const struct job_groups *g, uint64_t id, uint32_t run, pid_t keeper,
		    uint32_t stop_ms, struct phx_err *err);
/** Name of the scope. */
void job_scope_name(const struct job_groups *g, uint64_t id, uint32_t run, char ret[96]);

/* By the directory, "" = none. Async-signal-safe, to be called by the keeper. */
/** The calling process goes into it. */
void job_group_enter(const char *dir);
/** Signal each process of it once; how many there were. -ENOENT no group. */
int job_group_signal(const char *dir, int sig);
/** All at once, forks included; before Linux 5.14 one by one. Negative: no group. */
int job_group_kill(const char *dir);
bool job_group_populated(const char *dir);
/** CPU time and peak memory of all that ever was in it; what the kernel does not tell stays
 * untouched. */
void job_group_usage(const char *dir, uint64_t *ret_cpu_ms, uint64_t *ret_memory_peak_bytes);

#endif
