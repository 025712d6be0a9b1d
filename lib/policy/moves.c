/* The moves that several policies share: see internal.h. Called through the rows of
 * the policies. Pure. */
#include "policy/internal.h"

#include <assert.h>

void phx_policy_wish(struct phx_policy_moves *moves, enum phx_policy_place from,
		     enum phx_policy_place to, uint64_t n, enum phx_policy_reason reason)
{
	if (!n)
		return;
	assert(moves->n < PHX_POLICY_MOVES_MAX);
	moves->move[moves->n++] = (struct phx_policy_move){
		.from = (int)from,
		.to = (int)to,
		.n = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n,
		.reason = (int)reason,
		.forced = from == PHX_PLACE_BATCH && to == PHX_PLACE_WEB,
	};
}

uint32_t phx_policy_holdings(const struct phx_policy_side *s)
{
	uint32_t has = s->owned + s->coming;
	return has > s->owed ? has - s->owed : 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void phx_policy_web_take(const struct phx_policy_params *p, const struct phx_policy_view *v,
			 uint32_t k, struct phx_policy_moves *ret)
{
	(void)p;
	(void)v;
	phx_policy_wish(ret, PHX_PLACE_FREE, PHX_PLACE_WEB, k, PHX_REASON_web_demand);
}

void phx_policy_web_force(const struct phx_policy_params *p, const struct phx_policy_view *v,
			  uint32_t k, struct phx_policy_moves *ret)
{
	const struct phx_policy_side *batch = &v->side[PHX_PLACE_BATCH];
	uint32_t can = batch->there ? phx_policy_holdings(batch) : 0;
	uint32_t granted = p->return_full ? 0 : least(k, v->free);
	uint32_t returned =
		p->return_full ? least(k, can) : least(k - granted, least(batch->idle, can));

	if (p->return_full)
		granted = least(k - returned, v->free);
	/* lent nodes come first: jobs that run on them by grace are killed before a partner's */
	granted += least(k - granted - returned, v->lent);
	returned += least(k - granted - returned, can - returned);
	phx_policy_wish(ret, PHX_PLACE_FREE, PHX_PLACE_WEB, granted, PHX_REASON_web_demand);
	phx_policy_wish(ret, PHX_PLACE_BATCH, PHX_PLACE_WEB, returned, PHX_REASON_web_reclaim);
}

void phx_policy_web_give(const struct phx_policy_params *p, const struct phx_policy_view *v,
			 uint32_t k, struct phx_policy_moves *ret)
{
	const struct phx_policy_side *web = &v->side[PHX_PLACE_WEB];
	(void)p;
	phx_policy_wish(ret, PHX_PLACE_WEB, PHX_PLACE_FREE, least(k, web->owned),
			PHX_REASON_web_release);
}

void phx_policy_all_to_batch(const struct phx_policy_params *p, const struct phx_policy_view *v,
			     struct phx_policy_moves *ret)
{
	const struct phx_policy_side *batch = &v->side[PHX_PLACE_BATCH];
	(void)p;
	if (batch->there && !v->unlimited)
		phx_policy_wish(ret, PHX_PLACE_FREE, PHX_PLACE_BATCH, v->free,
				PHX_REASON_idle_to_batch);
}
