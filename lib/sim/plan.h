/* The administrator's question: given my trace and my web log, how many nodes
 * do I need if I consolidate, and what do users feel? Runs both workloads on
 * one shared cluster of every size in a range, compares with two dedicated
 * clusters, and finds the smallest size within given limits. Used by phx sim
 * plan. */
#ifndef PHX_SIM_PLAN_H
#define PHX_SIM_PLAN_H

#include "sim/metrics.h"
#include "sim/threads.h"

struct phx_sim_plan_config {
	const struct phx_trace_jobs *jobs;
	const struct phx_trace_series *demand;
	/* enum phx_policy_id: how the shared cluster is coordinated: fb or coop2008 */
	int model;
	int scheduler; /* of the batch RE, before and after */
	int kill_order;
	uint32_t lease_s;     /* L of fb */
	uint32_t batch_nodes; /* of the dedicated batch cluster */
	uint32_t web_nodes;   /* of the dedicated web cluster; 0 = the peak of the demand */
	/* sizes to look at; 0 = from the web's peak (or what batch has, if less) to both
	 * together */
	uint32_t from, to;
	uint32_t lost_milli;   /* thousandths of the completed jobs that may be missing */
	uint32_t slower_milli; /* thousandths by which the mean turnaround may grow */
	int64_t window_ms;     /* as in struct phx_sim_config */
	int estimates;
	struct phx_sim_delays delays;
	unsigned workers;
	phx_sim_pool_progress_fn progress; /* or NULL */
	void *progress_arg;
};

struct phx_sim_plan_point {
	uint32_t nodes;
	struct phx_sim_metrics batch, web, total;
	bool enough; /* within the limits */
};

struct phx_sim_plan {
	struct phx_sim_plan_point before; /* two dedicated clusters; nodes: both */
	uint32_t web_nodes;               /* of the dedicated one */
	struct phx_list points;           /* struct phx_sim_plan_point, by rising size */
	/* index of the smallest size from which on every size looked at is enough; -1 = none */
	int best;
};

/** -EINVAL with a text, -ENOMEM; ret untouched then. Owned by the caller: phx_sim_plan_fini(). */
int phx_sim_plan_make(const struct phx_sim_plan_config *config, struct phx_sim_plan *ret,
		      struct phx_err *err);
void phx_sim_plan_fini(struct phx_sim_plan *p);
/** The trade-off curve. -ENOMEM. */
int phx_sim_plan_svg(const struct phx_sim_plan_config *config, const struct phx_sim_plan *p,
		     const char *title, struct phx_buf *ret);

#endif
