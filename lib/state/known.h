/* What identifies machines: hashes of the MAC addresses, serial numbers, tokens, reserved addresses
 * and system UUIDs of nodes. The index (index.h) keeps them, so that a machine which enrols or
 * boots is found without looking at all nodes. They follow from the state and decide nothing.
 * Pure. */
#ifndef PHX_STATE_KNOWN_H
#define PHX_STATE_KNOWN_H

#include "state/state.h"

enum phx_known_kind {
	PHX_KNOWN_MAC,
	PHX_KNOWN_SERIAL, /* only of a node that was announced without MAC addresses */
	PHX_KNOWN_TOKEN,  /* the digest of the token that the node was announced with */
	PHX_KNOWN_IP,     /* the address that is reserved for the node */
	PHX_KNOWN_UUID,   /* the UUID that its system reports */
	PHX_KNOWN_PROVEN, /* the UUID that is proven to be its own */
	PHX_KNOWN_KINDS
};

/** The first node at or after place `at` in the list to which `key` of this kind belongs; NULL:
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
/** Keep the present keys of the node at place `i`, in place of its former ones. -ENOMEM: what is
 * kept may be wrong from then on. */
int phx_known_put(struct phx_known *k, uint32_t i, const struct phx_node *n);
/** Is place `i` kept under exactly the keys of `n`? */
bool phx_known_agree(const struct phx_known *k, uint32_t i, const struct phx_node *n);
/** The first place from `at` on and below `end` whose node has the key; `end`: none. */
uint32_t phx_known_find(const struct phx_known *k, const struct phx_list *nodes,
			enum phx_known_kind kind, const char *key, uint32_t at, uint32_t end);
/** Does `key` of this kind belong to the node? */
bool phx_known_is(const struct phx_node *n, enum phx_known_kind kind, const char *key);

#endif
