/* Jobs: a user's program on this node, as that user, never as root. Each runs
 * under a small keeper process of its own, so that it goes on when the agent
 * is started again, and ends whole. Written down before it is started: a run
 * of a job never runs twice, and never beside another run of it. */
#ifndef PHX_AGENT_JOBS_H
#define PHX_AGENT_JOBS_H

#include "state/event.h"
#include "http/http.h"
#include "agent/config.h"

/** One run of a job: a job that was killed to run again gets the next number. */
struct job_run {
	uint64_t id;
	uint32_t run;
};

/** How a run ended. */
struct job_end {
	struct job_run run;
	int64_t status; /* exit status; 128 + signal; 255 lost; 126 could not be started */
	bool forced;    /* the agent ended it (lease, drain) or lost it: it may run again */
	int ended_by;   /* enum phx_job_ended_by */
	uint64_t cpu_ms, memory_peak_bytes;
	uint64_t output_cut_bytes; /* written beyond what is kept */
	char text[256];
	char output[AGENT_PATH_MAX + 64]; /* path of what it wrote; may not exist */
};

/** Called from the jobs thread, once for every end (again after a restart of the agent until
 * jobs_reported()). */
typedef void (*jobs_ended_fn)(void *arg, const struct job_end *end);

/** Makes a client; its caller frees it. */
typedef int (*jobs_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

struct jobs_config {
	const char *state_dir, *cache_dir, *run_dir; /* all borrowed during jobs_new() */
	const char *hosts_file;                      /* where programs look names up; "" none */
	bool may_ask_systemd;                        /* for a scope for each run */
	jobs_ended_fn ended;
	void *arg;
	jobs_client_fn client; /* for files that are carried; called with arg */
};
struct jobs;

/** Starts the thread and takes up what an earlier agent left: living jobs are kept, ended ones
 * reported, those whose process is gone without a word end with 255. */
int jobs_new(const struct jobs_config *config, struct jobs **ret, struct phx_err *err);
/** From now on no job is started (-ECANCELED), and none is half started. */
void jobs_close(struct jobs *j);
/** Ends the thread; jobs go on. */
void jobs_free(struct jobs *j);

/** Files that a run is to bring back go to the head, if it ended by itself; called before its end
 * is reported. Twice is as once. What is no file of it, or too large, is refused for good (-ENOENT,
 * -EINVAL, -EFBIG); else as phx_http_upload(). */
int jobs_bring_back(struct jobs *j, struct phx_http_client *c, struct job_run run,
		    struct phx_err *err);

/** The head answered to what was sent at `clock_ms` (phx_clock_boot_ms()): leases count from there.
 * Jobs whose lease ends are killed by their keepers, whether or not there is an agent. */
void jobs_heard(struct jobs *j, int64_t clock_ms);

/** Start the run `job->kills` of job `job` on this `node`. Known already: nothing is started (an
 * end is reported again). -EPERM uid or gid 0; -ESTALE a newer run is known; -EAGAIN an older one
 * still runs: it is killed, ask again. */
int jobs_start(struct jobs *j, const struct phx_job *job, const char *node, struct phx_err *err);

/** All of the run is told to end: SIGTERM, and SIGKILL when its grace is over. `to_run_again`: its
 * checkpoint signal comes first. An unknown run: reported ended (143), so that it is never started;
 * an older one than is known: -ESTALE. */
int jobs_kill(struct jobs *j, struct job_run run, bool to_run_again, struct phx_err *err);

/** The end of the run has reached the head: its output is removed, its record stays for a while. */
void jobs_reported(struct jobs *j, struct job_run run);

/** Runs that go on or whose end is not reported yet: up to `max`; returns how many there are. */
uint32_t jobs_list(struct jobs *j, struct job_run *ret, uint32_t max);

/** When a wait is given up. */
struct jobs_until {
	/* asked when a job has ended, after jobs_wake(), and at due_ms */
	bool (*cancelled)(void *arg);
	void *arg;
	int64_t due_ms; /* on phx_clock_ms()'s clock */
};
/** Whoever waits here looks again whether he is to give up. */
void jobs_wake(struct jobs *j);
/** Wait until no job runs: `grace_ms` for them to end, then they are ended to run again. 0,
 * -ETIMEDOUT when they do not die, -ECANCELED when `until` says so. */
int jobs_drain(struct jobs *j, uint32_t grace_ms, const struct jobs_until *until,
	       struct phx_err *err);

#endif
