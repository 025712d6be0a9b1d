/* Model of an IaaS cloud and its user (002 2.2): nodes are leased and boot,
 * tasks of one node each are allocated to them, a provisioning policy decides
 * what is leased and released, the provider charges by the hour. Runs the
 * rules of lib/policy and the queues of lib/batch; the same input gives the same
 * result.
 *
 * Inside one instant: ends of tasks, nodes that become ready, arrivals,
 * allocation, the policy's `change`, its `tick`. */
#ifndef PHX_IAAS_IAAS_H
#define PHX_IAAS_IAAS_H

#include "policy/iaas.h"
#include "trace/workload.h"

enum phx_allocation {
#define ALLOCATION(id, ...) PHX_ALLOCATION_##id,
#include "iaas/allocation.def"
#undef ALLOCATION
	PHX_ALLOCATION_COUNT_
};
extern const struct phx_enum phx_allocation_names; /* "fcfs", "fcfs-nw", "sjf", "fcfs-2q" */

enum { PHX_IAAS_NODES_MAX = 100000, PHX_IAAS_TASKS_MAX = 10000000 };

struct phx_iaas_config {
	int provisioning; /* enum phx_provisioning */
	int allocation;   /* enum phx_allocation */
	struct phx_iaas_params params;
	uint32_t max; /* M, nodes */
	/* from the wish to the ready node; nodes leased at the start are ready at 0 (002 5.4) */
	int64_t boot_ms;
	int64_t period_ms; /* of control, 20 s in 002 */
	int64_t charge_ms; /* what is charged for, one hour */
	int64_t cut_ms;    /* tasks that run no longer are short, for two pools */
};
/** Startup and FCFS on 64 nodes with the figures of 002: boot 600 s, period 20 s, charged by the
 * hour, cut 60 s. */
void phx_iaas_config_default(struct phx_iaas_config *ret);
/** -EINVAL with a text: a figure out of range, or two policies that do not go together. */
int phx_iaas_config_check(const struct phx_iaas_config *c, struct phx_err *err);

/** Metrics of 002 4.4 (definitions: policies.md 9.1). */
struct phx_iaas_result {
	uint32_t n_tasks;
	int64_t makespan_ms; /* WMS: last end - first submission */
	/* JSD: mean of (end - submission) / run time; tasks of run time 0 do not count */
	double slowdown;
	double speedup;     /* SU: run times added up / WMS */
	double speedup_inf; /* SU_inf: makespan with a node for every task / WMS */
	double actual_h;    /* C_a: node hours from ready to release */
	double charged_h;   /* C_c: each lease in whole charge units, at least one; in hours */
	double efficiency;  /* C_eff = C_c / C_a; 0 when nothing was used */
	double utility;     /* SU / C_c, not normalised */
	double mean_wait_s; /* from submission to the start; with fcfs-nw until a node has it */
	uint32_t n_leases, n_cancelled; /* cancelled: released before ready */
	uint32_t peak_nodes;            /* leased at once */
	uint32_t peak_queue;            /* tasks that waited at once */
};

/** Nodes over time (002 figures 10-12 and 18): a row when a number changes. */
struct phx_iaas_sample {
	int64_t at_ms;
	uint32_t leased, ready, busy, queued;
};

/** Run the tasks of `jobs` (a job of n nodes is n tasks). ret_samples may be NULL; else struct
 * phx_iaas_sample are appended, owned by the caller. -EINVAL with a text (configuration, workload
 * with dependencies, nothing to run), -E2BIG, -ENOMEM. */
int phx_iaas_run(const struct phx_iaas_config *config, const struct phx_trace_jobs *jobs,
		 struct phx_iaas_result *ret, struct phx_list *ret_samples, struct phx_err *err);

#endif
