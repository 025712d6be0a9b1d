/* The table of provisioning policies, and the state they keep. Called by
 * lib/iaas/iaas.c; decides nothing itself. */
#include <errno.h>

#include "policy/iaas_rules.h"

static const char *const names[] = {
#define PROVISIONING(id, name, ...) name,
#include "policy/provisioning.def"
#undef PROVISIONING
};
const struct phx_enum phx_provisioning_names = {"provisioning policy", names,
						PHX_PROVISIONING_COUNT_};

static const struct phx_iaas_policy policies[] = {
#define PROVISIONING(id, name, params, pools, knows, trigger, text, source) \
	{name, pools, knows, &phx_iaas_rules_##id},
#include "policy/provisioning.def"
#undef PROVISIONING
};

const struct phx_iaas_policy *phx_iaas_policy(enum phx_provisioning policy)
{
	return &policies[policy];
}

void phx_iaas_params_default(struct phx_iaas_params *ret)
{
	*ret = (struct phx_iaas_params){
		.idle_ms = {600000, 30000},
		.boot_ms = 600000,
		.guess_ms = 47000,
		.growth = 2,
		.factor = 5,
		.neighbours = 5,
	};
}

int phx_iaas_params_check(const struct phx_iaas_params *p, struct phx_err *err)
{
	const int64_t times[] = {p->idle_ms[PHX_IAAS_SHORT], p->idle_ms[PHX_IAAS_LONG], p->boot_ms,
				 p->guess_ms};
	static const char *const what[] = {"idle time", "idle time of long tasks", "boot time",
					   "guessed run time"};

	for (size_t i = 0; i < PHX_ARRAY_SIZE(times); i++)
		if (times[i] < 0 || times[i] > PHX_IAAS_TIME_MAX_MS)
			return phx_err_set(err, -EINVAL,
					   "%s %lld ms: from 0 to 366 days are possible", what[i],
					   (long long)times[i]);
	if (p->growth < 2 || p->growth > 1000)
		return phx_err_set(err, -EINVAL, "growth %u: from 2 to 1000 are possible",
				   p->growth);
	if (p->factor > 1000000)
		return phx_err_set(err, -EINVAL, "factor %u: from 0 to 1000000 are possible",
				   p->factor);
	if (!p->neighbours || p->neighbours > PHX_IAAS_NEIGHBOURS_MAX)
		return phx_err_set(err, -EINVAL, "neighbours %u: from 1 to %d are possible",
				   p->neighbours, PHX_IAAS_NEIGHBOURS_MAX);
	return 0;
}

void phx_iaas_state_fini(struct phx_iaas_state *s)
{
	phx_list_fini(&s->groups);
	*s = (struct phx_iaas_state){0};
}

void phx_iaas_booted(struct phx_iaas_state *s, int64_t boot_ms)
{
	s->n_boots++;
	s->boot_sum_ms += boot_ms;
}

int phx_iaas_ended(enum phx_provisioning policy, struct phx_iaas_state *s, uint64_t input,
		   int64_t run_ms)
{
	int r = policy == PHX_PROVISIONING_od_execkn ? phx_iaas_remember(s, input, run_ms) : 0;
	if (r)
		return r;
	s->n_ended++;
	s->run_sum_ms += run_ms;
	return 0;
}
