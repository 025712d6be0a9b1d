/* What a user leaves on a node when his last job there has ended, beside what the jobs had for
 * their own (job_private.h): processes of a login, files in places where everybody may write,
 * shared memory, a crontab, jobs of at, a user manager that lingers. Called by jobs.c. */
#ifndef PHX_AGENT_JOB_USER_H
#define PHX_AGENT_JOB_USER_H

#include <stdbool.h>
#include <sys/types.h>

/** Is `uid` a person's number? Accounts of the system (below 1000), those that systemd makes for
 * services, and nobody (60001 to 65535) are none. */
bool job_user_is_person(uid_t uid);

/** End the processes of `uid`, then remove what he left below `root` ("" the machine's own). Does
 * nothing for one who is no person. What cannot be removed is left, and what is not there is no
 * error: called again after his next job. */
void job_user_leave(const char *root, uid_t uid);

#endif
