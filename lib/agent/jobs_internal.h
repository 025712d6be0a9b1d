/* The runs of this node, as the files jobs*.c know them. No other file includes this. */
#ifndef PHX_AGENT_JOBS_INTERNAL_H
#define PHX_AGENT_JOBS_INTERNAL_H

#include "agent/job_run.h"
#include "agent/jobs.h"

struct running {
	struct job_run run;
	bool ended;             /* ended() was called, the head has no report yet */
	pid_t keeper;           /* our child, to be reaped; 0 = an earlier agent's */
	int pidfd;              /* of the keeper: readable when the keeper has ended; -1 none yet */
	sd_event_source *death; /* of pidfd; NULL: it is not watched yet */
	int64_t goodbye_ms;     /* how long the run may take to end */
	/* its files are being fetched; there is no keeper yet */
	bool staging;
	int told; /* signal that is still to be sent to the keeper; 0 none */
};

/* `busy` is the lock of the list and of the files of jobs: whoever has taken it (loop_take()) "has
 * the jobs". It is held while records are written and programs started, so it cannot be the loop
 * itself. */
struct jobs {
	struct loop *loop;
	struct job_place at;
	jobs_ended_fn ended;
	void *arg;
	jobs_client_fn client;
	uint32_t n_staging; /* workers that fetch files */
	uint32_t n_telling; /* calls of ended() under way */
	bool busy, closed;
	bool sweeping, sweeps_again; /* a worker removes what runs left, and will look again */
	struct phx_list list;        /* struct running */
	/* guarded by the loop */
	sd_event_source *again; /* NULL: the jobs are being freed */
	bool looking;           /* a worker is about to take the jobs */
};

/** Send `sig` to the keeper of a run, at once or as soon as the run has a keeper whose process id
 * is known. Called by whoever has the jobs. */
void jobs_tell_keeper(struct jobs *j, struct running *r, int sig);

/** The run, if it is known here and its end is not reported; NULL otherwise. Called by whoever has
 * the jobs. */
struct running *jobs_find(const struct jobs *j, struct job_run run);

/** The records of runs, to the rules of job_book.h; borrows `j`. Used by whoever has the jobs. */
struct job_book jobs_book(struct jobs *j);

/** Have a worker remove what runs left that were dropped. Called by whoever has the jobs. */
void jobs_sweep(struct jobs *j);
/** The same at the start, and what an agent of before left of runs that nobody knows any more. */
void jobs_sweep_begin(struct jobs *j);

#endif
