/* What the files of the keeper of tasks (task_keeper.h) share; the keeper has one thread. No other
 * file includes this.
 *
 *	task_keeper.c    the loop: the agent's messages, what tasks print, time
 *	task_life.c      what becomes of a task, from its order to its row
 *	task_places.c    where the tasks of an order live */
#ifndef PHX_AGENT_TASK_KEEP_H
#define PHX_AGENT_TASK_KEEP_H

#include "agent/task_book.h"
#include "agent/task_log.h"
#include "agent/task_run.h"
#include "agent/task_talk.h"

/** The private places of a user on this node (job_private.h), as long as the keeper lives. */
struct task_user {
	uint32_t uid;
	int mounts, ipc;
};

struct task_keep {
	struct task_book book;
	struct task_log log;
	struct task_site site;
	struct phx_hash pids;       /* indices of the book's entries, by process id */
	struct phx_list users;      /* struct task_user */
	struct task_common *common; /* of the order that is being taken */
	const char *cache_dir;
	char *nodes_path; /* owned: site.nodes_path */
	bool is_private;
	int dir, contact, poll; /* STATE/tasks; the file that says when the head was heard; epoll */
	int64_t due_ms;         /* when a task must be looked at next; INT64_MAX never */
	int64_t sync_ms;        /* when new notes must be synced; INT64_MAX: there are none */
	uint32_t n_news;        /* ends of tasks that are not synced yet */
	uint64_t batch;         /* number of the last batch of rows that the agent was told */
	uint32_t n_told;        /* its rows, from the first ended task on; 0: none is under way */
	uint64_t told[PHX_TASKS_TOLD]; /* orders that were taken, the last at the end; 0 none */
	uint64_t kept_bytes;           /* size of all output that is kept */
	struct phx_list kept;          /* struct task_kept, oldest first */
	bool failed;                   /* the log, or half an order: the keeper cannot go on */
};

/** The output of one task, kept until there is too much output in all. */
struct task_kept {
	char name[80];
	uint64_t bytes;
};

enum { TASK_ROW_MS = 50, TASK_LEFT_BYTES = 256 << 20 };

/* ---- task_places.c ---- */

/** Make what the tasks of an order have in common, with no task yet; the caller frees it by free().
 * The data directory is made if the order names none. */
int task_common_make(struct task_keep *k, const struct phx_task_order *o, struct task_common **ret,
		     struct phx_err *err);
void task_users_fini(struct task_keep *k);

/* ---- task_life.c ---- */

/** Free everything. Processes of tasks end when this process does. */
void task_life_fini(struct task_keep *k);

/** Apply one note of an earlier keeper's log. After the last, task_life_lost() ends the tasks that
 * had not ended. */
void task_life_replay(void *keep, const struct task_note *note);
void task_life_lost(struct task_keep *k);
/** Rewrite the log with only what still matters. */
int task_life_renew(struct task_keep *k, struct phx_err *err);

/** Take an order: on return all of it is on the disk, or nothing of it begins. -EBUSY: too many
 * tasks are here. */
int task_life_order(struct task_keep *k, uint64_t number, const struct phx_task_order *o,
		    struct phx_err *err);
/** Begin waiting tasks, as many as fit. */
void task_life_begin(struct task_keep *k);
/** A process of a task has ended. */
void task_life_reaped(struct task_keep *k, pid_t pid, int status, const struct rusage *used);
/** Stop reading the task's output. */
void task_life_deaf(struct task_keep *k, struct task_body *t);
/** Apply limits, grace times and heartbeat timeouts that are over. */
void task_life_look(struct task_keep *k);
/** End all tasks, for `why`. */
void task_life_end_all(struct task_keep *k, enum phx_task_outcome why);
/** Write new notes to the disk. */
void task_life_sync(struct task_keep *k);
/** Put the next rows for the head into *ret, at most a batch, and return how many. What they point
 * to is the book's: only free() the list's items. */
uint32_t task_life_rows(struct task_keep *k, struct phx_list *ret);
/** The head has the rows of the first `n` ended tasks. */
void task_life_said(struct task_keep *k, uint32_t n);

#endif
