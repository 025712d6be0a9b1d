/* The cooperative policy of 2008 (001 II-B): FB without bounds and without a
 * timer. Free nodes go to batch at once; batch returns at once the nodes that the
 * web lacks. Pure. */
#include "policy/internal.h"

const struct phx_policy phx_policy_coop2008 = {
	.name = "coop2008",
	.text = "one shared cluster: the web goes first, batch has all the rest at once",
	.source = "001 II-B",
	.params = "",
	.shares_cluster = true,
	.start = phx_policy_all_to_batch,
	.web_request = phx_policy_web_force,
	.web_release = phx_policy_web_give,
	.freed = phx_policy_all_to_batch,
};
