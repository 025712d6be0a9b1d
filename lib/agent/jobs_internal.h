/* The runs of this node, as jobs.c and jobs_drain.c know them. No other file includes this. */
#ifndef PHX_AGENT_JOBS_INTERNAL_H
#define PHX_AGENT_JOBS_INTERNAL_H

#include <pthread.h>

#include "agent/job_run.h"
#include "agent/jobs.h"

struct running {
	struct job_run run;
	bool ended;         /* ended() was called, the head has no report yet */
	pid_t keeper;       /* our child, to be reaped; 0 = an earlier agent's */
	int pidfd;          /* of the keeper: readable when the keeper has ended; -1 none yet */
	int64_t goodbye_ms; /* how long the run may take to end */
	/* its files are being fetched; there is no keeper yet */
	bool staging;
	int told; /* signal that the keeper could not be sent yet; 0 none */
};

struct jobs {
	struct job_place at;
	jobs_ended_fn ended;
	void *arg;
	jobs_client_fn client;
	uint32_t n_staging; /* threads that fetch files */
	uint32_t n_telling; /* calls of ended() under way */
	pthread_t thread;
	int wake_fd; /* wakes the thread: the list has changed, or the thread is to end */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* for threads that wait for the end of jobs or of staging */
	bool quit, closed;
	struct phx_list list; /* struct running */
};

/** Send `sig` to the keeper of a run, at once or as soon as the run has a keeper whose process id
 * is known. Called with the lock held. */
void jobs_tell_keeper(struct jobs *j, struct running *r, int sig);

#endif
