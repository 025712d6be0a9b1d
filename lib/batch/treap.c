/* The treap of job slots: see treap.h. Called by the rest of lib/batch; knows
 * neither jobs nor schedulers, and allocates no memory. */
#include "batch/treap.h"

const struct phx_batch_node phx_batch_nil = {.min_size = UINT32_MAX, .min_estimate = INT64_MAX};

static bool pull_fit(struct phx_batch_node *n, const struct phx_batch_node *l,
		     const struct phx_batch_node *r)
{
	uint32_t min = l->min_size < r->min_size ? l->min_size : r->min_size;
	uint32_t max = l->max_size > r->max_size ? l->max_size : r->max_size;
	int64_t est = l->min_estimate < r->min_estimate ? l->min_estimate : r->min_estimate;
	min = min < n->size ? min : n->size;
	max = max > n->size ? max : n->size;
	est = est < n->estimate ? est : n->estimate;
	bool changed = min != n->min_size || max != n->max_size || est != n->min_estimate;
	n->min_size = min;
	n->max_size = max;
	n->min_estimate = est;
	return changed;
}

/* Recomputes the figures of node i's subtree; true if they changed. */
static bool pull(struct phx_batch_tree *t, uint32_t i)
{
	struct phx_batch_node *n = &t->nodes[i];
	const struct phx_batch_node *l = &t->nodes[n->left], *r = &t->nodes[n->right];
	switch (t->knows) {
	case PHX_BATCH_KNOWS_NOTHING:
		return false;
	case PHX_BATCH_KNOWS_FIT:
		return pull_fit(n, l, r);
	case PHX_BATCH_KNOWS_SUM: /* the nil node's union holds an estimate */
		n->sum = n->size + (n->left ? l->sum : 0) + (n->right ? r->sum : 0);
		return true;
	}
	return false;
}

/* Adds node x to the figures of n's subtree; true if they changed. Unlike pull(), reads no other
 * node. */
static bool add(enum phx_batch_tree_knows knows, struct phx_batch_node *n,
		const struct phx_batch_node *x)
{
	switch (knows) {
	case PHX_BATCH_KNOWS_NOTHING:
		return false;
	case PHX_BATCH_KNOWS_FIT:
		if (n->min_size <= x->size && n->max_size >= x->size &&
		    n->min_estimate <= x->estimate)
			return false;
		n->min_size = n->min_size < x->size ? n->min_size : x->size;
		n->max_size = n->max_size > x->size ? n->max_size : x->size;
		n->min_estimate = n->min_estimate < x->estimate ? n->min_estimate : x->estimate;
		return true;
	case PHX_BATCH_KNOWS_SUM:
		n->sum += x->size;
		return true;
	}
	return false;
}

/* `old` below `up` (0: the root) is replaced by `new`. */
static void replace(struct phx_batch_tree *t, uint32_t up, uint32_t old, uint32_t new)
{
	struct phx_batch_node *n = t->nodes;
	if (!up)
		t->root = new;
	else if (n[up].left == old)
		n[up].left = new;
	else
		n[up].right = new;
	if (new)
		n[new].up = up;
}

/* x takes the place of the node above it. */
static void rotate_up(struct phx_batch_tree *t, uint32_t x)
{
	struct phx_batch_node *n = t->nodes;
	uint32_t p = n[x].up, moved;
	replace(t, n[p].up, p, x);
	if (n[p].left == x) {
		moved = n[x].right;
		n[p].left = moved;
		n[x].right = p;
	} else {
		moved = n[x].left;
		n[p].right = moved;
		n[x].left = p;
	}
	n[p].up = x;
	if (moved)
		n[moved].up = p;
	/* x now has the subtree that p had */
	n[x].min_size = n[p].min_size;
	n[x].max_size = n[p].max_size;
	n[x].sum = n[p].sum;
	pull(t, p);
}

/* Puts slot i below the leaf where its key belongs. */
static void hang(struct phx_batch_tree *t, uint32_t i)
{
	struct phx_batch_node *n = t->nodes;
	uint32_t up = 0, at = t->root;
	bool left = false, least = true, greatest = true;
	if (t->last && phx_batch_node_before(&n[t->last], &n[i])) { /* most new jobs are the last */
		up = t->last;
		at = 0;
		least = false;
	}
	while (at) {
		up = at;
		left = phx_batch_node_before(&n[i], &n[at]);
		at = left ? n[at].left : n[at].right;
		least = least && left;
		greatest = greatest && !left;
	}
	n[i].up = up;
	if (!up)
		t->root = i;
	else if (left)
		n[up].left = i;
	else
		n[up].right = i;
	t->first = least ? i : t->first;
	t->last = greatest ? i : t->last;
}

void phx_batch_tree_insert(struct phx_batch_tree *t, uint32_t i)
{
	struct phx_batch_node *n = t->nodes;
	n[i].left = n[i].right = 0;
	hang(t, i);
	pull(t, i);
	for (uint32_t up = n[i].up; up && add(t->knows, &n[up], &n[i]);)
		up = n[up].up;
	uint64_t priority = phx_batch_mix(n[i].c);
	while (n[i].up && phx_batch_mix(n[n[i].up].c) < priority)
		rotate_up(t, i);
}

uint32_t phx_batch_tree_next(const struct phx_batch_tree *t, uint32_t i)
{
	const struct phx_batch_node *n = t->nodes;
	if (n[i].right) {
		for (i = n[i].right; n[i].left;)
			i = n[i].left;
		return i;
	}
	while (n[i].up && n[n[i].up].right == i)
		i = n[i].up;
	return n[i].up;
}

static uint32_t previous(const struct phx_batch_tree *t, uint32_t i)
{
	const struct phx_batch_node *n = t->nodes;
	if (n[i].left) {
		for (i = n[i].left; n[i].right;)
			i = n[i].right;
		return i;
	}
	while (n[i].up && n[n[i].up].left == i)
		i = n[i].up;
	return n[i].up;
}

void phx_batch_tree_erase(struct phx_batch_tree *t, uint32_t i)
{
	struct phx_batch_node *n = t->nodes;
	if (t->first == i)
		t->first = phx_batch_tree_next(t, i);
	if (t->last == i)
		t->last = previous(t, i);
	while (n[i].left && n[i].right) {
		bool left = phx_batch_mix(n[n[i].left].c) > phx_batch_mix(n[n[i].right].c);
		rotate_up(t, left ? n[i].left : n[i].right);
	}
	uint32_t up = n[i].up;
	replace(t, up, i, n[i].left ? n[i].left : n[i].right);
	while (up && pull(t, up))
		up = n[up].up;
}
