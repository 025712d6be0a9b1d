/* Evangelinos's system (003 1, 4): an organisation leases a cluster of fixed
 * size for the whole time; jobs are scheduled once a cycle. The cluster is
 * dedicated, as under DCS, but not owned. Pure. */
#include "policy/internal.h"

const struct phx_policy phx_policy_evangelinos = {
	.name = "evangelinos",
	.text = "a cluster of fixed size is leased for the whole time, jobs are scheduled once a "
		"cycle",
	.source = "003 4.4",
	.params = "S",
	.fixed = true,
	.same_bounds = true,
	.keeps_lower = true,
};
