/* The keeper: the process between the agent and one run of a job. It outlives
 * the agent, and keeps what was agreed even when there is none: the job's time
 * limit, its lease, how it is ended.
 *
 *   runs ──SIGUSR1, lease over──▶ saves ──its time──▶ ends ──grace──▶ dies
 *     └────SIGTERM, time limit───────────────────────▶ ▲
 *
 * saves: the checkpoint signal was sent (left out where the job has none);
 * ends: SIGTERM; dies: SIGKILL to all that is left. */
#ifndef PHX_AGENT_JOB_KEEPER_H
#define PHX_AGENT_JOB_KEEPER_H

#include <signal.h>

#include "agent/process.h"

/** Output beyond this is dropped and said so, where the order does not say how much is kept; the
 * head takes 64 MiB. */
#define JOB_OUTPUT_MAX (60ll << 20)

/** To a keeper: end the job; end it to run again (checkpoint signal first). Twice is once. */
#define JOB_SIGNAL_END SIGTERM
#define JOB_SIGNAL_RETURN SIGUSR1

/** Why a job was ended by its keeper. */
enum job_why { JOB_WHY_NOTHING, JOB_WHY_TOLD, JOB_WHY_LIMIT, JOB_WHY_LEASE };

/** What the keeper needs; prepared before fork, borrowed by it. */
struct job_keeper {
	struct process_user user;
	char *const *argv, *const *env;
	const char *output; /* file to write, 0600 */
	/* "STATUS FORCED CPU_MS MEMORY_BYTES WHY CUT_BYTES\n" is written here ... */
	const char *end_tmp;
	const char *end_path; /* ... and published here */
	const char *cwd;      /* the directory of the run */
	/* where its user wants it to start, "" = there; entered with his rights */
	const char *chdir;
	const char *group; /* directory of its control group, "" none */
	/* a pipe: '1' says that its group is there, anything else that there is none; -1 none to
	 * wait for */
	int go_fds[2];
	/* locked (flock) as long as the keeper lives; gets "KEEPER SESSION\n" */
	int lock_fd;
	/* int64_t: when the head was last heard, on phx_clock_boot_ms(); -1 = no lease */
	int contact_fd;
	uint32_t lease_ms, grace_ms, checkpoint_ms;
	int checkpoint_signal;  /* 0 none */
	int64_t limit_ms;       /* of its run; 0 none */
	uint32_t output_max_mb; /* of its output are kept; 0 = JOB_OUTPUT_MAX */
};

/** Runs in a fresh child of the agent, all signals blocked: starts the job in a session (and
 * control group) of its own, copies its output, waits, ends it as it is told, kills what it left,
 * publishes its end. Never returns. Async-signal-safe calls only. */
void job_keeper_run(struct job_keeper *k) __attribute__((noreturn));

#endif
