/* DCS, the baseline of 000 and 003: each RE has a dedicated cluster, nodes never
 * move. Pure. */
#include "policy/internal.h"

const struct phx_policy phx_policy_dcs = {
	.name = "dcs",
	.text = "dedicated clusters: each RE holds its lower bound, nodes never move",
	.source = "000 6.5, 003 4",
	.params = "",
	.fixed = true,
	.same_bounds = true,
	.keeps_lower = true,
};
