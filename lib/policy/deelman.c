/* Deelman's system, a baseline of 003 (1, 4.4): every user leases the nodes of
 * each job directly and releases them at the end of a lease unit. Pure. */
#include "policy/internal.h"

const struct phx_policy phx_policy_deelman = {
	.name = "deelman",
	.text = "each job leases its own nodes for whole lease units",
	.source = "003 4.4",
	.params = "C",
	.per_job_lease = true,
	.web_request = phx_policy_web_take,
	.web_release = phx_policy_web_give,
};
