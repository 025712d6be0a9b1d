/* DR of DawningCloud (003 3.5): initial nodes stay. Dynamic nodes are obtained at
 * a check cycle when too many jobs wait, each time as one lease. At the end of a
 * lease unit idle dynamic nodes up to the lease's size are released, and the rest
 * is leased on. Which nodes a lease may release and what is subtracted from the
 * queue are readings (policies.md, 16). Pure. */
#include "policy/internal.h"

static uint32_t least(uint32_t a, uint64_t b)
{
	return b < a ? (uint32_t)b : a;
}

static void cycle(const struct phx_policy_params *p, const struct phx_policy_view *v,
		  struct phx_policy_moves *ret)
{
	const struct phx_policy_side *batch = &v->side[PHX_PLACE_BATCH];
	uint64_t owned = phx_policy_holdings(batch), idle = (uint64_t)batch->idle + batch->coming;
	uint64_t waiting = batch->waiting_nodes, has = p->release_by_idle ? idle : owned;
	bool ratio = waiting * 1000 > p->r_milli * owned;

	if (!waiting || (!ratio && batch->waiting_biggest <= owned) || waiting <= has)
		return;
	phx_policy_wish(ret, PHX_PLACE_FREE, PHX_PLACE_BATCH, waiting - has,
			ratio ? PHX_REASON_queue_ratio : PHX_REASON_biggest_job);
	ret->move[ret->n - 1].lease = true;
}

static uint32_t lease_end(const struct phx_policy_params *p, const struct phx_policy_view *v,
			  uint32_t size, uint32_t idle_of_lease)
{
	const struct phx_policy_side *batch = &v->side[PHX_PLACE_BATCH];
	uint32_t owned = batch->owned, lower = batch->lower;
	uint32_t dynamic = least(owned > lower ? owned - lower : 0, batch->idle);

	return least(least(size, dynamic), p->release_pool ? size : idle_of_lease);
}

/* A web RE keeps its initial nodes too. */
static void web_release(const struct phx_policy_params *p, const struct phx_policy_view *v,
			uint32_t k, struct phx_policy_moves *ret)
{
	const struct phx_policy_side *web = &v->side[PHX_PLACE_WEB];
	uint32_t owned = web->owned, lower = web->lower;

	phx_policy_web_give(p, v, least(k, owned > lower ? owned - lower : 0), ret);
}

const struct phx_policy phx_policy_dr = {
	.name = "dr",
	.text = "initial nodes stay, dynamic ones are leased when too much waits",
	.source = "003 3.5",
	.params = "R S C",
	.keeps_lower = true,
	.web_request = phx_policy_web_take,
	.web_release = web_release,
	.cycle = cycle,
	.lease_end = lease_end,
};
