/* Metrics of a run: sums while it goes, means at its end. Called by run.c for
 * each job and each move of nodes; allocates for open leases only. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/metrics.h"

enum { HOUR_MS = 3600 * 1000, BOUND_MS = 10 * 1000 };

static const struct phx_sim_metric table[] = {
#define COUNT(name, unit, head, text, source) \
	{#name, unit, head, text, source, true, offsetof(struct phx_sim_metrics, name)},
#define REAL(name, unit, head, text, source) \
	{#name, unit, head, text, source, false, offsetof(struct phx_sim_metrics, name)},
#include "sim/metric.def"
#undef COUNT
#undef REAL
};

size_t phx_sim_metric_table(const struct phx_sim_metric **ret)
{
	*ret = table;
	return PHX_ARRAY_SIZE(table);
}

const struct phx_sim_metric *phx_sim_metric_find(const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(table); i++)
		if (phx_str_eq(table[i].name, name))
			return &table[i];
	return NULL;
}

double phx_sim_metric_value(const struct phx_sim_metric *m, const struct phx_sim_metrics *of)
{
	const void *at = (const char *)of + m->offset;
	return m->count ? (double)*(const uint64_t *)at : *(const double *)at;
}

const char *phx_sim_metric_format(const struct phx_sim_metric *m, const struct phx_sim_metrics *of,
				  int digits, char *buf, size_t buf_size)
{
	double value = phx_sim_metric_value(m, of);
	if (isnan(value))
		snprintf(buf, buf_size, "%s", "");
	else
		snprintf(buf, buf_size, "%.*f", m->count ? 0 : digits, value);
	return buf;
}

void phx_sim_tally_fini(struct phx_sim_tally *t)
{
	phx_list_fini(&t->leases);
}

/* ---- jobs ---- */

