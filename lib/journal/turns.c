/* See turns.h. Called by journal.c. */
#include "journal/turns.h"

#include <stddef.h>

void phx_turns_init(struct phx_turns *t)
{
	*t = (struct phx_turns){0};
	pthread_mutex_init(&t->lock, NULL);
}

void phx_turns_fini(struct phx_turns *t)
{
	pthread_mutex_destroy(&t->lock);
}

static void join(struct phx_turns *t, struct phx_turn *mine)
{
	mine->over = false;
	mine->next = NULL;
	if (t->last)
		t->last->next = mine;
	else
		t->first = mine;
	t->last = mine;
}

bool phx_turns_begin(struct phx_turns *t, struct phx_turn *mine)
{
	pthread_cond_init(&mine->called, NULL);
	pthread_mutex_lock(&t->lock);
	join(t, mine);
	while (!mine->over && (t->taken || t->first != mine))
		pthread_cond_wait(&mine->called, &t->lock);
	bool works = !mine->over;
	t->taken = t->taken || works;
	pthread_mutex_unlock(&t->lock);
	pthread_cond_destroy(&mine->called);
	return works;
}

struct phx_turn *phx_turns_take(struct phx_turns *t)
{
	pthread_mutex_lock(&t->lock);
	struct phx_turn *group = t->first, *last = group;
	while (!group->alone && last->next && !last->next->alone)
		last = last->next;
	t->first = last->next;
	t->last = t->first ? t->last : NULL;
	last->next = NULL;
	pthread_mutex_unlock(&t->lock);
	return group;
}

void phx_turns_over(struct phx_turns *t, struct phx_turn *group)
{
	pthread_mutex_lock(&t->lock);
	/* the caller's own is the first, and called by nobody */
	for (struct phx_turn *turn = group->next; turn; turn = turn->next) {
		turn->over = true;
		pthread_cond_signal(&turn->called);
	}
	t->taken = false;
	if (t->first)
		pthread_cond_signal(&t->first->called);
	pthread_mutex_unlock(&t->lock);
}
