/* What jobs.c and jobs_drain.c know of the runs of this node. Nobody else includes this. */
#ifndef PHX_AGENT_JOBS_INTERNAL_H
#define PHX_AGENT_JOBS_INTERNAL_H

#include <pthread.h>

#include "agent/job_run.h"
#include "agent/jobs.h"

struct running {
	struct job_run run;
	bool ended;         /* and told, but not reported yet */
	pid_t keeper;       /* our child, to be reaped; 0 = an earlier agent's */
	int pidfd;          /* of its keeper: it can be read when that has ended; -1 none yet */
	int64_t goodbye_ms; /* how long it may take to end */
	/* its files are being fetched, there is no keeper yet: */
	bool staging;
	int told; /* the signal that a keeper would have got; 0 none */
};

struct jobs {
	struct job_place at;
	jobs_ended_fn ended;
	void *arg;
	jobs_client_fn client;
	uint32_t n_staging; /* threads that fetch files */
	uint32_t n_telling; /* ends that are being told */
	pthread_t thread;
	int wake_fd; /* of the thread: the list has changed, or it is to end */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for those who wait for the end of jobs or of staging */
	bool quit, closed;
	struct phx_list list; /* struct running */
};

/** Send `sig` to the keeper of a run; to one that has none yet, or has not written its number, as
 * soon as it has. Called with the lock held. */
void jobs_tell_keeper(struct jobs *j, struct running *r, int sig);

#endif
