/* The runs of the IaaS study and the rows of the published list. Called by the
 * papers' tables and tests; prints nothing. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "study/iaas_study_internal.h"

/* Add 1/n of a result. */
static void blend(struct phx_iaas_result *sum, const struct phx_iaas_result *r, double n)
{
	sum->n_tasks = r->n_tasks;
	sum->makespan_ms += (int64_t)((double)r->makespan_ms / n);
	sum->slowdown += r->slowdown / n;
	sum->speedup += r->speedup / n;
	sum->speedup_inf += r->speedup_inf / n;
	sum->actual_h += r->actual_h / n;
	sum->charged_h += r->charged_h / n;
	sum->efficiency += r->efficiency / n;
	sum->utility += r->utility / n;
	sum->mean_wait_s += r->mean_wait_s / n;
	sum->n_leases += r->n_leases;
	sum->n_cancelled += r->n_cancelled;
	if (r->peak_nodes > sum->peak_nodes)
		sum->peak_nodes = r->peak_nodes;
	if (r->peak_queue > sum->peak_queue)
		sum->peak_queue = r->peak_queue;
}

/* One run on drawn jobs, added to `sum`. */
static int add_run(const struct phx_iaas_study *s, const struct phx_trace_jobs *jobs,
		   int provisioning, int allocation, uint32_t nodes, bool live,
		   struct phx_iaas_result *sum, struct phx_err *err)
{
	struct phx_iaas_config config;
	struct phx_iaas_result result;
	study_config(provisioning, allocation, nodes, live ? &s->options : NULL, &config);
	int r = phx_iaas_run(&config, jobs, &result, NULL, err);
	if (!r)
		blend(sum, &result, s->options.repetitions);
	return r;
}

/* 5.1 and 5.2 on one cloud with one workload */
static int run_cloud(struct phx_iaas_study *s, unsigned cloud, unsigned hour,
		     const struct phx_trace_jobs *jobs, struct phx_err *err)
{
	static const int allocations[STUDY_ALLOCATIONS] = {PHX_ALLOCATION_fcfs, PHX_ALLOCATION_sjf,
							   PHX_ALLOCATION_fcfs_nw};
	uint32_t nodes = (uint32_t)study_clouds[cloud].value;
	int r = 0;
	for (unsigned i = 0; i < STUDY_LIVE && !r; i++)
		r = add_run(s, jobs, study_live[i].value, PHX_ALLOCATION_fcfs, nodes, true,
			    &s->cloud[cloud][i][hour], err);
	for (unsigned i = 0; i < STUDY_ALLOCATIONS && !r; i++)
		r = add_run(s, jobs, PHX_PROVISIONING_startup, allocations[i], nodes, true,
			    &s->allocation[cloud][i][hour], err);
	return r;
}

static int run_sizes(struct phx_iaas_study *s, unsigned size, const struct phx_trace_jobs *jobs,
		     struct phx_err *err)
{
	static const int pairs[STUDY_PAIRS][2] = {
		{PHX_PROVISIONING_od_s, PHX_ALLOCATION_fcfs},
		{PHX_PROVISIONING_od_s, PHX_ALLOCATION_sjf},
		{PHX_PROVISIONING_od_2q, PHX_ALLOCATION_fcfs_2q},
	};
	int r = 0;
	for (unsigned i = 0; i < STUDY_PAIRS && !r; i++)
		r = add_run(s, jobs, pairs[i][0], pairs[i][1],
			    phx_iaas_workload_nodes(PHX_IAAS_WORKLOAD_sr25), false,
			    &s->sizes[size][i], err);
	return r;
}

static int run_pairs(struct phx_iaas_study *s, unsigned mixed, const struct phx_trace_jobs *jobs,
		     struct phx_err *err)
{
	static const int policies[] = {PHX_PROVISIONING_startup, PHX_PROVISIONING_od_s,
				       PHX_PROVISIONING_od_g};
	static const int allocations[] = {PHX_ALLOCATION_fcfs, PHX_ALLOCATION_sjf};
	int r = 0;
	for (unsigned i = 0; i < 6 && !r; i++)
		r = add_run(s, jobs, policies[i % 3], allocations[i / 3],
			    phx_iaas_workload_nodes(PHX_IAAS_WORKLOAD_periodic), false,
			    &s->pairs[mixed][i / 3][i % 3], err);
	return r;
}

/* All runs of one workload, drawn once; `cloud` counts for the hours only. */
static int run_workload(struct phx_iaas_study *s, enum phx_iaas_workload w, unsigned cloud,
			uint64_t seed, struct phx_err *err)
{
	PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs jobs = {0};
	uint32_t nodes = phx_iaas_workload_nodes(w);
	int r = phx_iaas_workload_draw(w, nodes ? nodes : (uint32_t)study_clouds[cloud].value, seed,
				       PHX_IAAS_SPREAD_NONE, &jobs);
	if (r)
		return phx_err_set(err, r, "out of memory");
	if (w <= PHX_IAAS_WORKLOAD_bursty)
		return run_cloud(s, cloud, w - PHX_IAAS_WORKLOAD_uniform, &jobs, err);
	if (w <= PHX_IAAS_WORKLOAD_sr75)
		return run_sizes(s, w - PHX_IAAS_WORKLOAD_sr25, &jobs, err);
	return run_pairs(s, w - PHX_IAAS_WORKLOAD_mixed_uniform, &jobs, err);
}

