/* A number for each place of a list, and the smallest of them: the times of nodes, and their sizes
 * with the sign changed. Every change and every question costs as many steps as the number of
 * places has bits, so no tick goes through all nodes. Used by index.c. Pure. */
#ifndef PHX_STATE_EARLIEST_H
#define PHX_STATE_EARLIEST_H

#include <stdint.h>

/** A tree over `cap` places: entry 1 is the root, entry k has the smaller time of 2k and 2k + 1,
 * and entry cap + i has the time of place i. */
struct phx_earliest {
	uint32_t cap;
	int64_t *ms;
};

/** Make room for `cap` places, a power of two; no place has a time yet (INT64_MAX). -ENOMEM. */
int phx_earliest_init(struct phx_earliest *e, uint32_t cap);
void phx_earliest_fini(struct phx_earliest *e);
/** Forget the times of all places. */
void phx_earliest_clear(struct phx_earliest *e);

/** Give place `i` this time, in ms; INT64_MAX: none. */
void phx_earliest_set(struct phx_earliest *e, uint32_t i, int64_t ms);
int64_t phx_earliest_get(const struct phx_earliest *e, uint32_t i);
/** The earliest time of all places; INT64_MAX: none has one. */
int64_t phx_earliest_first(const struct phx_earliest *e);
/** The first place at or after `at` whose time is not later than `now_ms`; `cap`: none. */
uint32_t phx_earliest_next(const struct phx_earliest *e, uint32_t at, int64_t now_ms);

#endif
