/* Nodes by what they have in common: their state, their pool, the RE that has
 * them. Kept by the index (index.h), so that who shows one pool or one RE looks
 * at no node of another. Follows from the state; decides nothing. Pure. */
#ifndef PHX_STATE_MEMBERS_H
#define PHX_STATE_MEMBERS_H

#include "state/state.h"

enum phx_members_kind {
	PHX_MEMBERS_STATE,   /* of the state of that name */
	PHX_MEMBERS_UP,      /* ""; all that are heard of */
	PHX_MEMBERS_POOL,    /* of the pool */
	PHX_MEMBERS_PINNED,  /* of the pool, pinned there by an administrator */
	PHX_MEMBERS_GAVE_UP, /* of the pool, given up and not heard of */
	PHX_MEMBERS_HELD,    /* by the RE, as the next two */
	PHX_MEMBERS_COMING,
	PHX_MEMBERS_AWAY,
	PHX_MEMBERS_KINDS
};

/* ---- for everybody, between events ---- */

/** How many nodes are in the group `key` of that kind. */
uint32_t phx_members_count(const struct phx_state *s, enum phx_members_kind kind, const char *key);
/** The first node of the group at or after place *at, which is put behind it; NULL. Begin with 0. */
const struct phx_node *phx_members_next(const struct phx_state *s, enum phx_members_kind kind,
					const char *key, uint32_t *at);
/** A number that is another one whenever the group is another; 0: that is not known. */
uint64_t phx_members_changed(const struct phx_state *s, enum phx_members_kind kind,
			     const char *key);

/* ---- for the index ---- */

struct phx_members;
/** Of at most `cap` nodes. `changed`: above every number that another one has told of this state. NULL on ENOMEM. */
struct phx_members *phx_members_new(uint32_t cap, uint64_t changed);
void phx_members_free(struct phx_members *m);
/** Nobody is anywhere. */
void phx_members_clear(struct phx_members *m);
/** The node at place `i` is as it is now. -ENOMEM: it is not all to be believed any more. */
int phx_members_put(struct phx_members *m, uint32_t i, const struct phx_node *n);
/** Does it say of place `i` what is to be said of `n`? */
bool phx_members_agree(const struct phx_members *m, uint32_t i, const struct phx_node *n);

/** A group; `words`: a bit for each place. */
struct phx_members_group {
	enum phx_members_kind kind;
	char key[PHX_NAME_MAX];
	uint32_t n;
	uint64_t changed;
	uint64_t *words;
};
/** NULL: nobody was ever in it. */
const struct phx_members_group *phx_members_find(const struct phx_members *m,
						 enum phx_members_kind kind, const char *key);
/** By which key the node is in a group of that kind; NULL: in none. Borrows. */
const char *phx_members_key(enum phx_members_kind kind, const struct phx_node *n);

#endif