static int run_all(struct phx_iaas_study *s, struct phx_err *err)
{
	int r = 0;
	for (uint32_t i = 0; i < s->options.repetitions && !r; i++)
		for (int w = 0; w < PHX_IAAS_WORKLOAD_COUNT_ && !r; w++) {
			unsigned clouds = w <= PHX_IAAS_WORKLOAD_bursty ? STUDY_CLOUDS : 1;
			for (unsigned c = 0; c < clouds && !r; c++)
				r = run_workload(s, (enum phx_iaas_workload)w, c,
						 s->options.seed + i, err);
		}
	return r;
}

int phx_iaas_study_new(const struct phx_iaas_study_options *options, struct phx_iaas_study **ret,
		       struct phx_err *err)
{
	if (!options->repetitions || options->repetitions > 1000)
		return phx_err_set(err, -EINVAL, "%u repetitions: from 1 to 1000 are possible",
				   options->repetitions);
	struct phx_iaas_study *s = calloc(1, sizeof(*s));
	if (!s)
		return phx_err_set(err, -ENOMEM, "out of memory");
	s->options = *options;
	int r = run_all(s, err);
	if (!r && study_measure(s))
		r = phx_err_set(err, -ENOMEM, "out of memory");
	if (r)
		phx_iaas_study_free(s);
	else
		*ret = s;
	return r;
}

void phx_iaas_study_free(struct phx_iaas_study *s)
{
	if (!s)
		return;
	phx_list_fini(&s->facts);
	free(s);
}

const struct phx_iaas_result *phx_iaas_study_sizes(const struct phx_iaas_study *s,
						   unsigned workload, unsigned pair)
{
	return workload < STUDY_SIZES && pair < STUDY_PAIRS ? &s->sizes[workload][pair] : NULL;
}

const struct phx_iaas_result *phx_iaas_study_pairs(const struct phx_iaas_study *s,
						   unsigned workload, unsigned allocation,
						   unsigned policy)
{
	return workload < STUDY_MIXED && allocation < 2 && policy < 3
		? &s->pairs[workload][allocation][policy]
		: NULL;
}

/* ---- rows of the published list ---- */

/* Index of the `n` characters of `text` among names; -1: none. */
static int index_of(const struct study_name *names, int n_names, const char *text, size_t n)
{
	for (int i = 0; i < n_names; i++)
		if (strlen(names[i].name) == n && !memcmp(names[i].name, text, n))
			return i;
	return -1;
}

/* "DAS4;ExecTime;Uniform" */
static bool parse_config(const char *config, int *ret_cloud, int *ret_policy, int *ret_hour)
{
	size_t a = strcspn(config, ";");
	const char *policy = config + a + (config[a] == ';');
	size_t b = strcspn(policy, ";");
	const char *hour = policy + b + (policy[b] == ';');
	*ret_cloud = index_of(study_clouds, STUDY_CLOUDS, config, a);
	*ret_policy = index_of(study_live, STUDY_LIVE, policy, b);
	*ret_hour = index_of(study_hours, STUDY_HOURS, hour, strlen(hour));
	return *ret_cloud >= 0 && *ret_policy >= 0 && *ret_hour >= 0;
}

static double percent(double value, double base)
{
	return base > 0 ? 100 * (value / base - 1) : 0;
}

/* What a row of tables 5 to 7 is in ours. */
static bool live_value(const struct phx_iaas_result *r, const struct phx_iaas_result *startup,
		       const char *metric, double *ret)
{
	double utility = startup->utility > 0 ? r->utility / startup->utility : 0;
	const struct {
		const char *name;
		double value;
	} values[] = {
		{"charged_cost_h", r->charged_h},
		{"charged_cost_vs_startup_pct", percent(r->charged_h, startup->charged_h)},
		{"cost_efficiency", r->efficiency},
		{"cost_efficiency_vs_startup_pct", percent(r->efficiency, startup->efficiency)},
		{"utility", utility},
		{"utility_vs_startup_pct", percent(utility, 1)},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(values); i++)
		if (!strcmp(values[i].name, metric)) {
			*ret = values[i].value;
			return true;
		}
	return false;
}

static int live_row(const struct phx_iaas_study *s, int table, const char *config,
		    const char *metric, char ret[64])
{
	int cloud, policy, hour;
	double value;
	if (!parse_config(config, &cloud, &policy, &hour) || cloud != table ||
	    !live_value(&s->cloud[cloud][policy][hour], &s->cloud[cloud][0][hour], metric, &value))
		return -ENOENT;
	snprintf(ret, 64, "%.4f", value);
	return 0;
}

int phx_iaas_study_experiment(const struct phx_iaas_study *s, const char *experiment,
			      const char *config, const char *metric, char ret[64])
{
	static const char *const tables[STUDY_CLOUDS] = {"002.T5", "002.T6", "002.T7"};
	for (int i = 0; i < STUDY_CLOUDS; i++)
		if (!strcmp(experiment, tables[i]))
			return live_row(s, i, config, metric, ret);
	if (strcmp(experiment, "002.text"))
		return -ENOENT;
	PHX_LIST_EACH(const struct study_fact, f, &s->facts)
		if (!strcmp(f->config, config) && !strcmp(f->metric, metric)) {
			memcpy(ret, f->ours, sizeof(f->ours));
			return 0;
		}
	return -ENOENT;
}
