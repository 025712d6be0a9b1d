/* The rows of policy_rows.h, made of the tables from which the policies are made too. Called by
 * policy.c and sim_manual.c. Prints nothing. */
#include "phx/policy_rows.h"

#include "base/util.h"

static const struct policy_row rows[] = {
#define SCHEDULER(name, label, order, pass, source, text) \
	{"scheduler", label, "", text, source, NULL},
#include "batch/scheduler.def"
#undef SCHEDULER
#define PROVISIONING(id, name, params, pools, knows, trigger, text, source) \
	{"provisioning", name, "", text, source, trigger},
#include "policy/provisioning.def"
#undef PROVISIONING
#define ALLOCATION(id, name, scheduler, pools, text, source) \
	{"allocation", name, "", text, source, NULL},
#include "iaas/allocation.def"
#undef ALLOCATION
};

size_t policy_rows(const struct policy_row **ret)
{
	*ret = rows;
	return PHX_ARRAY_SIZE(rows);
}
