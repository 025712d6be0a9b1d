/* EASY backfill: FCFS, but the first job that does not fit (the head) gets a
 * reservation at the shadow time. By the estimates of the running jobs, enough
 * nodes will be idle then. A later job may start when it should end by that time,
 * or when it takes only nodes that the head leaves over (extra).
 *
 * - A running job that outlives its estimate keeps its estimated end: the shadow
 *   time may lie in the past, and then only extra nodes are given. So no job
 *   overtakes the head because others run late, and time alone never lets a job
 *   start.
 * - The end of a running job without an estimate is unknown. If the head needs
 *   its nodes, or more nodes than the manager has, there is no reservation: jobs
 *   with an estimate start, jobs without one do not.
 * - Jobs that are being killed are left out: their nodes are promised to another
 *   RE. */
#include "batch/internal.h"

struct backfill {
	struct phx_batch *b;
	uint32_t idle, extra;
	int64_t limit; /* longest estimate that ends by the shadow time; negative: none does */
};

/* The time by which ends of running jobs have made `nodes` nodes idle; INT64_MAX: they never do. */
static int64_t shadow_time(const struct phx_batch_tree *t, uint64_t nodes)
{
	const struct phx_batch_node *n = t->nodes;
	uint32_t i = t->root;
	if (!i || n[i].sum < nodes)
		return INT64_MAX;
	for (;;) {
		uint64_t left = n[i].left ? n[n[i].left].sum : 0;
		if (left >= nodes) {
			i = n[i].left;
		} else if (left + n[i].size >= nodes) {
			return n[i].a;
		} else {
			nodes -= left + n[i].size;
			i = n[i].right;
		}
	}
}

/* Nodes of the running jobs that should have ended at `time`. */
static uint64_t released_by(const struct phx_batch_tree *t, int64_t time)
{
	const struct phx_batch_node *n = t->nodes;
	uint64_t sum = 0;
	for (uint32_t i = t->root; i;) {
		if (n[i].a > time) {
			i = n[i].left;
			continue;
		}
		sum += n[i].size + (n[i].left ? n[n[i].left].sum : 0);
		i = n[i].right;
	}
	return sum;
}

static void reserve(struct backfill *f, uint32_t head, int64_t now_ms)
{
	uint32_t size = f->b->nodes[head].size;
	int64_t shadow = shadow_time(&f->b->ends, size - f->idle);
	f->extra = 0;
	f->limit = INT64_MAX - 1;
	if (shadow == INT64_MAX)
		return;
	f->extra = (uint32_t)(f->idle + released_by(&f->b->ends, shadow) - size);
	if (__builtin_sub_overflow(shadow, now_ms, &f->limit))
		f->limit = shadow < now_ms ? -1 : INT64_MAX - 1;
}

static inline bool suits(const struct backfill *f, uint32_t size, int64_t estimate)
{
	return size <= f->idle && (size <= f->extra || estimate <= f->limit);
}

/* The first job in a subtree that suits; 0: none. A subtree is skipped when its smallest size with
 * its shortest estimate would not suit. In a class whose jobs all fit, no subtree is searched in
 * vain. */
static uint32_t first_in(const struct backfill *f, uint32_t i)
{
	const struct phx_batch_node *n = f->b->nodes;
	while (i && suits(f, n[i].min_size, n[i].min_estimate)) {
		uint32_t found = first_in(f, n[i].left);
		if (found)
			return found;
		if (suits(f, n[i].size, n[i].estimate))
			return i;
		i = n[i].right;
	}
	return 0;
}

/* The first job of the same class after `i` that suits. */
static uint32_t next_after(const struct backfill *f, uint32_t i)
{
	const struct phx_batch_node *n = f->b->nodes;
	uint32_t found = first_in(f, n[i].right);
	for (uint32_t up; !found && (up = n[i].up); i = up) {
		if (n[up].left != i)
			continue;
		found = suits(f, n[up].size, n[up].estimate) ? up : first_in(f, n[up].right);
	}
	return found;
}

/* `slots` has one job a class: the one that was submitted first; 0 when there is no class. */
static uint32_t earliest(const struct phx_batch *b, const uint32_t *slots, uint64_t classes)
{
	uint32_t best = 0;
	for (; classes; classes &= classes - 1) {
		uint32_t i = slots[__builtin_ctzll(classes)];
		if (!best || phx_batch_node_before(&b->nodes[i], &b->nodes[best]))
			best = i;
	}
	return best;
}

/* Starts jobs in order of submission; returns the first job that does not fit, 0 when none is left.
 */
static uint32_t start_heads(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids)
{
	uint32_t firsts[PHX_BATCH_CLASSES], i;
	for (uint64_t left = b->classes; left; left &= left - 1)
		firsts[__builtin_ctzll(left)] = b->waiting[__builtin_ctzll(left)].first;
	while ((i = earliest(b, firsts, b->classes)) && b->nodes[i].size <= b->counts.idle) {
		uint32_t class = phx_batch_class(b, b->nodes[i].size);
		phx_batch_start(b, i, now_ms, ret_ids);
		firsts[class] = b->waiting[class].first;
	}
	return i;
}

void phx_batch_pass_easy(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids)
{
	uint32_t head = start_heads(b, now_ms, ret_ids), next[PHX_BATCH_CLASSES];
	struct backfill f = {.b = b, .idle = b->counts.idle};
	if (!head || !f.idle)
		return;
	reserve(&f, head, now_ms);
	/* `open`: classes with a job that suits; classes of jobs wider than the idle nodes are
	 * left out */
	uint64_t open = b->classes & ((2ull << phx_batch_class(b, f.idle)) - 1);
	for (uint64_t left = open; left; left &= left - 1) {
		uint32_t class = (uint32_t)__builtin_ctzll(left);
		next[class] = first_in(&f, b->waiting[class].root);
		open &= ~((uint64_t)!next[class] << class);
	}
	while (open) {
		uint32_t i = earliest(b, next, open), class = phx_batch_class(b, b->nodes[i].size);
		const struct phx_batch_node *n = &b->nodes[i];
		/* the job suited before this pass started others: does it still? */
		bool start = suits(&f, n->size, n->estimate);
		if (start) {
			f.idle -= n->size;
			f.extra -= n->estimate <= f.limit ? 0 : n->size;
		}
		next[class] = next_after(&f, i);
		open &= ~((uint64_t)!next[class] << class);
		if (start)
			phx_batch_start(b, i, now_ms, ret_ids);
	}
}
