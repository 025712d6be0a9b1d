/* The control group (version 2) of one run of a job: it holds all processes of the job, however
 * they were forked. Without a group every call reports that; the keeper then finds the job's
 * processes by their session, and by orphans that become its children. */
#ifndef PHX_AGENT_JOB_GROUP_H
#define PHX_AGENT_JOB_GROUP_H

#include <sys/types.h>

#include "base/util.h"
#include "agent/config.h"

#define JOB_GROUP_MAX (AGENT_PATH_MAX + 256)

/** The place for the groups of jobs. */
struct job_groups {
	char base[JOB_GROUP_MAX]; /* "" nowhere */
	bool scopes;              /* each group is in a scope, which systemd is asked for */
	unsigned long apart;      /* tells agents of one machine apart */
	char how[200];            /* for people: how the processes of a run are kept together */
};

/** Find a place for the groups of jobs: "phx-jobs-…" below the group of this process. Where systemd
 * runs the machine, answers, and may be asked (`may_ask`): scopes in phx-jobs.slice, outside of the
 * agent's own unit. `tell_apart` is a directory whose inode tells agents of one machine apart. base
 * is "" when there is no version 2 or the agent may not write to it. */
void job_group_find(const char *tell_apart, bool may_ask, struct job_groups *ret);

/** Make the empty group of a run; its path in ret_dir, "" when it cannot be made. Processes in an
 * earlier group of that name are killed. A group in a scope is only named here: job_scope_start()
 * makes it. */
void job_group_make(const struct job_groups *g, uint64_t id, uint32_t run,
		    char ret_dir[JOB_GROUP_MAX]);

/** Kill the processes in a group and remove it; waits for their end, half a second at most. No
 * group is no error. */
void job_group_clear(const char *dir);
/** The same for the group of a run. */
void job_group_remove(const struct job_groups *g, uint64_t id, uint32_t run);

/* ---- job_scope.c ---- */

/** Does systemd answer? */
int job_scope_check(struct phx_err *err);

/** Have systemd put `keeper` into the scope of the run, outside of the agent's unit, and make the
 * job's group in it (at the path of job_group_make()). The scope ends with its last process.
 * stop_ms: the time that the job has when the machine goes down; systemd then signals the keeper to
 * end the job so that it runs again. */
int job_scope_start(const struct job_groups *g, uint64_t id, uint32_t run, pid_t keeper,
		    uint32_t stop_ms, struct phx_err *err);
/** Name of the scope. */
void job_scope_name(const struct job_groups *g, uint64_t id, uint32_t run, char ret[96]);

/* Calls of the keeper, async-signal-safe. `dir` is the group's directory, "" = no group. */
/** Move the calling process into the group. */
void job_group_enter(const char *dir);
/** Signal each process of the group once; returns how many. -ENOENT: no group. */
int job_group_signal(const char *dir, int sig);
/** Kill all processes of the group at once, forks included; before Linux 5.14 one by one. Negative:
 * no group. */
int job_group_kill(const char *dir);
bool job_group_populated(const char *dir);
/** CPU time and peak memory of all processes that were ever in the group. A figure that the kernel
 * does not give stays untouched. */
void job_group_usage(const char *dir, uint64_t *ret_cpu_ms, uint64_t *ret_memory_peak_bytes);

#endif
