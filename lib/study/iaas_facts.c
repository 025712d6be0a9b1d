/* The rows of 002.text: what its text says of workloads and parameters, against
 * what ours are. Workloads are measured as they were drawn, not copied from the
 * table they were drawn by. Called by iaas_study.c. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "study/iaas_study_internal.h"

/* the cloud whose hours are measured */
enum { MEASURED_NODES = 64 };

struct book {
	struct phx_iaas_study *s;
	const char *config;
	bool failed;
};

__attribute__((format(printf, 3, 4))) static void note(struct book *b, const char *metric,
						       const char *format, ...)
{
	struct study_fact *f = b->failed ? NULL : phx_list_push(&b->s->facts, sizeof(*f));
	va_list args;
	b->failed = !f;
	if (!f)
		return;
	f->config = b->config;
	f->metric = metric;
	va_start(args, format);
	vsnprintf(f->ours, sizeof(f->ours), format, args);
	va_end(args);
}

/* Draw a workload for measuring; false: the book has failed. */
static bool draw(struct book *b, enum phx_iaas_workload w, uint32_t i, struct phx_trace_jobs *ret)
{
	uint32_t nodes = phx_iaas_workload_nodes(w);
	int r = phx_iaas_workload_draw(w, nodes ? nodes : MEASURED_NODES, b->s->options.seed + i,
				       PHX_IAAS_SPREAD_NONE, ret);
	b->failed = b->failed || r;
	return !r;
}

/* ---- hours (4.3) ---- */

struct sums {
	double n, run_s, square_s2, last_s, peak;
};

static int compare_down(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x < y) - (x > y);
}

/* Load of the four busiest minutes: 002 has its maximum "for a few minutes". */
static double peak_load(const struct phx_trace_jobs *jobs)
{
	double load[60] = {0};
	for (size_t i = 0; i < jobs->n; i++) {
		size_t minute = (size_t)(jobs->jobs[i].submit_ms / 60000);
		if (minute < PHX_ARRAY_SIZE(load))
			load[minute] += (double)jobs->jobs[i].run_ms / 60000 / MEASURED_NODES;
	}
	qsort(load, PHX_ARRAY_SIZE(load), sizeof(*load), compare_down);
	return (load[0] + load[1] + load[2] + load[3]) / 4;
}

static void add_hour(struct book *b, enum phx_iaas_workload w, struct sums *sums)
{
	for (uint32_t i = 0; i < b->s->options.repetitions; i++) {
		PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs jobs = {0};
		if (!draw(b, w, i, &jobs))
			return;
		for (size_t k = 0; k < jobs.n; k++) {
			double run_s = (double)jobs.jobs[k].run_ms / 1000;
			sums->run_s += run_s;
			sums->square_s2 += run_s * run_s;
		}
		sums->n += (double)jobs.n;
		sums->peak += peak_load(&jobs) / b->s->options.repetitions;
		sums->last_s +=
			(double)jobs.jobs[jobs.n - 1].submit_ms / 1000 / b->s->options.repetitions;
	}
}

static double load_percent(const struct book *b, const struct sums *s)
{
	return 100 * s->run_s / b->s->options.repetitions / MEASURED_NODES / 3600;
}

static void note_hours(struct book *b)
{
	struct sums uniform = {0}, increasing = {0}, bursty = {0};
	add_hour(b, PHX_IAAS_WORKLOAD_uniform, &uniform);
	add_hour(b, PHX_IAAS_WORKLOAD_increasing, &increasing);
	add_hour(b, PHX_IAAS_WORKLOAD_bursty, &bursty);
	if (b->failed)
		return;
	double n = uniform.n + increasing.n + bursty.n,
	       mean = (uniform.run_s + increasing.run_s + bursty.run_s) / n;
	double square = (uniform.square_s2 + increasing.square_s2 + bursty.square_s2) / n;
	b->config = "workloads";
	note(b, "hours", "%.0f", uniform.last_s / 3600);
	note(b, "load_uniform_pct", "%.0f", load_percent(b, &uniform));
	note(b, "load_increasing_pct", "%.0f", load_percent(b, &increasing));
	note(b, "load_bursty_pct", "%.0f", load_percent(b, &bursty));
	note(b, "load_bursty_max_pct", "%.0f", 100 * bursty.peak);
	note(b, "job_mean_s", "%.1f", mean);
	note(b, "job_sd_s", "%.1f", sqrt(square - mean * mean));
}

