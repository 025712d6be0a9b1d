/* The private places of one run of a job: its own versions of the places where everybody may write
 * (/tmp, /var/tmp, /dev/shm, /run/lock), of System V and POSIX IPC, and a /proc that shows only the
 * processes of its user. They end with the run. The run also gains no rights beyond its user's: the
 * setuid bit of programs has no effect.
 *
 * The agent makes STAGE/ID.RUN.private, which becomes the run's /tmp and /var/tmp; the process that
 * becomes the job enters it. Called by job_run.c and job_keeper.c. */
#ifndef PHX_AGENT_JOB_PRIVATE_H
#define PHX_AGENT_JOB_PRIVATE_H

#include "agent/jobs.h"

/** malloc'd path of the directory of a run. */
char *job_private_dir(const char *stage, struct job_run run);

/** Make the directory of a run; what an earlier attempt left there is removed. */
int job_private_make(const char *stage, struct job_run run, struct phx_err *err);

/** Enter the private places of `dir`, in a process with one thread that is root. Makes only
 * async-signal-safe calls. A place that this machine does not have is left out. Negative errno:
 * `ret_what` says where; the process must not go on. */
int job_private_enter(const char *dir, const char **ret_what);

/** Enter the private places of another process: descriptors of its mount and IPC namespaces.
 * Otherwise as job_private_enter(). */
int job_private_join(int mounts, int ipc);

/** Does `path` lie in one of the private places? Then no job would see it. */
bool job_private_hides(const char *path);

#endif
