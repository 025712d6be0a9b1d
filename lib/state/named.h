/* Finds pools, roles and REs by name, REs also by their number in the ledger, and the REs that are
 * on their way out. The index (index.h) keeps this, so that an event of one node goes through none
 * of these lists. They change rarely: code that changes one calls phx_named_changed(), and until
 * the end of that event the lists are searched. It follows from the state and decides nothing.
 * Pure. */
#ifndef PHX_STATE_NAMED_H
#define PHX_STATE_NAMED_H

#include "state/state.h"

/** Call this when one of the lists gains or loses an item, or when an RE changes its number, its
 * state or its engine, or becomes active or inactive. */
void phx_named_changed(struct phx_state *s);

/** The active RE with this number in the ledger; NULL: none. */
struct phx_re *phx_state_re_numbered(const struct phx_state *s, int number);

/** The first RE at or after place `at` in the list that is on its way out: it waits for its last
 * job, gives back its nodes, or must still release its external engine. NULL: none. */
struct phx_re *phx_state_re_ending(const struct phx_state *s, uint32_t at);

/* ---- for the index ---- */

/** Give the state a phx_named, which is not up to date yet. -ENOMEM. */
int phx_named_ready(struct phx_state *s);
void phx_named_free(struct phx_named *k);
/** Bring it up to date, if something has changed. -ENOMEM: the lists are searched until the next
 * call. */
int phx_named_settle(struct phx_named *k, const struct phx_state *s);
/** Is each item found at its place? -EPROTO with the first that is not. */
int phx_named_check(const struct phx_state *s, struct phx_err *err);

#endif
