/* What became of the tasks of this node, as a log that only grows: STATE/tasks/log. The book of
 * tasks (task_book.h) says what is noted, and what that means to the next keeper. Notes are on
 * the disk after task_log_sync(), which is called once for many of them. Each note is a line with a
 * checksum; a line whose checksum is wrong was never synced, and is skipped. A log that has grown
 * long is rewritten with only what still matters. Called by the keeper of tasks. */
#ifndef PHX_AGENT_TASK_LOG_H
#define PHX_AGENT_TASK_LOG_H

#include "agent/task_book.h"

struct task_log {
	int dir, fd;
	struct phx_buf news; /* not written yet */
	uint64_t size;       /* of the file */
	bool torn;           /* the file may end in the middle of a line */
};

/** Open the log in the open directory `dir` (borrowed), and call `tell` for each note that it
 * holds, in order. -ENOMEM, or why it cannot be read. */
int task_log_open(int dir, void (*tell)(void *arg, const struct task_note *note), void *arg,
		  struct task_log *ret, struct phx_err *err);
/** Safe on a log that is all zero with fd -1. */
void task_log_close(struct task_log *l);

/** Add a note; it is lost with the process until task_log_sync(), which also reports want of
 * memory. */
void task_log_add(struct task_log *l, const struct task_note *note);
/** Write added notes and sync them to the disk. On failure it may be called again. */
int task_log_sync(struct task_log *l, struct phx_err *err);

/** Is it time to rewrite the log? */
bool task_log_is_long(const struct task_log *l);
/** Replace the log by what `fill` adds to `fresh`. On failure the old file stays in use. */
int task_log_renew(struct task_log *l, void (*fill)(void *arg, struct task_log *fresh), void *arg,
		   struct phx_err *err);

#endif
