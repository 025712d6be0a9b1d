/* See todo.h. Called by journal.c. */
#include "journal/todo.h"

#include <stdlib.h>

#include "base/util.h"

void phx_todo_init(struct phx_todo *t)
{
	*t = (struct phx_todo){.end = &t->first};
	pthread_mutex_init(&t->lock, NULL);
}

void phx_todo_fini(struct phx_todo *t)
{
	phx_todo_free(t->first);
	pthread_mutex_destroy(&t->lock);
}

void phx_todo_free(struct phx_todo_batch *b)
{
	while (b) {
		struct phx_todo_batch *next = b->next;
		phx_list_fini(&b->actions);
		free(b);
		b = next;
	}
}

void phx_todo_put(struct phx_todo *t, struct phx_todo_batch *b)
{
	pthread_mutex_lock(&t->lock);
	*t->end = b;
	t->end = &b->next;
	pthread_mutex_unlock(&t->lock);
}

void phx_todo_close(struct phx_todo *t)
{
	pthread_mutex_lock(&t->lock);
	t->closed = true;
	pthread_mutex_unlock(&t->lock);
}

bool phx_todo_begin(struct phx_todo *t)
{
	pthread_mutex_lock(&t->lock);
	bool mine = !t->taken;
	t->taken = true;
	pthread_mutex_unlock(&t->lock);
	return mine;
}

struct phx_todo_batch *phx_todo_next(struct phx_todo *t)
{
	pthread_mutex_lock(&t->lock);
	struct phx_todo_batch *b = t->closed ? NULL : t->first;
	if (b) {
		t->first = PHX_TAKE(b->next);
		t->end = t->first ? t->end : &t->first;
	}
	t->taken = b != NULL;
	pthread_mutex_unlock(&t->lock);
	return b;
}
