/* Starts one run of a job: makes its directory, environment, script and control
 * group, and forks its keeper. Used by jobs.c with its lock held. */
#ifndef PHX_AGENT_JOB_RUN_H
#define PHX_AGENT_JOB_RUN_H

#include "agent/job_group.h"
#include "agent/job_store.h"

/** Time that a run has to be gone after SIGKILL. */
enum { JOB_DIE_MS = 10000 };

/** Where runs live on this node. */
struct job_place {
	struct job_store store;
	char node_dir[AGENT_PATH_MAX + 8]; /* files of nodes, for all to read */
	char stage[AGENT_PATH_MAX + 8];    /* directories and scripts of runs */
	struct job_groups groups;
	char hosts_file[AGENT_PATH_MAX]; /* gets the names of nodes; "" none does */
	int contact_fd;                  /* holds when the head was last heard */
	bool private_places;             /* of each run; what their users leave is removed */
	char root[AGENT_PATH_MAX];       /* below which users may have left something */
	char scratch[AGENT_PATH_MAX];    /* where members have RE/NAME (accounts.h); "" nowhere */
};

/** Start the run `job->kills` on this `node`; returns the process id of its keeper, a child of the
 * agent. Files that the job needs must have been fetched. A failure leaves no file behind. */
pid_t job_run_start(struct job_place *at, const struct phx_job *job, const char *node,
		    struct phx_err *err);

#endif
