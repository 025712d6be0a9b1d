/* The keeper: the process between the agent and one run of a job. It outlives
 * the agent, and without an agent too it enforces the job's time limit and its heartbeat timeout,
 * and ends the job in the agreed way.
 *
 *   runs ──SIGUSR1, unheard─────▶ saves ──its time──▶ ends ──grace──▶ dies
 *     └────SIGTERM, time limit───────────────────────▶ ▲
 *
 * unheard: the head was not heard for the heartbeat timeout;
 * saves: the checkpoint signal was sent (left out if the job has none); ends:
 * SIGTERM was sent; dies: SIGKILL was sent to all processes that are left. */
#ifndef PHX_AGENT_JOB_KEEPER_H
#define PHX_AGENT_JOB_KEEPER_H

#include <signal.h>

#include "base/process.h"

/** Bytes of output that are kept if the order does not say how much; a line in the output says that
 * more was dropped. The head takes 64 MiB. */
#define JOB_OUTPUT_MAX (60ll << 20)

/** Signals to a keeper: end the job; end the job so that it runs again (checkpoint signal first).
 * Safe twice. */
#define JOB_SIGNAL_END SIGTERM
#define JOB_SIGNAL_RETURN SIGUSR1

/** Why the keeper ended a job. */
enum job_why { JOB_WHY_NOTHING, JOB_WHY_TOLD, JOB_WHY_LIMIT, JOB_WHY_HEARTBEAT_TIMEOUT };

/** Input of the keeper; prepared before fork, borrowed by the keeper. */
struct job_keeper {
	struct phx_run_as user;
	const char *const *argv, *const *env;
	const char *output; /* file to write, 0600 */
	/* "STATUS FORCED CPU_MS MEMORY_BYTES WHY CUT_BYTES\n" is written here ... */
	const char *end_tmp;
	const char *end_path; /* ... and published here */
	const char *cwd;      /* the directory of the run */
	/* start directory that the user asked for, "" = cwd; entered with the user's rights */
	const char *chdir;
	const char *private_dir; /* its private places (job_private.h); NULL: none */
	const char *group;       /* directory of the job's control group, "" none */
	/* a pipe: '1' says that the group is there, any other byte that there is none; -1: no need
	 * to wait */
	int go_fds[2];
	/* locked (flock) as long as the keeper lives; the keeper writes "KEEPER SESSION\n" to it */
	int lock_fd;
	/* int64_t: when the head was last heard, on phx_clock_boot_ms(); -1 = no timeout */
	int contact_fd;
	uint32_t heartbeat_timeout_ms, grace_ms, checkpoint_ms;
	int checkpoint_signal;  /* 0 none */
	int64_t limit_ms;       /* time limit of the run; 0 none */
	uint32_t output_max_mb; /* MiB of output that are kept; 0 = JOB_OUTPUT_MAX */
};

/** Runs in a fresh child of the agent with all signals blocked: starts the job in its own session
 * (and control group), copies its output, waits, ends it when told to, kills processes that it
 * left, publishes its end. Never returns. Makes only async-signal-safe calls. */
void job_keeper_run(struct job_keeper *k) __attribute__((noreturn));

#endif
