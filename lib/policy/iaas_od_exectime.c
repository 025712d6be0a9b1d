/* OD-ExecTime (002 3.1, 4): the run times of queued tasks are known and added
 * up. A rule of provisioning.def; never acts. */
#include "policy/iaas_rules.h"

static int64_t weigh(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		     const struct phx_iaas_state *s, const struct phx_iaas_task *task)
{
	(void)p;
	(void)v;
	(void)s;
	return task->run_ms;
}

static void tick(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		 struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	phx_iaas_threshold(p, v, s, weigh, ret);
}

const struct phx_iaas_rules phx_iaas_rules_od_exectime = {.tick = tick};
