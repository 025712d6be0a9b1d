/* First-fit (000 6.5.2): a pass in order of submission starts every job that fits.
 * Idle nodes only become fewer during a pass, so this is the same as starting the
 * first job that fits again and again. Never reserves: large jobs may starve, by
 * intention. */
#include "batch/internal.h"

/* The first job of at most `idle` nodes in the tree's order, 0 when none. */
static uint32_t find_fit(const struct phx_batch_tree *t, uint32_t idle)
{
	const struct phx_batch_node *n = t->nodes;
	uint32_t i = t->root;
	if (!i || n[i].min_size > idle)
		return 0;
	for (;;) {
		if (n[i].left && n[n[i].left].min_size <= idle)
			i = n[i].left;
		else if (n[i].size <= idle)
			return i;
		else
			i = n[i].right;
	}
}

void phx_batch_pass_first_fit(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids)
{
	for (uint32_t i; (i = find_fit(&b->waiting[0], b->counts.idle));)
		phx_batch_start(b, i, now_ms, ret_ids);
}
