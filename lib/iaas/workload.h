/* The workloads of the IaaS study (002 4.3, 5.3, 5.4), drawn from a seed: the
 * same seed gives the same jobs. What 002 leaves open is chosen here, once:
 * run times of 4.3 are log-normal with the printed mean and standard deviation
 * (policies.md, reading 26), in whole milliseconds, at least one second; the
 * short and the long jobs of 5.3 and 5.4 run exactly as long as the printed
 * averages; which job is short is drawn, the shares are exact; the class of a
 * job (the input size that od-execkn looks at) is its run time in whole tens of
 * seconds. */
#ifndef PHX_IAAS_WORKLOAD_H
#define PHX_IAAS_WORKLOAD_H

#include "trace/workload.h"

enum phx_iaas_workload {
#define WORKLOAD(id, ...) PHX_IAAS_WORKLOAD_##id,
#include "iaas/workload.def"
#undef WORKLOAD
	PHX_IAAS_WORKLOAD_COUNT_
};
extern const struct phx_enum phx_iaas_workload_names; /* "uniform", ... */
/** M of the simulations that use it, 0 where 002 has a load instead. */
uint32_t phx_iaas_workload_nodes(enum phx_iaas_workload w);

/** Run times of short and long jobs in 5.3 and 5.4, and the law they follow. */
enum phx_iaas_spread {
	PHX_IAAS_SPREAD_NONE,      /* exactly the average */
	PHX_IAAS_SPREAD_LOGNORMAL, /* with the spread of 4.3, 41.1 / 47 */
	PHX_IAAS_SPREAD_EXPONENTIAL,
};

/** Draw a workload. `nodes` (M, at least 1) scales the arrivals of those that are given by load.
 * Caller owns: phx_trace_jobs_fini(). -ENOMEM, -EINVAL nodes 0. */
int phx_iaas_workload_draw(enum phx_iaas_workload w, uint32_t nodes, uint64_t seed,
			   enum phx_iaas_spread spread, struct phx_trace_jobs *ret);

#endif
