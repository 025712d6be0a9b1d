/* EC2 + RightScale, the baseline of 000 (6.6.1): each job leases its own nodes
 * when it is submitted and keeps them for whole lease units; the web RE holds as
 * many nodes as it wants now. Pure. */
#include "policy/internal.h"

const struct phx_policy phx_policy_ec2_rightscale = {
	.name = "ec2-rightscale",
	.text = "each job leases its own nodes for whole lease units, the web holds what it wants",
	.source = "000 6.6.1",
	.params = "L",
	.per_job_lease = true,
	.web_request = phx_policy_web_take,
	.web_release = phx_policy_web_give,
};
