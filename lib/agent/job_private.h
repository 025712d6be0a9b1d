/* What one run of a job has for its own: the places where everybody may write (/tmp, /var/tmp,
 * /dev/shm, /run/lock), System V and POSIX IPC, and a /proc that shows the processes of its user
 * alone. Nothing of it outlives the run, and it gains no rights that its user has not: programs
 * with the setuid bit run as he is.
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

/** Enter, in a process with one thread that is root: from now on the places above are those of
 * `dir`. Makes async-signal-safe calls alone. A place that this machine does not have is left out.
 * Negative errno: `ret_what` says at what; the process must not go on. */
int job_private_enter(const char *dir, const char **ret_what);

/** Enter the places that another process has entered: descriptors of its namespaces of mounts and
 * of IPC. Otherwise as job_private_enter(). */
int job_private_join(int mounts, int ipc);

/** Does `path` lie in a place that each run has for its own? Then no job would see it. */
bool job_private_hides(const char *path);

#endif
