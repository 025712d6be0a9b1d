/* Groups of nodes that have a state, a pool or an RE in common. The index (index.h) keeps them, so
 * that a view of one pool or RE looks at no node of another. They follow from the state and decide
 * nothing. Pure. */
#ifndef PHX_STATE_MEMBERS_H
#define PHX_STATE_MEMBERS_H

#include "state/state.h"

enum phx_members_kind {
	PHX_MEMBERS_STATE,   /* key: name of a state */
	PHX_MEMBERS_UP,      /* key "": all nodes that are up */
	PHX_MEMBERS_POOL,    /* key: a pool */
	PHX_MEMBERS_PINNED,  /* key: a pool, in which an administrator pinned the nodes */
	PHX_MEMBERS_GAVE_UP, /* key: a pool; nodes that an RE gave up and that are not up */
	PHX_MEMBERS_HELD,    /* key: an RE, here and below */
	PHX_MEMBERS_COMING,
	PHX_MEMBERS_AWAY,
	PHX_MEMBERS_KINDS
};

/* ---- for all readers, between events ---- */

/** The number of nodes in the group `key` of this kind. */
uint32_t phx_members_count(const struct phx_state *s, enum phx_members_kind kind, const char *key);
/** The first node of the group at or after place *at, borrowed, and moves *at behind it; NULL:
 * none. Begin with *at = 0. */
const struct phx_node *phx_members_next(const struct phx_state *s, enum phx_members_kind kind,
					const char *key, uint32_t *at);
/** A number that changes whenever the group changes; 0: unknown. */
uint64_t phx_members_changed(const struct phx_state *s, enum phx_members_kind kind,
			     const char *key);

/* ---- for the index ---- */

struct phx_members;
/** Groups of at most `cap` nodes, owned by the caller. `changed` must be above every number that
 * phx_members_changed() gave for this state. NULL: out of memory. */
struct phx_members *phx_members_new(uint32_t cap, uint64_t changed);
void phx_members_free(struct phx_members *m);
/** Empty all groups. */
void phx_members_clear(struct phx_members *m);
/** Put the node at place `i` into its present groups, and take it out of others. -ENOMEM: the
 * groups may be wrong from then on. */
int phx_members_put(struct phx_members *m, uint32_t i, const struct phx_node *n);
/** Is place `i` in exactly the groups that `n` belongs to? */
bool phx_members_agree(const struct phx_members *m, uint32_t i, const struct phx_node *n);

/** A group; `words`: a bit for each place. */
struct phx_members_group {
	enum phx_members_kind kind;
	char key[PHX_NAME_MAX];
	uint32_t n;
	uint64_t changed;
	uint64_t *words;
};
/** Find a group, borrowed. NULL: no node is in it. */
const struct phx_members_group *phx_members_find(const struct phx_members *m,
						 enum phx_members_kind kind, const char *key);
/** The key of the node's group of this kind, borrowed; NULL: it is in none. */
const char *phx_members_key(enum phx_members_kind kind, const struct phx_node *n);

#endif
