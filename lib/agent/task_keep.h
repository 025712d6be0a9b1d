/* The parts of the keeper of tasks (task_keeper.h), which has one thread. No other file includes
 * this.
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

/** What a user has for his own on this node (job_private.h), as long as the keeper lives. */
struct task_user {
	uint32_t uid;
	int mounts, ipc;
};

struct task_keep {
	struct task_book book;
	struct task_log log;
	struct task_site site;
	struct phx_hash pids;  /* entries of the book by process id */
	struct phx_list users; /* struct task_user */
	const char *cache_dir;
	bool is_private;
	int dir, contact, poll; /* STATE/tasks; when the head was heard; epoll */
	int64_t due_ms;         /* when a task is to be looked at; INT64_MAX never */
	int64_t sync_ms;        /* when what is new is synced at the latest; INT64_MAX none is */
	uint32_t n_news;        /* ends that are not synced */
	uint64_t batch;         /* the last that was told */
	uint32_t n_told;        /* its rows, the first that ended; 0: none is under way */
	uint64_t told[PHX_TASKS_TOLD]; /* orders that were taken, the last at n_orders - 1 */
	uint64_t kept_bytes;           /* of what tasks printed and is kept */
	struct phx_list kept;          /* struct task_kept, oldest first */
	bool failed;                   /* the disk: the keeper cannot go on */
};

/** What a task printed and is kept until there is too much of it. */
struct task_kept {
	char name[80];
	uint64_t bytes;
};

enum { TASK_ROW_MS = 50, TASK_LEFT_BYTES = 256 << 20 };

/* ---- task_places.c ---- */

/** Where the tasks of an order live, with no task yet; free() it. The data directory is made if the
 * order names none. */
int task_common_make(struct task_keep *k, const struct phx_task_order *o, struct task_common **ret,
		     struct phx_err *err);
void task_users_fini(struct task_keep *k);

/* ---- task_life.c ---- */

/** Forget all; processes go on, and end with this one. */
void task_life_fini(struct task_keep *k);

/** What the log says. Then task_life_lost() ends what had not ended. */
void task_life_replay(void *keep, const struct task_note *note);
void task_life_lost(struct task_keep *k);
/** Write the log anew with what still matters. */
int task_life_renew(struct task_keep *k, struct phx_err *err);

/** Take an order: all of it is on the disk, or nothing of it begins. -EBUSY: too many tasks are
 * here. */
int task_life_order(struct task_keep *k, uint64_t number, const struct phx_task_order *o,
		    struct phx_err *err);
/** Begin what fits. */
void task_life_begin(struct task_keep *k);
/** A process of a task has ended. */
void task_life_reaped(struct task_keep *k, pid_t pid, int status, const struct rusage *used);
/** Nothing more is read of what it prints. */
void task_life_deaf(struct task_keep *k, struct task_body *t);
/** Look at the time: limits, graces, leases. */
void task_life_look(struct task_keep *k);
/** End all tasks, for `why`. */
void task_life_end_all(struct task_keep *k, enum phx_task_outcome why);
/** Write what is new to the disk. */
void task_life_sync(struct task_keep *k);
/** The next rows for the head, at most a batch; they stay the book's: free() the list's items
 * alone. How many there are. */
uint32_t task_life_rows(struct task_keep *k, struct phx_list *ret);
/** The head has the first `n` of those that ended. */
void task_life_said(struct task_keep *k, uint32_t n);

#endif
