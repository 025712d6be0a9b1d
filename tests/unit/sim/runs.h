/* What tests of whole runs share: jobs by hand, agreements, drawn workloads. */
#ifndef TESTS_UNIT_SIM_RUNS_H
#define TESTS_UNIT_SIM_RUNS_H

#include "trace/gen.h"
#include "sim/metrics.h"
#include "trace/series.h"
#include "unit/trace/traces.h"

#define S INT64_C(1000)

/** {submit, run, size} in seconds and nodes; the estimate is the run time. */
struct row {
	int submit, run;
	unsigned size;
};

static inline struct phx_trace_jobs make_jobs(struct phx_trace_job *jobs, const struct row *rows,
					      size_t n)
{
	for (size_t i = 0; i < n; i++)
		jobs[i] = (struct phx_trace_job){.id = i + 1,
						 .submit_ms = rows[i].submit * S,
						 .run_ms = rows[i].run * S,
						 .estimate_ms = rows[i].run * S,
						 .size = rows[i].size};
	return (struct phx_trace_jobs){.jobs = jobs, .n = n};
}

static inline struct phx_agreement agreement(const char *name, int type, int model, uint32_t lower)
{
	struct phx_agreement a;
	phx_agreement_init(&a);
	PHX_STR_SET(a.name, name);
	a.type = type;
	a.model = model;
	a.lower = lower;
	return a;
}

/** Batch and web that name each other. */
static inline void pair(struct phx_agreement *batch, struct phx_agreement *web, int model,
			uint32_t of_batch, uint32_t of_web)
{
	*batch = agreement("batch", PHX_RE_BATCH, model, of_batch);
	*web = agreement("web", PHX_RE_WEB, model, of_web);
	batch->coordination = web->coordination = PHX_RE_COORDINATED_OWN;
	PHX_STR_SET(batch->partner, "web");
	PHX_STR_SET(web->partner, "batch");
}

/** When each job began and ended, by its place in the workload. */
struct seen {
	const struct phx_trace_jobs *jobs;
	int64_t *start, *end;
};

static inline void see_end(void *arg, unsigned re, const struct phx_trace_job *job,
			   const struct phx_sim_end *end)
{
	struct seen *s = arg;
	size_t i = (size_t)(job - s->jobs->jobs);
	(void)re;
	s->start[i] = end->start_ms;
	s->end[i] = end->end_ms;
}

static inline void run_or_fail(const struct phx_sim_config *c, struct phx_sim_result *ret)
{
	struct phx_err err = {0};
	if (phx_sim_run(c, ret, &err) < 0)
		fail_msg("%s", err.text);
}

/** Jobs and a demand drawn from a seed: three days. */
static inline void draw(uint64_t seed, struct phx_trace_jobs *jobs, struct phx_trace_series *demand)
{
	struct phx_err err = {0};
	struct phx_trace_series load = {0};
	struct phx_gen_jobs g = {.rate = {.form = PHX_GEN_BURSTY, .length_ms = 3 * 86400 * S},
				 .seed = seed,
				 .n = 300,
				 .law = PHX_GEN_EXPONENTIAL,
				 .run_ms = 4000 * S,
				 .nodes_max = 16,
				 .estimate_milli = 3000};
	struct phx_gen_load l = {
		.rate = {.form = PHX_GEN_PERIODIC, .length_ms = 3 * 86400 * S, .periods = 6},
		.seed = seed,
		.period_ms = 600 * S,
		.mean_milli = 100000,
		.noise_milli = 50};
	struct phx_series_rule rule = {.web = {20 * S, 800, 1, UINT32_MAX}, .start = 2};
	assert_int_equal(phx_gen_jobs(&g, jobs, &err), 0);
	assert_int_equal(phx_gen_load(&l, &load, &err), 0);
	assert_int_equal(phx_series_calibrate(&load, &rule, 12, &rule.capacity_milli, &err), 0);
	assert_int_equal(phx_series_convert(&load, &rule, demand, &err), 0);
	phx_trace_series_fini(&load);
}

#endif
