/* One task as processes: its program, and before or after that a process that looks at its outputs
 * with the rights of its user. Used by the keeper of tasks (task_keeper.c), which has one thread
 * and waits for all of them; nothing here blocks. */
#ifndef PHX_AGENT_TASK_RUN_H
#define PHX_AGENT_TASK_RUN_H

#include <sys/resource.h>

#include "agent/job_group.h"
#include "agent/task_book.h"
#include "base/process.h"

/** How many bytes of a task's output are kept if its order does not say. */
#define TASK_PRINT_MAX (1u << 20)

/** What the tasks of one order have in common. */
struct task_common {
	unsigned n; /* who refers to it: tasks, and their order while it is taken */
	char re[PHX_NAME_MAX], user[PHX_NAME_MAX];
	struct phx_run_as as;
	char data[AGENT_PATH_MAX + 128]; /* the data directory here */
	bool own; /* made by the keeper: entered before rights are given up */
	bool is_private;
	int mounts, ipc; /* namespaces of its user (job_private.h), borrowed; if is_private */
	uint32_t heartbeat_timeout_ms, grace_ms, cores;
	uint64_t print_max;
};

enum task_stage {
	TASK_LOOKS,  /* are the outputs there, and the same as before? */
	TASK_WORKS,  /* the program runs */
	TASK_CHECKS, /* are its outputs there after the program? */
};

struct task_body {
	struct phx_task task; /* owned */
	struct task_common *common;
	struct phx_task_result result; /* as far as known */
	enum task_stage stage;
	pid_t pid;      /* 0: there is no process */
	int from;       /* pipe of its output, or of what it found; -1 none */
	int out;        /* file that keeps the output; -1: nothing was printed yet */
	int why;        /* enum phx_task_outcome, why it was told to end; -1 it was not */
	int64_t due_ms; /* when its time limit or its grace is over; INT64_MAX never */
	bool told;      /* it was signalled to end */
	char group[JOB_GROUP_MAX]; /* "" none */
	struct phx_sha256 *sum;    /* of its output, if that is wanted; owned */
	char tail[160];            /* the last bytes of its output */
	uint32_t n_tail;
	struct task_outputs {
		int32_t failed; /* 0 or negative errno */
		uint32_t n;
		uint64_t bytes;
		char sha256[65];
		char text[160];
	} outputs;       /* found by the process that looks at them */
	uint32_t n_said; /* how many bytes of `outputs` have come */
};

/** Where tasks live; all of it is borrowed. */
struct task_site {
	int out_dir;   /* output goes to RUN.TASK.ATTEMPT.out in it */
	int nodes_dir; /* the nodes of a task of several: task-RUN.TASK.ATTEMPT.nodes in it */
	const char *nodes_path; /* its path, as tasks see it */
	const char *group;      /* the group of all tasks; "" none */
};
/** What the names of files of nodes begin with. */
#define TASK_NODES_PREFIX "task-"

/** Start the process of t->stage. Negative errno; t->result.text says why. */
int task_run_start(const struct task_site *site, struct task_body *t);
/** Read what has come from the process. False: nothing more will come. */
bool task_run_read(const struct task_site *site, struct task_body *t);
/** Signal all processes of the task. */
void task_run_signal(const struct task_body *t, int sig);
/** The task's process has ended: kills what is left of it, and adds up what it used. t->from is
 * left to the caller. */
void task_run_over(const struct task_site *site, struct task_body *t, const struct rusage *used);

/** Size and SHA-256 of all these files below the directory, as phx_task_result.outputs_sha256
 * describes. A file that is missing, no regular file, or behind a link is reported in ret->failed
 * and ret->text. */
void task_run_look(int dir, const struct phx_list *paths, struct task_outputs *ret);

/** Name of the file that keeps a task's output. */
void task_run_name(const struct task_key *key, char ret[80]);

#endif
