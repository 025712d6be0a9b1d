/* The curves of the papers' figures: a run with one setting varied. The values
 * are not printed in the papers; ours stand for themselves. Called by papers.c
 * and, for what is said of a whole curve, through papers_measure.def. */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/metrics.h"
#include "study/papers_internal.h"

enum measures {
	COMPLETED = 1,
	TURNAROUND = 2,
	KILLED = 4,
	TOTAL_HOURS = 8,
	PEAK = 16,
	ADJUSTMENTS = 32,
	HOURS = 64,
	MOVED = 128,
	TASKS = 256,
	USERS = COMPLETED | TURNAROUND,
	NODES = TOTAL_HOURS | PEAK,
	HTC = HOURS | COMPLETED | MOVED,
	MTC = HOURS | TASKS | MOVED,
};

static const struct {
	unsigned bit;
	const char *name;   /* of the row */
	const char *metric; /* of sim/metric.def */
	bool total;         /* of all REs, not the batch RE */
} columns[] = {
	{COMPLETED, "completed_jobs", "completed", false},
	{TURNAROUND, "avg_turnaround_s", "mean_turnaround_s", false},
	{KILLED, "killed_jobs", "killed", false},
	{TOTAL_HOURS, "total_node_hours", "node_hours", true},
	{PEAK, "peak_nodes", "peak_nodes", true},
	{ADJUSTMENTS, "adjust_times", "adjustments", true},
	{HOURS, "resource_node_hours", "node_hours", false},
	{MOVED, "nodes_adjusted", "nodes_moved", true},
	{TASKS, "tasks_per_s_of_a_workflow", "tasks_per_s", false},
};

#define SWEEP(id, experiment, config, letter, base, member, times, less, measures, ...) \
	static const double values_##id[] = {__VA_ARGS__};
#include "study/papers_sweep.def"
#undef SWEEP

const struct paper_sweep phx_paper_sweeps[SWEEP_COUNT_] = {
#define SWEEP(id, experiment, config, letter, base, member, times, less, measures, ...) \
	[SWEEP_##id] = { \
		experiment, config, letter,   base,        offsetof(struct paper_run, member), \
		times,      less,   measures, values_##id, PHX_ARRAY_SIZE(values_##id)},
#include "study/papers_sweep.def"
#undef SWEEP
};

int phx_papers_sweep_result(struct phx_papers *p, int sweep, size_t i,
			    const struct phx_sim_result **ret, struct phx_err *err)
{
	const struct paper_sweep *s = &phx_paper_sweeps[sweep];
	struct phx_sim_result **kept = &p->point[sweep][i];
	if (!*kept) {
		struct paper_run run = phx_paper_runs[s->base];
		uint32_t value = (uint32_t)lround(s->values[i] * s->times - s->less);
		memcpy((char *)&run + s->member, &value, sizeof(value));
		struct phx_sim_result *made = calloc(1, sizeof(*made));
		int r = made ? phx_papers_simulate(p, &run, made, err) : -ENOMEM;
		if (r < 0) {
			free(made);
			return phx_err_prefix(err, r, "%s;%s=%g", s->config, s->letter,
					      s->values[i]);
		}
		*kept = made;
	}
	*ret = *kept;
	return 0;
}

/* a: sweep * SWEEP_VALUES_MAX + point; b: column */
static int point_value(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	const struct phx_sim_result *result;
	int r = phx_papers_sweep_result(p, a / SWEEP_VALUES_MAX, (size_t)(a % SWEEP_VALUES_MAX),
					&result, err);
	if (r == 0)
		*ret = phx_sim_metric_value(phx_sim_metric_find(columns[b].metric),
					    columns[b].total ? &result->total : &result->res[0]);
	return r;
}

static int add_curve(struct phx_papers *p, int sweep, size_t column)
{
	const struct paper_sweep *s = &phx_paper_sweeps[sweep];
	for (size_t i = 0; i < s->n_values; i++) {
		struct paper_row *row =
			phx_papers_add_row(p, "%s;%s=%g", s->config, s->letter, s->values[i]);
		if (!row)
			return -ENOMEM;
		row->row.experiment = s->experiment;
		row->row.metric = columns[column].name;
		row->row.note = phx_paper_note_figure;
		row->number = point_value;
		row->a = sweep * SWEEP_VALUES_MAX + (int)i;
		row->b = (int)column;
	}
	return 0;
}

int phx_papers_add_points(struct phx_papers *p)
{
	for (int sweep = 0; sweep < SWEEP_COUNT_; sweep++) {
		for (size_t c = 0; c < PHX_ARRAY_SIZE(columns); c++) {
			int r = phx_paper_sweeps[sweep].measures & columns[c].bit
				? add_curve(p, sweep, c)
				: 0;
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- what is said of whole curves ---- */

int phx_paper_sweep_values(struct phx_papers *p, int a, int b, char ret[64], struct phx_err *err)
{
	const struct paper_sweep *s = &phx_paper_sweeps[a];
	size_t n = 0;
	(void)p, (void)b, (void)err;
	ret[0] = 0;
	for (size_t i = 0; i < s->n_values && n < 64; i++)
		n += (size_t)snprintf(ret + n, 64 - n, "%s%g", i ? "/" : "", s->values[i]);
	return 0;
}

/* Is the total within 5 % over the whole range, as the text says of U and V? */
int phx_paper_sweep_insensitive(struct phx_papers *p, int a, int b, char ret[64],
				struct phx_err *err)
{
	const struct paper_sweep *s = &phx_paper_sweeps[a];
	double least = INFINITY, most = 0;
	(void)b;
	for (size_t i = 0; i < s->n_values; i++) {
		const struct phx_sim_result *result;
		int r = phx_papers_sweep_result(p, a, i, &result, err);
		if (r < 0)
			return r;
		least = fmin(least, result->total.node_hours);
		most = fmax(most, result->total.node_hours);
	}
	if (most <= least * 1.05)
		snprintf(ret, 64, "%.1f-%.1f", s->values[0], s->values[s->n_values - 1]);
	else
		snprintf(ret, 64, "differs by %.1f %%", 100 * (most / least - 1));
	return 0;
}

int phx_paper_sweep_moved_max(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	double most = 0;
	for (size_t i = 0; i < phx_paper_sweeps[a].n_values; i++) {
		const struct phx_sim_result *result;
		int r = phx_papers_sweep_result(p, a, i, &result, err);
		if (r < 0)
			return r;
		most = fmax(most,
			    (double)(p->reading->moved_by_times ? result->total.adjustments
								: result->total.nodes_moved));
	}
	(void)b;
	*ret = most;
	return 0;
}
