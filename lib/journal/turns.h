/* Threads that want the same thing done, one of which does it for all that wait: while a disk syncs
 * for the first, the others gather, and the next sync is for all of them. The order is that in
 * which they came. Knows nothing of what is done.
 *
 *	if (phx_turns_begin(&turns, &mine.turn)) {
 *		struct phx_turn *group = phx_turns_take(&turns);
 *		... the work of each turn from `group` to NULL, mine among them ...
 *		phx_turns_over(&turns, group);
 *	}
 */
#ifndef PHX_JOURNAL_TURNS_H
#define PHX_JOURNAL_TURNS_H

#include <pthread.h>
#include <stdbool.h>

/** One thread that waits; on its stack. */
struct phx_turn {
	bool alone; /* set by its owner: what it wants is done without any other */
	/* the rest belongs to the turns */
	bool over;
	struct phx_turn *next;
	pthread_cond_t called;
};

struct phx_turns {
	pthread_mutex_t lock;
	struct phx_turn *first, *last; /* borrowed */
	bool taken;                    /* a thread works */
};

void phx_turns_init(struct phx_turns *t);
void phx_turns_fini(struct phx_turns *t);

/** Waits. True: the caller works now, for phx_turns_take(). False: its work was done meanwhile. */
bool phx_turns_begin(struct phx_turns *t, struct phx_turn *mine);
/** The turns whose work is done together, linked by `next`, the caller's first: all that wait, up
 * to the first that wants to be alone. They stay where they are until phx_turns_over(). */
struct phx_turn *phx_turns_take(struct phx_turns *t);
/** The work of the group is done: its threads go on, and the first that waits works next. */
void phx_turns_over(struct phx_turns *t, struct phx_turn *group);

#endif
