/* What a run of the papers' experiments gave, and what it was set to. Called by
 * papers.c through the table of papers_measure.def. */

#include "study/papers_internal.h"

enum of { OF_BATCH, OF_ALL };

static int result(struct phx_papers *p, int run, enum of of, const struct phx_sim_metrics **ret,
		  struct phx_err *err)
{
	const struct phx_sim_result *r;
	int e = phx_papers_result(p, run, &r, err);
	if (e == 0)
		*ret = of == OF_ALL ? &r->total : &r->res[0];
	return e;
}

#define MEASURE(name, of, expression) \
	int phx_paper_##name(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err) \
	{ \
		const struct phx_sim_metrics *m; \
		int r = result(p, a, of, &m, err); \
		(void)b; \
		if (r == 0) \
			*ret = (double)(expression); \
		return r; \
	}

MEASURE(completed, OF_BATCH, m->completed)
MEASURE(exec, OF_BATCH, m->mean_exec_s)
MEASURE(turnaround, OF_BATCH, m->mean_turnaround_s)
MEASURE(killed, OF_BATCH, m->killed)
MEASURE(hours, OF_BATCH, m->node_hours)
MEASURE(tasks_per_s, OF_BATCH, m->tasks_per_s)
MEASURE(total_hours, OF_ALL, m->node_hours)
MEASURE(peak, OF_ALL, m->peak_nodes)
MEASURE(moved, OF_ALL, m->nodes_moved)

/* 100 (1 - x(a) / x(b)) */
static int saving(struct phx_papers *p, int a, int b, paper_number_fn fn, double *ret,
		  struct phx_err *err)
{
	double x = 0, y = 1;
	int r = fn(p, a, 0, &x, err);
	r = r < 0 ? r : fn(p, b, 0, &y, err);
	if (r == 0)
		*ret = 100 * (1 - x / y);
	return r;
}

int phx_paper_saved(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	return saving(p, a, b, phx_paper_hours, ret, err);
}

int phx_paper_saved_total(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	return saving(p, a, b, phx_paper_total_hours, ret, err);
}

int phx_paper_saved_nodes(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	return saving(p, a, b, phx_paper_set_nodes, ret, err);
}

int phx_paper_nodes_ratio(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	int r = phx_paper_saved_nodes(p, a, b, ret, err);
	if (r == 0)
		*ret = 100 - *ret;
	return r;
}

int phx_paper_peak_ratio(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	double percent = 0;
	int r = saving(p, a, b, phx_paper_peak, &percent, err);
	if (r == 0)
		*ret = 1 - percent / 100;
	return r;
}

/* Against dedicated clusters of b's size, held all the time. */
int phx_paper_saved_weeks(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	double hours = 0;
	int r = phx_paper_total_hours(p, a, 0, &hours, err);
	if (r == 0)
		*ret = 100 *
			(1 - hours / ((double)phx_paper_runs[b].nodes * phx_papers_hours(p, b)));
	return r;
}

/* ---- settings: what the runs are made with ---- */

#define SETTING(name, expression) \
	int phx_paper_##name(struct phx_papers *p, int run, int b, double *ret, \
			     struct phx_err *err) \
	{ \
		struct phx_agreement a; \
		(void)b, (void)err; \
		phx_papers_agreement(p, &phx_paper_runs[run], &a); \
		*ret = (double)(expression); \
		return 0; \
	}

SETTING(set_there, a.name[0] != 0)
SETTING(set_nodes, phx_paper_runs[run].nodes)
SETTING(set_lower, a.lower)
SETTING(set_web_lower, phx_paper_runs[run].web_lower)
SETTING(set_lease, a.lease_s / 60.0)
SETTING(set_cycle, a.cycle_s)
SETTING(set_r, a.r_milli / 1000.0)
SETTING(set_g, a.g_milli / 1000.0)
SETTING(set_share, (double)(a.lower + phx_paper_runs[run].web_lower) / phx_paper_runs[b].nodes)

/* ---- web demand ---- */

#define RULE(name, expression) \
	int phx_paper_##name(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err) \
	{ \
		struct phx_series_rule rule = phx_papers_rule(p); \
		(void)a, (void)b, (void)err; \
		*ret = (double)(expression); \
		return 0; \
	}

RULE(ws_start, rule.start)
RULE(ws_least, rule.web.lower)
RULE(ws_threshold, rule.web.threshold_milli / 10.0)
RULE(ws_window, (double)rule.web.window_ms / 1000 / p->reading->ws_replay)

int phx_paper_ws_peak(struct phx_papers *p, int peak, int b, double *ret, struct phx_err *err)
{
	const struct phx_trace_series *s;
	int r = phx_papers_demand(p, (uint32_t)peak, &s, err);
	(void)b;
	if (r == 0)
		*ret = (double)phx_series_peak(s);
	return r;
}

int phx_paper_ws_hours(struct phx_papers *p, int peak, int b, double *ret, struct phx_err *err)
{
	const struct phx_trace_series *s;
	int r = phx_papers_demand(p, (uint32_t)peak, &s, err);
	(void)b;
	if (r == 0)
		*ret = (double)phx_series_integral(s) / 3600000;
	return r;
}
