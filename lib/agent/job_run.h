/* One run of a job is started: its directory, its environment, its script, its
 * control group, its keeper. Used by jobs.c with its lock held. */
#ifndef PHX_AGENT_JOB_RUN_H
#define PHX_AGENT_JOB_RUN_H

#include "agent/job_group.h"
#include "agent/job_store.h"

/** After SIGKILL a run has so long to be gone. */
enum { JOB_DIE_MS = 10000 };

/** Where runs live on this node. */
struct job_place {
	struct job_store store;
	char node_dir[AGENT_PATH_MAX + 8]; /* files of nodes, for all to read */
	char stage[AGENT_PATH_MAX + 8];    /* directories and scripts of runs */
	struct job_groups groups;
	char hosts_file[AGENT_PATH_MAX]; /* "": names of nodes are not put anywhere */
	int contact_fd;                  /* says when the head was last heard */
};

/** Start the run `job->kills` on this `node`: the process of its keeper, a child of ours. Files to
 * be fetched have been. On failure nothing of it is left. */
pid_t job_run_start(struct job_place *at, const struct phx_job *job, const char *node,
		    struct phx_err *err);

#endif
