/* OD-Wait (002 3.1, 7; its tables call it QueueWait): od-exectime with the time
 * that queued tasks have waited so far in place of run times. A rule of
 * provisioning.def; never acts. */
#include "policy/iaas_rules.h"

static int64_t weigh(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		     const struct phx_iaas_state *s, const struct phx_iaas_task *task)
{
	(void)p;
	(void)s;
	return v->now_ms - task->submit_ms;
}

static void tick(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		 struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	phx_iaas_threshold(p, v, s, weigh, ret);
}

const struct phx_iaas_rules phx_iaas_rules_od_wait = {.tick = tick};
