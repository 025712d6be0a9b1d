/* Generator of the IaaS study's workloads. Called by phx sim iaas, the study
 * and tests; every draw comes from the seed, in a fixed order. */
#include <errno.h>

#include "trace/draw.h"
#include "iaas/workload.h"

/* 002 4.3, 5.3, 5.4 */
static const double task_mean_s = 47, task_sd_s = 41.1;
static const double short_s = 10, long_s = 3600;

static const char *const names[] = {
#define WORKLOAD(id, name, ...) name,
#include "iaas/workload.def"
#undef WORKLOAD
};
const struct phx_enum phx_iaas_workload_names = {"workload", names, PHX_IAAS_WORKLOAD_COUNT_};

static const uint32_t nodes_of[] = {
#define WORKLOAD(id, name, nodes, ...) nodes,
#include "iaas/workload.def"
#undef WORKLOAD
};

uint32_t phx_iaas_workload_nodes(enum phx_iaas_workload w)
{
	return nodes_of[w];
}

struct maker {
	struct phx_rng rng;
	struct phx_list jobs; /* struct phx_trace_job */
	enum phx_iaas_spread spread;
};

static int add(struct maker *m, double at_s, double run_s)
{
	struct phx_trace_job *job = phx_list_push(&m->jobs, sizeof(*job));
	if (!job)
		return -ENOMEM;
	if (run_s < 1)
		run_s = 1;
	*job = (struct phx_trace_job){
		.id = m->jobs.n,
		.submit_ms = (int64_t)(at_s * 1000),
		.run_ms = (int64_t)(run_s * 1000),
		.estimate_ms = -1,
		.size = 1,
		.class = (uint32_t)(run_s / 10),
	};
	return 0;
}

/* ---- an hour at given loads (4.3) ---- */

/* A stretch of time with one load. */
struct stretch {
	double until_s, load;
};

static const struct stretch uniform[] = {{3600, 0.70}};
static const struct stretch increasing[] = {
	{720, 0.1}, {1440, 0.3}, {2160, 0.5}, {2880, 0.7}, {3600, 0.9}};
/* two spikes of 120 s at 1.7 are 0.1133 of the mean 0.15; the rest is spread over the other 3360
 * s */
#define MILD ((0.15 * 3600 - 1.7 * 240) / 3360)
static const struct stretch bursty[] = {
	{900, MILD}, {1020, 1.7}, {2400, MILD}, {2520, 1.7}, {3600, MILD}};

/* Poisson: a gap that reaches beyond a stretch goes on with the next one's rate. */
static int draw_hour(struct maker *m, const struct stretch *stretches, size_t n, uint32_t nodes)
{
	double at = 0, gap = phx_draw_exponential(&m->rng, 1);
	for (size_t i = 0; i < n;) {
		double rate = stretches[i].load * nodes / task_mean_s,
		       left = stretches[i].until_s - at;
		if (gap > left * rate) {
			gap -= left * rate;
			at = stretches[i++].until_s;
			continue;
		}
		at += gap / rate;
		gap = phx_draw_exponential(&m->rng, 1);
		if (add(m, at, phx_draw_lognormal(&m->rng, task_mean_s, task_sd_s)))
			return -ENOMEM;
	}
	return 0;
}

/* ---- short and long jobs (5.3, 5.4) ---- */

static double mixed_run(struct maker *m, bool is_short)
{
	double mean = is_short ? short_s : long_s;
	switch (m->spread) {
	case PHX_IAAS_SPREAD_NONE:
		break;
	case PHX_IAAS_SPREAD_LOGNORMAL:
		return phx_draw_lognormal(&m->rng, mean, mean * task_sd_s / task_mean_s);
	case PHX_IAAS_SPREAD_EXPONENTIAL:
		return phx_draw_exponential(&m->rng, mean);
	}
	return mean;
}

/* Seconds from job i - 1 to job i. */
typedef double (*gap_fn)(uint32_t i);

/* 5.3: nine groups of 20 jobs, four times */
static double gap_groups(uint32_t i)
{
	static const double gaps[] = {300, 100, 30, 10, 5, 10, 30, 100, 300};
	return gaps[i / 20 % PHX_ARRAY_SIZE(gaps)];
}

static double gap_uniform(uint32_t i)
{
	(void)i;
	return 10;
}

/* 5.4: 250 jobs from 60 s down to 5 s and back, in equal steps */
static double gap_periodic(uint32_t i)
{
	uint32_t k = i % 250, from_end = k < 125 ? k : 249 - k;
	return 60 - 55.0 * from_end / 124;
}

static double gap_bursty(uint32_t i)
{
	return i / 200 % 2 ? 2 : 30;
}

/* `n` jobs, `n_short` of them short: which ones is drawn without putting back */
static int draw_mixed(struct maker *m, uint32_t n, uint32_t n_short, gap_fn gap)
{
	double at = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool is_short = phx_rng_below(&m->rng, n - i) < n_short;
		n_short -= is_short;
		if (i)
			at += gap(i);
		if (add(m, at, mixed_run(m, is_short)))
			return -ENOMEM;
	}
	return 0;
}

static int draw(struct maker *m, enum phx_iaas_workload w, uint32_t nodes)
{
	switch (w) {
	case PHX_IAAS_WORKLOAD_uniform:
		return draw_hour(m, uniform, PHX_ARRAY_SIZE(uniform), nodes);
	case PHX_IAAS_WORKLOAD_increasing:
		return draw_hour(m, increasing, PHX_ARRAY_SIZE(increasing), nodes);
	case PHX_IAAS_WORKLOAD_bursty:
		return draw_hour(m, bursty, PHX_ARRAY_SIZE(bursty), nodes);
	case PHX_IAAS_WORKLOAD_sr25:
		return draw_mixed(m, 720, 180, gap_groups);
	case PHX_IAAS_WORKLOAD_sr50:
		return draw_mixed(m, 720, 360, gap_groups);
	case PHX_IAAS_WORKLOAD_sr75:
		return draw_mixed(m, 720, 540, gap_groups);
	case PHX_IAAS_WORKLOAD_mixed_uniform:
		return draw_mixed(m, 1000, 500, gap_uniform);
	case PHX_IAAS_WORKLOAD_periodic:
		return draw_mixed(m, 1000, 500, gap_periodic);
	case PHX_IAAS_WORKLOAD_mixed_bursty:
		return draw_mixed(m, 1000, 500, gap_bursty);
	case PHX_IAAS_WORKLOAD_COUNT_:
		break;
	}
	return -EINVAL;
}

int phx_iaas_workload_draw(enum phx_iaas_workload w, uint32_t nodes, uint64_t seed,
			   enum phx_iaas_spread spread, struct phx_trace_jobs *ret)
{
	struct maker m = {.rng = {seed}, .spread = spread};
	int r = nodes ? draw(&m, w, nodes) : -EINVAL;
	if (r) {
		phx_list_fini(&m.jobs);
		return r;
	}
	*ret = (struct phx_trace_jobs){.jobs = m.jobs.items, .n = m.jobs.n, .n_rows = m.jobs.n};
	return 0;
}
