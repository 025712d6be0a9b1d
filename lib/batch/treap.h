/* Trees of job slots, ordered by a key of three numbers. Each node keeps the figures of its subtree
 * that the search for a fitting job needs. Intrusive: the nodes lie in an array of the caller,
 * whose slot i is job i of the manager.
 *
 * A treap whose priorities are a bijective hash of the key's last number: the shape follows from
 * the keys alone, whatever the order of insertion. */
#ifndef PHX_BATCH_TREAP_H
#define PHX_BATCH_TREAP_H

#include "base/util.h"

struct phx_batch_node {
	int64_t a, b; /* key: a, then b, then c; c is unique in a tree */
	uint64_t c;
	uint32_t left, right, up; /* slots; 0 = none */
	uint32_t size;
	int64_t estimate;            /* INT64_MAX: unknown */
	uint32_t min_size, max_size; /* in the subtree */
	union {
		int64_t min_estimate; /* in the subtree */
		uint64_t sum;         /* sum of the subtree's sizes */
	};
};
_Static_assert(sizeof(struct phx_batch_node) == 64, "a node is one cache line");

/** Which figures a tree keeps of its subtrees. */
enum phx_batch_tree_knows {
	PHX_BATCH_KNOWS_NOTHING,
	/* min_size, max_size, min_estimate: for the search for jobs that fit */
	PHX_BATCH_KNOWS_FIT,
	PHX_BATCH_KNOWS_SUM, /* sum */
};

struct phx_batch_tree {
	struct phx_batch_node *nodes; /* borrowed; nodes[0] is phx_batch_nil */
	enum phx_batch_tree_knows knows;
	uint32_t root, first, last;
};

/** The node that stands for "no subtree"; nodes[0] of every array is a copy of it. */
extern const struct phx_batch_node phx_batch_nil;

/** Put slot `i` into the tree; its key, size and estimate are set. */
void phx_batch_tree_insert(struct phx_batch_tree *t, uint32_t i);
/** Take slot `i`, which is in the tree, out of it. */
void phx_batch_tree_erase(struct phx_batch_tree *t, uint32_t i);
/** Does the key of x come before that of y? */
static inline bool phx_batch_node_before(const struct phx_batch_node *x,
					 const struct phx_batch_node *y)
{
	if (x->a != y->a)
		return x->a < y->a;
	return x->b != y->b ? x->b < y->b : x->c < y->c;
}

/** The slot after `i`, 0 at the end; the walk begins at t->first. */
uint32_t phx_batch_tree_next(const struct phx_batch_tree *t, uint32_t i);

/** A bijective hash: no two ids share a priority. The hash table of ids uses it too. */
static inline uint64_t phx_batch_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

#endif
