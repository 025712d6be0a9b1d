/* Jobs: a user's program on this node, as that user, never as root. Each runs
 * under a small keeper process of its own, so that it goes on when the agent
 * is started again, and ends whole. Written down before it is started: a job
 * never runs twice. */
#ifndef PHX_AGENT_JOBS_H
#define PHX_AGENT_JOBS_H

#include "core/state.h"

/** How a job ended. */
struct job_end {
	uint64_t id;
	int64_t status; /* exit status; 128 + signal; 255 lost; 126 could not be started */
	char text[256];
	char output[320]; /* path of what it wrote; may not exist */
};

/** Called from the jobs thread, once for every end (again after a restart of the agent until jobs_reported()). */
typedef void (*jobs_ended_fn)(void *arg, const struct job_end *end);

struct jobs_config {
	const char *state_dir, *cache_dir, *run_dir; /* borrowed during jobs_new() */
	jobs_ended_fn ended;
	void *arg;
};
struct jobs;

/** Starts the thread and takes up what an earlier agent left: living jobs are kept, ended ones reported,
 * those whose process is gone without a word end with 255. */
int jobs_new(const struct jobs_config *config, struct jobs **ret, struct phx_err *err);
/** From now on no job is started (-ECANCELED), and none is half started. */
void jobs_close(struct jobs *j);
/** Ends the thread; jobs go on. */
void jobs_free(struct jobs *j);

/** Start job `job`. Known already: nothing is started (an end is reported again). -EPERM uid or gid 0. */
int jobs_start(struct jobs *j, const struct phx_job *job, struct phx_err *err);

/** SIGTERM to all of the job, SIGKILL after 5 s. An unknown job: reported ended (143), so that it is never started. */
int jobs_kill(struct jobs *j, uint64_t id, struct phx_err *err);

/** The end of `id` has reached the head: its output is removed, its record stays for a while. */
void jobs_reported(struct jobs *j, uint64_t id);

/** Jobs that run or whose end is not reported yet: up to `max` ids; returns how many there are. */
uint32_t jobs_ids(struct jobs *j, uint64_t *ret_ids, uint32_t max);

/** Wait until no job runs: `grace_ms` for them to end, then they are killed. 0, -ETIMEDOUT when they do not die,
 * -ECANCELED when `cancelled(arg)` says so. */
int jobs_drain(struct jobs *j, uint32_t grace_ms, bool (*cancelled)(void *), void *arg, struct phx_err *err);

#endif
