/* Pools, roles and REs by name, REs also by their number in the ledger, and those REs that are on
 * their way out. Kept by the index (index.h), so that an event of one node goes through none of
 * these lists. They change rarely: whoever changes one says so, and until the end of that event
 * what is asked for is searched. Follows from the state; decides nothing. Pure. */
#ifndef PHX_STATE_NAMED_H
#define PHX_STATE_NAMED_H

#include "state/state.h"

/** One of the lists has another item or one less, or an RE another number, state, engine, or is
 * active, or no more. */
void phx_named_changed(struct phx_state *s);

/** The active RE that the ledger knows by that number; NULL: there is none. */
struct phx_re *phx_state_re_numbered(const struct phx_state *s, int number);

/** The first RE at or after place `at` in the list that is on its way out: it waits for its last
 * job, gives back its nodes, or its engine is to be let go. NULL: there is none. */
struct phx_re *phx_state_re_ending(const struct phx_state *s, uint32_t at);

/* ---- for the index ---- */

/** The state has one from now on, which is not up to date. -ENOMEM. */
int phx_named_ready(struct phx_state *s);
void phx_named_free(struct phx_named *k);
/** Brought up to date, if something has changed. -ENOMEM: the lists are searched until the next
 * time. */
int phx_named_settle(struct phx_named *k, const struct phx_state *s);
/** Is each item found where it is? -EPROTO with the first that is not. */
int phx_named_check(const struct phx_state *s, struct phx_err *err);

#endif