/* ---- short and long jobs (5.3, 5.4) ---- */

struct mix {
	uint32_t n, n_short;
	double short_s, long_s; /* means */
};

static struct mix mix_of(const struct phx_trace_jobs *jobs)
{
	struct phx_iaas_config config;
	struct mix m = {.n = (uint32_t)jobs->n};
	phx_iaas_config_default(&config);
	for (size_t i = 0; i < jobs->n; i++) {
		bool is_short = jobs->jobs[i].run_ms <= config.cut_ms;
		m.n_short += is_short;
		*(is_short ? &m.short_s : &m.long_s) += (double)jobs->jobs[i].run_ms / 1000;
	}
	m.short_s /= m.n_short;
	m.long_s /= m.n - m.n_short;
	return m;
}

/* Seconds from job i - 1 to job i. */
static int gap_s(const struct phx_trace_jobs *jobs, size_t i)
{
	return (int)lround((double)(jobs->jobs[i].submit_ms - jobs->jobs[i - 1].submit_ms) / 1000);
}

/* Job, from `i` on, before which the gap changes; n at the end. */
static size_t next_change(const struct phx_trace_jobs *jobs, size_t i)
{
	size_t k = i + 1;
	while (k < jobs->n && gap_s(jobs, k) == gap_s(jobs, i))
		k++;
	return k;
}

static void note_groups(struct book *b, const struct phx_trace_jobs *jobs)
{
	struct phx_buf gaps = {0};
	size_t first_end = next_change(jobs, 1), group = next_change(jobs, first_end) - first_end,
	       turns = 0;
	size_t groups = 0, at = 1;
	/* the last group of a turn and the first of the next have the same gap: a turn ends at that
	 * gap */
	do {
		phx_buf_addf(&gaps, "%s%d", groups++ ? "/" : "", gap_s(jobs, at));
		at = next_change(jobs, at);
	} while (at < jobs->n && gap_s(jobs, at) != gap_s(jobs, 1));
	phx_buf_addf(&gaps, "/%d", gap_s(jobs, at));
	groups++;
	turns = jobs->n / (groups * group);
	note(b, "groups", "%zu", groups);
	note(b, "jobs_per_group", "%zu", group);
	note(b, "repetitions", "%zu", turns);
	note(b, "interarrivals_s", "%s", gaps.failed ? "" : gaps.data);
	b->failed = b->failed || gaps.failed;
	phx_buf_fini(&gaps);
}

static void note_sizes(struct book *b)
{
	struct phx_trace_jobs jobs[STUDY_SIZES] = {0};
	struct phx_iaas_config config;
	struct mix m[STUDY_SIZES];
	b->config = "sim 5.3";
	study_config(PHX_PROVISIONING_od_s, PHX_ALLOCATION_fcfs,
		     phx_iaas_workload_nodes(PHX_IAAS_WORKLOAD_sr25), NULL, &config);
	for (int i = 0; i < STUDY_SIZES; i++) {
		if (draw(b, (enum phx_iaas_workload)(PHX_IAAS_WORKLOAD_sr25 + i), 0, &jobs[i]))
			m[i] = mix_of(&jobs[i]);
	}
	if (!b->failed) {
		note(b, "max_vms", "%u", config.max);
		note(b, "jobs", "%u", m[0].n);
		note_groups(b, &jobs[0]);
		note(b, "short_mean_s", "%.0f", m[0].short_s);
		note(b, "long_mean_s", "%.0f", m[0].long_s);
		note(b, "short_ratios_pct", "%u/%u/%u", 100 * m[0].n_short / m[0].n,
		     100 * m[1].n_short / m[1].n, 100 * m[2].n_short / m[2].n);
		note(b, "ODS_idle_s", "%lld",
		     (long long)config.params.idle_ms[PHX_IAAS_SHORT] / 1000);
		note(b, "OD2Q_idle_short_s", "%lld",
		     (long long)config.params.idle_ms[PHX_IAAS_SHORT] / 1000);
		note(b, "OD2Q_idle_long_s", "%lld",
		     (long long)config.params.idle_ms[PHX_IAAS_LONG] / 1000);
	}
	for (int i = 0; i < STUDY_SIZES; i++)
		phx_trace_jobs_fini(&jobs[i]);
}

