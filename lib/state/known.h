/* What machines are known by: hashes of the MAC addresses, serial numbers, tokens, reserved
 * addresses and system UUIDs of nodes. Kept by the index (index.h), so that whoever enrols or boots
 * is found without a look at all nodes. Follows from the state; decides nothing. Pure. */
#ifndef PHX_STATE_KNOWN_H
#define PHX_STATE_KNOWN_H

#include "state/state.h"

enum phx_known_kind {
	PHX_KNOWN_MAC,
	PHX_KNOWN_SERIAL, /* of a node that was announced without MAC addresses */
	PHX_KNOWN_TOKEN,  /* the digest of the token that it was announced with */
	PHX_KNOWN_IP,     /* reserved for it */
	PHX_KNOWN_UUID,   /* that its system reports */
	PHX_KNOWN_KINDS
};

/** The first node at or after place `at` in the list that `key` of this kind belongs to; NULL:
 * none, or the key is "". Usable at any time, also in the middle of an event and without an
 * index. */
struct phx_node *phx_known_next(const struct phx_state *s, enum phx_known_kind kind,
				const char *key, uint32_t at);

/* ---- for the index ---- */

struct phx_known;
/** Room for `cap` nodes, owned by the caller. NULL: out of memory. */
struct phx_known *phx_known_new(uint32_t cap);
void phx_known_free(struct phx_known *k);
/** Forget all nodes. */
void phx_known_clear(struct phx_known *k);
/** The node at place `i` is known by its present keys from now on. -ENOMEM: what is kept may be
 * wrong from now on. */
int phx_known_put(struct phx_known *k, uint32_t i, const struct phx_node *n);
/** Is place `i` kept under exactly the keys of `n`? */
bool phx_known_agree(const struct phx_known *k, uint32_t i, const struct phx_node *n);
/** The first of the places from `at` on, and below `end`, whose node has the key; `end`: none. */
uint32_t phx_known_find(const struct phx_known *k, const struct phx_list *nodes,
			enum phx_known_kind kind, const char *key, uint32_t at, uint32_t end);
/** Does `key` of this kind belong to the node? */
bool phx_known_is(const struct phx_node *n, enum phx_known_kind kind, const char *key);

#endif
