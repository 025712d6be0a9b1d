/* The keeper: the process between the agent and one job. */
#ifndef PHX_AGENT_JOB_KEEPER_H
#define PHX_AGENT_JOB_KEEPER_H

#include "phx-agent/process.h"

/** Output beyond this is dropped and said so; the head takes 64 MiB. */
#define JOB_OUTPUT_MAX (60ll << 20)

/** What the keeper needs; prepared before fork, borrowed by it. */
struct job_keeper {
	struct process_user user;
	char *const *argv, *const *env;
	const char *output;   /* file to write, 0600 */
	const char *end_tmp;  /* "STATUS\n" is written here ... */
	const char *end_path; /* ... and published here */
	int lock_fd;          /* locked (flock) as long as the keeper lives; gets the job's session id as text */
};

/** Runs in a fresh child of the agent: starts the job in a session of its own, copies its output, waits, kills
 * what it left, publishes its end. Never returns. Async-signal-safe calls only. */
void job_keeper_run(const struct job_keeper *k) __attribute__((noreturn));

#endif