void phx_sim_tally_submit(struct phx_sim_tally *t, int64_t submit_ms)
{
	if (!t->jobs || submit_ms < t->first_submit_ms)
		t->first_submit_ms = submit_ms;
	t->jobs++;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void phx_sim_tally_end(struct phx_sim_tally *t, const struct phx_trace_job *job, int64_t submit_ms,
		       int64_t start_ms, int64_t end_ms)
{
	int64_t turnaround = end_ms - submit_ms, wait = start_ms - submit_ms, run = job->run_ms;
	double bounded = (double)turnaround / (double)later(run, BOUND_MS);
	t->last_finish_ms = t->completed ? later(t->last_finish_ms, end_ms) : end_ms;
	t->last_ideal_ms =
		t->completed ? later(t->last_ideal_ms, submit_ms + run) : submit_ms + run;
	t->completed++;
	t->exec_ms += run;
	t->turnaround_ms += turnaround;
	t->wait_ms += wait;
	t->max_wait_ms = later(t->max_wait_ms, wait);
	t->work_s += (double)run / 1000 * job->size;
	t->bounded_slowdown += bounded > 1 ? bounded : 1;
	if (run > 0) {
		t->slowdown += (double)turnaround / (double)run;
		t->n_slowdown++;
	}
}

/* ---- leases ---- */

int phx_sim_tally_obtain(struct phx_sim_tally *t, uint32_t nodes, int64_t now_ms)
{
	if (t->first_lease && t->first_lease == t->leases.n)
		t->first_lease = t->leases.n = 0;
	struct phx_sim_lease *last =
		t->leases.n ? PHX_LIST_AT(&t->leases, struct phx_sim_lease, t->leases.n - 1) : NULL;
	if (last && last->from_ms == now_ms) {
		last->nodes += nodes;
		return 0;
	}
	struct phx_sim_lease *l = phx_list_push(&t->leases, sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct phx_sim_lease){now_ms, nodes};
	return 0;
}

void phx_sim_tally_release(struct phx_sim_tally *t, uint32_t nodes, int64_t now_ms)
{
	while (nodes && t->first_lease < t->leases.n) {
		struct phx_sim_lease *l =
			PHX_LIST_AT(&t->leases, struct phx_sim_lease, t->first_lease);
		uint32_t n = nodes < l->nodes ? nodes : l->nodes;
		int64_t length = now_ms - l->from_ms, hours = (length + HOUR_MS - 1) / HOUR_MS;
		t->actual_h += (double)length / HOUR_MS * n;
		t->charged_h += (double)later(hours, 1) * n;
		nodes -= n;
		l->nodes -= n;
		t->first_lease += !l->nodes;
	}
	/* what is over must not pile up over a trace of years */
	if (t->first_lease > 1024 && t->first_lease > t->leases.n / 2) {
		struct phx_sim_lease *all = t->leases.items;
		t->leases.n -= t->first_lease;
		memmove(all, all + t->first_lease, t->leases.n * sizeof(*all));
		t->first_lease = 0;
	}
}

/* ---- the end ---- */

void phx_sim_tally_add(struct phx_sim_tally *t, const struct phx_sim_tally *more)
{
	if (more->jobs && (!t->jobs || more->first_submit_ms < t->first_submit_ms))
		t->first_submit_ms = more->first_submit_ms;
	if (more->completed) {
		t->last_finish_ms = t->completed ? later(t->last_finish_ms, more->last_finish_ms)
						 : more->last_finish_ms;
		t->last_ideal_ms = t->completed ? later(t->last_ideal_ms, more->last_ideal_ms)
						: more->last_ideal_ms;
	}
	t->jobs += more->jobs;
	t->completed += more->completed;
	t->refused += more->refused;
	t->killed += more->killed;
	t->requeued += more->requeued;
	t->exec_ms += more->exec_ms;
	t->turnaround_ms += more->turnaround_ms;
	t->wait_ms += more->wait_ms;
	t->max_wait_ms = later(t->max_wait_ms, more->max_wait_ms);
	t->work_s += more->work_s;
	t->slowdown += more->slowdown;
	t->bounded_slowdown += more->bounded_slowdown;
	t->n_slowdown += more->n_slowdown;
	t->actual_h += more->actual_h;
	t->charged_h += more->charged_h;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

static double hours(uint64_t node_ms)
{
	return (double)node_ms / HOUR_MS;
}

static void finish_jobs(const struct phx_sim_tally *t, struct phx_sim_metrics *m)
{
	double n = (double)t->completed,
	       makespan_ms = (double)(t->last_finish_ms - t->first_submit_ms);
	m->jobs = t->jobs;
	m->completed = t->completed;
	m->refused = t->refused;
	m->unfinished = t->jobs - t->completed - t->refused - (t->killed - t->requeued);
	m->killed = t->killed;
	m->requeued = t->requeued;
	m->mean_exec_s = ratio((double)t->exec_ms / 1000, n);
	m->mean_turnaround_s = ratio((double)t->turnaround_ms / 1000, n);
	m->mean_wait_s = ratio((double)t->wait_ms / 1000, n);
	m->max_wait_s = n > 0 ? (double)t->max_wait_ms / 1000 : NAN;
	m->mean_slowdown = ratio(t->slowdown, (double)t->n_slowdown);
	m->mean_bounded_slowdown = ratio(t->bounded_slowdown, n);
	m->makespan_s = n > 0 ? makespan_ms / 1000 : NAN;
	m->tasks_per_s = ratio(n, m->makespan_s);
	m->speedup = n > 0 ? ratio(t->work_s, m->makespan_s) : NAN;
	m->speedup_inf =
		n > 0 ? ratio((double)(t->last_ideal_ms - t->first_submit_ms), makespan_ms) : NAN;
}

void phx_sim_tally_finish(const struct phx_sim_tally *t, const struct phx_ledger_meter *meter,
			  struct phx_sim_metrics *ret)
{
	*ret = (struct phx_sim_metrics){
		.node_hours = hours(meter->held_node_ms),
		.busy_node_hours = hours(meter->busy_node_ms),
		.lost_node_hours = hours(meter->lost_node_ms),
		.unmet_node_hours = hours(meter->unmet_node_ms),
		.peak_nodes = meter->peak,
		.adjustments = meter->n_adjusted,
		.nodes_moved = meter->nodes_moved,
		.actual_cost_h = t->actual_h,
		.charged_cost_h = t->charged_h,
		.cost_efficiency = ratio(t->charged_h, t->actual_h),
	};
	finish_jobs(t, ret);
	ret->utility = ratio(ret->speedup, t->charged_h);
}
