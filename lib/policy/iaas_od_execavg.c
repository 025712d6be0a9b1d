/* OD-ExecAvg (002 3.1, 5): every queued task is taken to run as long as ended
 * tasks did on average; before the first end, as long as the user guessed.
 * A rule of provisioning.def; never acts. */
#include "policy/iaas_rules.h"

static int64_t weigh(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		     const struct phx_iaas_state *s, const struct phx_iaas_task *task)
{
	(void)v;
	(void)task;
	return s->n_ended ? s->run_sum_ms / s->n_ended : p->guess_ms;
}

static void tick(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		 struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	phx_iaas_threshold(p, v, s, weigh, ret);
}

const struct phx_iaas_rules phx_iaas_rules_od_execavg = {.tick = tick};
