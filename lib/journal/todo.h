/* The actions of committed events that are to be carried out: in the order of the commits, by one
 * thread at a time. Its lock is held for moments only: no thread waits here for a disk. */
#ifndef PHX_JOURNAL_TODO_H
#define PHX_JOURNAL_TODO_H

#include <pthread.h>
#include <stdbool.h>

#include "base/record.h"

/** The actions of one commit. */
struct phx_todo_batch {
	struct phx_todo_batch *next;
	struct phx_list actions; /* struct phx_action */
};

struct phx_todo {
	pthread_mutex_t lock;
	struct phx_todo_batch *first, **end; /* owned */
	bool taken, closed;
};

void phx_todo_init(struct phx_todo *t);
void phx_todo_fini(struct phx_todo *t);
/** Frees a batch and those after it; NULL is none. */
void phx_todo_free(struct phx_todo_batch *b);

/** Takes the batch. */
void phx_todo_put(struct phx_todo *t, struct phx_todo_batch *b);
/** Nothing is carried out any more. */
void phx_todo_close(struct phx_todo *t);
/** True: the caller carries out what phx_todo_next() gives it, until that is NULL. False: another
 * thread does, also what was put before this call. */
bool phx_todo_begin(struct phx_todo *t);
/** The next batch, which the caller frees. NULL: there is none, and the caller is done. */
struct phx_todo_batch *phx_todo_next(struct phx_todo *t);

#endif
