/* What a job finds in its environment. */
#ifndef PHX_AGENT_JOB_ENV_H
#define PHX_AGENT_JOB_ENV_H

#include "state/state.h"

struct job_env {
	struct phx_buf words; /* NUL-separated */
	char **list;          /* into it, NULL at the end */
};

/** The environment of `job` on `node` (its part number is PHX_JOB_RANK), and its node list, one
 * name a line, written to `file`. What its user has set comes in place of ours, but for what begins
 * with PHX_. `dir` is the directory of the run. -EINVAL this node has no part of it. Caller:
 * job_env_fini(), also after a failure. */
int job_env_make(const struct phx_job *job, const char *node, const char *file, const char *dir,
		 struct job_env *ret, struct phx_err *err);
void job_env_fini(struct job_env *e);

#endif
