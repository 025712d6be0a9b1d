/* OD-2Q (002 3.1, 8): two pools, each as od-s with its own idle time. The pools
 * share the maximum; the task that came first gets the last node (policies.md,
 * reading 23). A rule of provisioning.def; never acts. */
#include "policy/iaas_rules.h"

/* The first task of a pool for which no node boots and none is wished yet; UINT32_MAX: none. */
static uint32_t first_uncovered(const struct phx_iaas_view *v, const struct phx_iaas_wish *wish,
				int class)
{
	const struct phx_iaas_pool_view *pool = &v->pool[class];
	uint32_t wished = wish->lease[class];
	return wished < phx_iaas_uncovered(pool) ? pool->queue[pool->booting + wished] : UINT32_MAX;
}

static void change(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		   struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	(void)s;
	for (uint32_t room = phx_iaas_room(v); room > 0; room--) {
		/* tasks are numbered in order of submission */
		uint32_t a = first_uncovered(v, ret, PHX_IAAS_SHORT),
			 b = first_uncovered(v, ret, PHX_IAAS_LONG);
		if (a == UINT32_MAX && b == UINT32_MAX)
			break;
		ret->lease[a < b ? PHX_IAAS_SHORT : PHX_IAAS_LONG]++;
	}
	phx_iaas_let_go(p, v, PHX_IAAS_SHORT, ret);
	phx_iaas_let_go(p, v, PHX_IAAS_LONG, ret);
}

const struct phx_iaas_rules phx_iaas_rules_od_2q = {.change = change};
