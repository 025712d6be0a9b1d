/* What the setup policy of one plan asks: see plan_setup.h. Called by plan.c. Pure. */
#include "node/plan_setup.h"

bool phx_plan_erases(const struct phx_plan_request *q)
{
	return phx_setup_does(&q->setup, PHX_SETUP_DISKS);
}

bool phx_plan_scratches(const struct phx_plan_request *q)
{
	return phx_setup_does(&q->setup, PHX_SETUP_SCRATCH) && !phx_plan_erases(q);
}

bool phx_plan_renews(const struct phx_plan_request *q)
{
	return phx_setup_does(&q->setup, PHX_SETUP_SYSTEM) && (q->to || phx_plan_erases(q));
}

/* Why the node's agent cannot destroy the scratch; NULL: it can. Only the agent knows what jobs
 * left. */
static const char *why_not_scratch(const struct phx_node *n)
{
	if (!n->up || n->env != PHX_ENV_OS)
		return "its system does not run";
	return n->scratches ? NULL : "its agent is of before there was step scratch";
}

struct phx_plan_request phx_plan_settle(const struct phx_plan_request *asked, const char **ret_why)
{
	struct phx_plan_request q = *asked;
	*ret_why = phx_plan_scratches(&q) && q.node->dirty ? why_not_scratch(q.node) : NULL;
	if (*ret_why)
		q.setup.mode = phx_setup_strictest();
	else if (phx_plan_scratches(&q) && !q.node->dirty)
		q.setup.mode = PHX_SETUP_NOOP; /* no data to destroy */
	return q;
}
