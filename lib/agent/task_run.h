/* One task as processes: the program, and before or after it one that looks at its outputs with the
 * rights of its user. Used by the keeper of tasks (task_keeper.c), which has one thread and waits
 * for all of them; nothing here blocks. */
#ifndef PHX_AGENT_TASK_RUN_H
#define PHX_AGENT_TASK_RUN_H

#include <sys/resource.h>

#include "agent/job_group.h"
#include "agent/task_book.h"
#include "base/process.h"

/** What is kept of that which a task prints, where its order does not say. */
#define TASK_PRINT_MAX (1u << 20)

/** What the tasks of one order have in common. */
struct task_common {
	unsigned n; /* tasks that have it */
	char re[PHX_NAME_MAX], user[PHX_NAME_MAX];
	struct phx_run_as as;
	char data[AGENT_PATH_MAX + 128]; /* the data directory here */
	bool own; /* made by the keeper: entered before rights are given up */
	bool is_private;
	int mounts, ipc; /* namespaces of its user (job_private.h), borrowed; if is_private */
	uint32_t lease_ms, grace_ms, cores;
	uint64_t print_max;
};

enum task_stage {
	TASK_LOOKS,  /* are the outputs there, and those that it had? */
	TASK_WORKS,  /* the program runs */
	TASK_CHECKS, /* are its outputs there? */
};

struct task_body {
	struct phx_task task; /* owned */
	struct task_common *common;
	struct phx_task_result result; /* as far as it is known */
	enum task_stage stage;
	pid_t pid;                 /* 0: there is no process */
	int from;                  /* what it prints or says; -1 none */
	int out;                   /* where that is kept; -1: nothing was printed yet */
	int why;                   /* enum phx_task_outcome: it was ended for that; -1 it was not */
	int64_t due_ms;            /* when its time is over, or its grace; INT64_MAX never */
	bool told;                 /* SIGTERM was sent */
	bool synced;               /* its result is on the disk */
	char group[JOB_GROUP_MAX]; /* "" none */
	struct phx_sha256 *sum;    /* of what it printed, if that is wanted; owned */
	char tail[160];            /* the last of what it printed */
	uint32_t n_tail;
	struct task_outputs {
		int32_t failed; /* 0 or negative errno */
		uint32_t n;
		uint64_t bytes;
		char sha256[65];
		char text[160];
	} outputs;       /* as its second process says */
	uint32_t n_said; /* bytes of that which have come */
};

/** Where tasks live; all of it is borrowed. */
struct task_site {
	int out_dir;       /* gets RUN.TASK.ATTEMPT.out */
	const char *group; /* the group of all tasks; "" none */
};

/** Start the process of t->stage. Negative errno: t->result.text says why. */
int task_run_start(const struct task_site *site, struct task_body *t);
/** Read what has come; false: nothing will any more. */
bool task_run_read(const struct task_site *site, struct task_body *t);
/** Signal all its processes. */
void task_run_signal(const struct task_body *t, int sig);
/** Its process has ended: what is left of it is killed, what it used is reckoned. t->from is left
 * to the caller. */
void task_run_over(const struct task_site *site, struct task_body *t, const struct rusage *used);

/** Size and SHA-256 of all these files below the directory, as phx_task_result.outputs_sha256 says;
 * what is missing, no plain file, or behind a link is told by ret->failed and its text. */
void task_run_look(int dir, const struct phx_list *paths, struct task_outputs *ret);

/** Name of the file of what a task prints. */
void task_run_name(const struct task_key *key, char ret[80]);

#endif
