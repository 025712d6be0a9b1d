/* Removes what a user leaves on a node after his last job there, beside the jobs' private places
 * (job_private.h): processes of a login, files in places where everybody may write, shared memory,
 * a crontab, jobs of at, a user manager that lingers. Called by jobs.c and accounts.c; step scratch
 * asks who is a person. */
#ifndef PHX_AGENT_JOB_USER_H
#define PHX_AGENT_JOB_USER_H

#include <stdbool.h>
#include <sys/types.h>

/** Does `uid` belong to a person? Accounts of the system (below 1000) do not, nor those that
 * systemd makes for services, nor nobody (60001 to 65535). */
bool job_user_is_person(uid_t uid);

/** End the processes of `uid`, then remove what he left below `root` ("": the machine's own). Does
 * nothing if `uid` is no person's. What cannot be removed is left; missing things are no error.
 * Called again after the user's next job. */
void job_user_leave(const char *root, uid_t uid);

#endif
