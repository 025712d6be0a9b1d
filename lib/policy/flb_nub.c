/* FLB-NUB: fixed lower bound, no upper bound, a public cloud (000 5.2). The web
 * is granted what it wants and never forces its partner. Once a lease unit free
 * nodes within the sum of the lower bounds go to batch; then the batch manager
 * compares its waiting jobs with its nodes and requests or releases. Pure. */
#include "policy/internal.h"

static uint32_t least(uint32_t a, uint64_t b)
{
	return b < a ? (uint32_t)b : a;
}

/* RSS = G · idle, rounded down (reading 13), never below the pair's lower bounds (reading 12) */
static uint32_t releasing_size(const struct phx_policy_params *p, const struct phx_policy_view *v,
			       uint64_t pair)
{
	const struct phx_policy_side *batch = &v->side[PHX_PLACE_BATCH];
	const struct phx_policy_side *web = &v->side[PHX_PLACE_WEB];
	uint64_t bound = (uint64_t)batch->lower + web->lower;
	uint64_t size = (uint64_t)batch->idle * p->g_milli / 1000;

	return pair > bound ? least((uint32_t)size, pair - bound) : 0;
}

static void adjust(const struct phx_policy_params *p, const struct phx_policy_view *v,
		   uint32_t provided, struct phx_policy_moves *ret)
{
	const struct phx_policy_side *batch = &v->side[PHX_PLACE_BATCH];
	const struct phx_policy_side *web = &v->side[PHX_PLACE_WEB];
	uint64_t owned = (uint64_t)phx_policy_holdings(batch) + provided;
	uint64_t idle = (uint64_t)batch->idle + batch->coming + provided;
	uint64_t waiting = batch->waiting_nodes, big = batch->waiting_biggest;

	if (waiting * 1000 > p->u_milli * owned) {
		uint64_t n = waiting > owned ? waiting - owned : 0; /* DR1 */
		phx_policy_wish(ret, PHX_PLACE_FREE, PHX_PLACE_BATCH, n, PHX_REASON_queue_ratio);
	} else if (big > owned) {
		uint64_t n = big > idle ? big - idle : 0; /* DR2: subtracts the idle, as printed */
		phx_policy_wish(ret, PHX_PLACE_FREE, PHX_PLACE_BATCH, n, PHX_REASON_biggest_job);
	} else if (waiting * 1000 < p->v_milli * owned) {
		phx_policy_wish(ret, PHX_PLACE_BATCH, PHX_PLACE_FREE,
				releasing_size(p, v, owned + phx_policy_holdings(web)),
				PHX_REASON_batch_release);
	}
}

static void lease_unit(const struct phx_policy_params *p, const struct phx_policy_view *v,
		       struct phx_policy_moves *ret)
{
	const struct phx_policy_side *batch = &v->side[PHX_PLACE_BATCH];
	const struct phx_policy_side *web = &v->side[PHX_PLACE_WEB];
	uint64_t bound = (uint64_t)batch->lower + web->lower;
	uint64_t pair = (uint64_t)phx_policy_holdings(batch) + phx_policy_holdings(web);
	uint32_t provided = bound > pair ? least(v->free, bound - pair) : 0;

	if (!batch->there)
		return;
	phx_policy_wish(ret, PHX_PLACE_FREE, PHX_PLACE_BATCH, provided, PHX_REASON_idle_to_batch);
	adjust(p, v, provided, ret);
}

const struct phx_policy phx_policy_flb_nub = {
	.name = "flb-nub",
	.text = "fixed lower bound, no upper bound: batch requests and releases by what waits, "
		"once a lease unit",
	.source = "000 5.2",
	.params = "U V G L",
	.no_upper = true,
	.web_request = phx_policy_web_take,
	.web_release = phx_policy_web_give,
	.lease_unit = lease_unit,
};
