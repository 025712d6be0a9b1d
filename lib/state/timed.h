/* Which triggers, and which keys that must be destroyed, are due: items of a list that each want a
 * tick at some time. The index (index.h) keeps the times in a tree over the places of each list, so
 * that neither a tick nor the question for the next deadline goes through all items. It follows
 * from the state and decides nothing. Called by lib/job, lib/node and lib/core. Pure.
 *
 * The rule: code that changes when an item is due calls phx_timed_set() after the change, within
 * the same event; code that removes an item calls phx_timed_moved() after that. */
#ifndef PHX_STATE_TIMED_H
#define PHX_STATE_TIMED_H

#include "state/earliest.h"
#include "state/state.h"

/** Lists of such items. */
enum phx_timed {
	PHX_TIMED_TRIGGER, /* struct phx_trigger */
	PHX_TIMED_KEY,     /* struct phx_doomed_key */
	PHX_TIMED_COUNT_
};

/** The item, which is in its list, may be due at another time now. */
void phx_timed_set(struct phx_state *s, enum phx_timed list, const void *item);
/** Items have changed their places: one was removed from the list. */
void phx_timed_moved(struct phx_state *s, enum phx_timed list);

/** The first item at or after place `at` that is due; NULL: none. */
void *phx_timed_next(struct phx_state *s, enum phx_timed list, uint32_t at);
/** When the next item is due; INT64_MAX: never. Usable without an index. */
int64_t phx_timed_first(const struct phx_state *s, enum phx_timed list);

/* ---- for the index ---- */

/** Make the tree of each list, of the times as they are now. -ENOMEM: some are missing. */
int phx_timed_init(struct phx_earliest trees[PHX_TIMED_COUNT_], const struct phx_state *s);
void phx_timed_fini(struct phx_earliest trees[PHX_TIMED_COUNT_]);
/** Does the tree have the time of each item, and no other? -EPROTO with the first difference. */
int phx_timed_check(const struct phx_state *s, struct phx_err *err);

#endif
