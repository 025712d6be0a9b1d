/* FB: fixed bounds, a private cluster (000 5.1). The pair shares the sum of its
 * lower bounds. The web goes first and may take all of its partner's nodes. Nodes
 * that the web gives back wait in the free pool for the next tick of the lease
 * unit and then go to batch. The batch manager asks for no node. Pure. */
#include "policy/internal.h"

/* With L = 0 there is no timer: free nodes go to batch at once (reading 8). */
static void freed(const struct phx_policy_params *p, const struct phx_policy_view *v,
		  struct phx_policy_moves *ret)
{
	if (!p->lease_ms)
		phx_policy_all_to_batch(p, v, ret);
}

const struct phx_policy phx_policy_fb = {
	.name = "fb",
	.text = "fixed bounds, private cluster: the web takes nodes from batch, idle ones go back "
		"once a lease unit",
	.source = "000 5.1",
	.params = "L",
	.same_bounds = true,
	.lease_optional = true,
	.shares_cluster = true,
	.web_request = phx_policy_web_force,
	.web_release = phx_policy_web_give,
	.freed = freed,
	.lease_unit = phx_policy_all_to_batch,
};
