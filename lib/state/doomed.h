/* Disk keys whose destruction is not confirmed yet (phx_state.doomed_keys), by name. A key that is
 * gone leaves its place empty (key_id ""): the others keep their order, in which they are ordered
 * to be destroyed, and none is moved. When most places are empty the list closes up. The names are
 * in the index (index.h); without it the list is searched. Called by node/keys.c. Pure. */
#ifndef PHX_STATE_DOOMED_H
#define PHX_STATE_DOOMED_H

#include "base/hash.h"
#include "state/state.h"

/** Borrowed; NULL: no such key is to be destroyed. */
struct phx_doomed_key *phx_doomed_find(const struct phx_state *s, const char *key_id);
/** The key, which was appended to the list, has its name, by which it is found from now on. */
void phx_doomed_named(struct phx_state *s, const struct phx_doomed_key *k);
/** The key is destroyed. Invalidates pointers to keys. */
void phx_doomed_gone(struct phx_state *s, struct phx_doomed_key *k);

/* ---- for the index ---- */

struct phx_doomed {
	struct phx_hash places; /* by name */
	uint32_t n_empty;
};
/** `ret` is all zero. -ENOMEM: some are missing. */
int phx_doomed_init(struct phx_doomed *ret, const struct phx_state *s);
void phx_doomed_fini(struct phx_doomed *d);
/** Is each key found at its place, and no other? -EPROTO with the first difference. */
int phx_doomed_check(const struct phx_state *s, struct phx_err *err);

#endif
