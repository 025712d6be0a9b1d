/* The names of the published list of 002 and what they stand for. Read by iaas_study.c and
 * iaas_facts.c. */
#include "study/iaas_study_internal.h"

const struct study_name study_clouds[STUDY_CLOUDS] = {{"DAS4", 64}, {"FIU", 7}, {"EC2", 20}};
const struct study_name study_live[STUDY_LIVE] = {
	{"Startup", PHX_PROVISIONING_startup},    {"ExecTime", PHX_PROVISIONING_od_exectime},
	{"ExecAvg", PHX_PROVISIONING_od_execavg}, {"ExecKN", PHX_PROVISIONING_od_execkn},
	{"QueueWait", PHX_PROVISIONING_od_wait},  {"OD-S", PHX_PROVISIONING_od_s},
};
const struct study_name study_hours[STUDY_HOURS] = {
	{"Uniform", PHX_IAAS_WORKLOAD_uniform},
	{"Increasing", PHX_IAAS_WORKLOAD_increasing},
	{"Bursty", PHX_IAAS_WORKLOAD_bursty},
};

void study_config(int provisioning, int allocation, uint32_t nodes,
		  const struct phx_iaas_study_options *live, struct phx_iaas_config *ret)
{
	phx_iaas_config_default(ret);
	ret->provisioning = provisioning;
	ret->allocation = allocation;
	ret->max = nodes;
	ret->params.adaptive = true;
	if (!live)
		return;
	ret->boot_ms = ret->params.boot_ms = live->boot_ms;
	ret->charge_ms = live->charge_ms;
	/* no idle time is printed for the live runs; OD-S gave nodes back before they were ready
	 * (5.1), which only 0 does */
	ret->params.idle_ms[PHX_IAAS_SHORT] =
		provisioning == PHX_PROVISIONING_od_s ? 0 : live->idle_ms;
}
