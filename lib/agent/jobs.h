/* Jobs: a user's program on this node, run as that user, never as root. Each job
 * has a small keeper process, so that it goes on when the agent is started again,
 * and all its processes end together. A run is recorded before it is started: it
 * never starts twice, and never beside another run of the job. */
#ifndef PHX_AGENT_JOBS_H
#define PHX_AGENT_JOBS_H

#include "state/event.h"
#include "http/http.h"
#include "agent/config.h"
#include "agent/job_book.h"
#include "agent/loop.h"

/** How a run ended. */
struct job_end {
	struct job_run run;
	int64_t status; /* exit status; 128 + signal; 255 lost; 126 could not be started */
	bool forced;    /* the agent ended it (timeout, drain) or lost it: it may run again */
	int ended_by;   /* enum phx_job_ended_by */
	uint64_t cpu_ms, memory_peak_bytes;
	uint64_t output_cut_bytes; /* output that was dropped */
	char text[256];
	char output[AGENT_PATH_MAX + 64]; /* path of its output; may not exist */
};

/** Called in a worker, once for every end; after a restart of the agent again, until
 * jobs_reported(). */
typedef void (*jobs_ended_fn)(void *arg, const struct job_end *end);

/** Makes a client; its caller frees it. */
typedef int (*jobs_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

struct jobs_config {
	struct loop *loop;                           /* borrowed */
	const char *state_dir, *cache_dir, *run_dir; /* all borrowed during jobs_new() */
	const char *hosts_file;                      /* where programs look names up; "" none */
	bool may_ask_systemd;                        /* for a scope for each run */
	bool private_places;                         /* job_private.h, job_user.h */
	const char *root;                            /* the node's files lie below it; "": / */
	const char *scratch_dir;                     /* accounts.h; NULL none */
	jobs_ended_fn ended;
	void *arg;
	jobs_client_fn client; /* for the transfer of files; called with arg */
};
struct jobs;

/** Takes up the jobs of an earlier agent: living jobs go on, ends are reported, and jobs whose
 * keeper is gone without a record end with 255. */
int jobs_new(const struct jobs_config *config, struct jobs **ret, struct phx_err *err);
/** From now on jobs_start() starts no job (-ECANCELED), and no start is under way. */
void jobs_close(struct jobs *j);
/** Jobs go on. Waits for what is under way. Safe on NULL. */
void jobs_free(struct jobs *j);

/** Bring the files of a run to the head, if it ended by itself; called before its end is reported.
 * Safe twice. A missing or unfit or too large file is a final error (-ENOENT, -EINVAL, -EFBIG);
 * other errors as phx_http_upload(). */
int jobs_bring_back(struct jobs *j, struct phx_http_client *c, struct job_run run,
		    struct phx_err *err);

/** The head answered a call that was sent at `clock_ms` (phx_clock_boot_ms()): heartbeat
 * timeouts count from there. Keepers end jobs at their timeout, whether or not an agent runs. */
void jobs_heard(struct jobs *j, int64_t clock_ms);

/** Start the run `job->kills` of job `job` on this `node`. A known run is not started (its end is
 * reported again). -EPERM: uid or gid is 0, or no valid number; -EINVAL: no program; -ESTALE: a
 * newer run is known; -EAGAIN: an older run is still being killed, ask again; -ECANCELED: after
 * jobs_close(). */
int jobs_start(struct jobs *j, const struct phx_job *job, const char *node, struct phx_err *err);

/** End all processes of the run: SIGTERM, and SIGKILL when its grace is over. `to_run_again`: its
 * checkpoint signal comes first. An unknown run is reported as ended (143) and never started.
 * -ESTALE: a newer run is known; -EAGAIN: an older run still ends. */
int jobs_kill(struct jobs *j, struct job_run run, bool to_run_again, struct phx_err *err);

/** The end of the run has reached the head: its output is removed, its record stays for a while. */
void jobs_reported(struct jobs *j, struct job_run run);

/** Runs that go on or whose end is not reported yet, up to `max`; returns how many there are. */
uint32_t jobs_list(struct jobs *j, struct job_run *ret, uint32_t max);

/** Is there a run of this user that is not over, or whose end the head does not know yet? */
bool jobs_work_for(struct jobs *j, uint32_t uid);

/** What ends a wait early. */
struct jobs_until {
	/* asked when a job has ended, after loop_news(), and at due_ms; perhaps with the loop
	 * held */
	bool (*cancelled)(void *arg);
	void *arg;
	int64_t due_ms; /* on phx_clock_ms()'s clock */
};
/** Wait until no job runs. Jobs have `grace_ms` to end; then they are ended so that they run again.
 * 0, -ETIMEDOUT: some do not die, -ECANCELED: `until` said so. */
int jobs_drain(struct jobs *j, uint32_t grace_ms, const struct jobs_until *until,
	       struct phx_err *err);
/** Wait until no job runs and the head knows all ends (jobs_reported()). Ends no job. 0, -ETIMEDOUT
 * at `until->due_ms`, -ECANCELED: `until` said so. */
int jobs_await_told(struct jobs *j, const struct jobs_until *until, struct phx_err *err);

#endif
