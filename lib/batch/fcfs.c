/* First come, first served: a pass stops at the first job that does not fit. SJF
 * (sjf.c) shares the pass with another order; EASY (easy.c) shares the order. */
#include "batch/internal.h"

void phx_batch_order_submit(const struct phx_batch_job *j, struct phx_batch_node *ret_key)
{
	ret_key->a = j->submit_ms;
	ret_key->b = 0;
	ret_key->c = j->id;
}

void phx_batch_pass_heads(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids)
{
	for (uint32_t i; (i = b->waiting[0].first) && b->nodes[i].size <= b->counts.idle;)
		phx_batch_start(b, i, now_ms, ret_ids);
}
