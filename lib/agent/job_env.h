/* The environment of a job. */
#ifndef PHX_AGENT_JOB_ENV_H
#define PHX_AGENT_JOB_ENV_H

#include "state/state.h"

struct job_env {
	struct phx_buf words; /* NUL-separated */
	char **list;          /* pointers into it, NULL at the end */
};

/** Variables that launchers of MPI programs read, with the name of a file of nodes: ours, Hydra
 * (MPICH, Intel MPI), Open MPI up to 4 and from 5 on. */
#define JOB_ENV_NODEFILES \
	"PHX_JOB_NODEFILE", "HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE", \
		"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"

/** Directories that the job is told of; both borrowed. */
struct job_env_dirs {
	const char *own;     /* of the run */
	const char *scratch; /* the user's scratch of the RE on this node; NULL: there is none */
};

/** Make the environment of `job` on `node` (its part number is PHX_JOB_RANK), and write the job's
 * nodes to `file`, one name a line. Variables that the job's user has set replace ours, except
 * those that the agent must set (PHX_JOB_..., PHX_SCRATCH). -EINVAL: this node has no part of the
 * job. The caller calls job_env_fini(), also after a failure. */
int job_env_make(const struct phx_job *job, const char *node, const char *file,
		 const struct job_env_dirs *dirs, struct job_env *ret, struct phx_err *err);
void job_env_fini(struct job_env *e);

#endif