static void note_periodic(struct book *b)
{
	PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs jobs = {0};
	int most = 0, least = 1000000, periods = 0;
	if (!draw(b, PHX_IAAS_WORKLOAD_periodic, 0, &jobs))
		return;
	for (size_t i = 1; i < jobs.n; i++) {
		most = gap_s(&jobs, i) > most ? gap_s(&jobs, i) : most;
		least = gap_s(&jobs, i) < least ? gap_s(&jobs, i) : least;
	}
	for (size_t i = 1; i < jobs.n; i++) /* a period is a time of the smallest gap */
		periods += gap_s(&jobs, i) == least && gap_s(&jobs, i - (i > 1)) != least;
	note(b, "periodic_max_s", "%d", most);
	note(b, "periodic_min_s", "%d", least);
	note(b, "periodic_periods", "%d", periods);
}

static void note_bursty(struct book *b)
{
	PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs jobs = {0};
	size_t periods = 0, at = 1, second;
	if (!draw(b, PHX_IAAS_WORKLOAD_mixed_bursty, 0, &jobs))
		return;
	second = next_change(&jobs, 1);
	for (; at < jobs.n; at = next_change(&jobs, at))
		periods++;
	note(b, "bursty_periods", "%zu", periods);
	note(b, "bursty_jobs_per_period", "%zu", next_change(&jobs, second) - second);
	note(b, "bursty_high_s", "%d", gap_s(&jobs, 1));
	note(b, "bursty_low_s", "%d", gap_s(&jobs, second));
}

static void note_mixed(struct book *b)
{
	PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs jobs = {0};
	struct phx_iaas_config config;
	b->config = "sim 5.4";
	study_config(PHX_PROVISIONING_od_g, PHX_ALLOCATION_fcfs,
		     phx_iaas_workload_nodes(PHX_IAAS_WORKLOAD_periodic), NULL, &config);
	if (!draw(b, PHX_IAAS_WORKLOAD_mixed_uniform, 0, &jobs))
		return;
	struct mix m = mix_of(&jobs);
	note(b, "max_vms", "%u", config.max);
	note(b, "jobs", "%u", m.n);
	note(b, "short_share_pct", "%u", 100 * m.n_short / m.n);
	note(b, "short_mean_s", "%.0f", m.short_s);
	note(b, "long_mean_s", "%.0f", m.long_s);
	note(b, "idle_s", "%lld", (long long)config.params.idle_ms[PHX_IAAS_SHORT] / 1000);
	note(b, "ODG_factor", "%u", config.params.growth);
	note(b, "uniform_interarrival_s", "%d", gap_s(&jobs, 1));
	note_periodic(b);
	note_bursty(b);
}

static void note_params(struct book *b)
{
	struct phx_iaas_config config;
	study_config(PHX_PROVISIONING_od_g, PHX_ALLOCATION_fcfs, 1, NULL, &config);
	b->config = "params";
	note(b, "OD_G_period_s", "%lld", (long long)config.period_ms / 1000);
	note(b, "exec_factor", "%u", config.params.factor);
	note(b, "sim_boot_min", "%lld", (long long)config.boot_ms / 60000);
	note(b, "charge_unit_h", "%lld", (long long)config.charge_ms / 3600000);
	b->config = "environments";
	note(b, "DAS4_max_vms", "%d", study_clouds[0].value);
	note(b, "FIU_max_vms", "%d", study_clouds[1].value);
	note(b, "EC2_max_vms", "%d", study_clouds[2].value);
}

/* How many times more Startup is charged than the cheapest dynamic policy, at most, over clouds
 * and workloads. */
static double static_ratio(const struct phx_iaas_study *s)
{
	double most = 0;
	for (int cloud = 0; cloud < STUDY_CLOUDS; cloud++)
		for (int h = 0; h < STUDY_HOURS; h++)
			for (int p = 1; p < STUDY_LIVE; p++) {
				double ratio = s->cloud[cloud][0][h].charged_h /
					s->cloud[cloud][p][h].charged_h;
				most = ratio > most ? ratio : most;
			}
	return most;
}

int study_measure(struct phx_iaas_study *s)
{
	struct book b = {.s = s};
	note_params(&b);
	note_hours(&b);
	note_sizes(&b);
	note_mixed(&b);
	b.config = "findings";
	note(&b, "static_cost_ratio_max", "%.1f", static_ratio(s));
	return b.failed ? -ENOMEM : 0;
}
