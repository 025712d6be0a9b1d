/* What the papers say of their logs and of the workflow, looked up in ours.
 * Called by papers.c through the table of papers_measure.def. */
#include <math.h>
#include <string.h>

#include "study/papers_internal.h"

#define HOUR_MS INT64_C(3600000)
#define WEEKS_MS (336 * HOUR_MS)

/* Sums over a log when every job starts at its submission. */
struct sums {
	double jobs, run_s, work_h, lease_h;
	double ended, ended_s, wide;
	int64_t last_ms;
};

static int sum_log(struct phx_papers *p, int input, int width, struct sums *ret,
		   struct phx_err *err)
{
	const struct phx_trace_jobs *w;
	struct sums s = {0};
	int r = phx_papers_jobs(p, input, &w, err);
	for (size_t i = 0; r == 0 && i < w->n; i++) {
		const struct phx_trace_job *j = &w->jobs[i];
		int64_t end_ms = j->submit_ms + j->run_ms;
		bool wide = width && j->size >= (uint32_t)width,
		     ended = !wide && end_ms <= WEEKS_MS;
		s.jobs++;
		s.run_s += (double)j->run_ms / 1000;
		s.work_h += (double)j->run_ms / HOUR_MS * j->size;
		s.lease_h += (double)((j->run_ms + HOUR_MS - 1) / HOUR_MS) * j->size;
		s.wide += wide;
		s.ended += ended;
		s.ended_s += ended ? (double)j->run_ms / 1000 : 0;
		s.last_ms = end_ms > s.last_ms ? end_ms : s.last_ms;
	}
	*ret = s;
	return r;
}

/* b: jobs of that many nodes and more are wide, and do not run */
#define LOG(name, expression) \
	int phx_paper_##name(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err) \
	{ \
		struct sums s; \
		int r = sum_log(p, a, b, &s, err); \
		if (r == 0) \
			*ret = expression; \
		return r; \
	}

LOG(log_jobs, s.jobs)
LOG(log_exec, s.run_s / s.jobs)
LOG(log_use, 100 * s.work_h / phx_papers_machine(a) / ((double)s.last_ms / HOUR_MS))
LOG(log_nodes, phx_papers_machine(a))
LOG(log_per_node, phx_papers_per_node(a))
LOG(log_months, round((double)s.last_ms / HOUR_MS / (365.25 * 24 / 12)))
LOG(log_hours, ceil((double)s.last_ms / HOUR_MS))
LOG(log_ended, s.ended)
LOG(log_ended_exec, s.ended_s / s.ended)
LOG(log_wide, s.wide)
LOG(log_leases, s.lease_h)

/* ---- Montage ---- */

static int widths(struct phx_papers *p, uint32_t *ret_first, uint32_t *ret_widest,
		  struct phx_err *err)
{
	const struct phx_trace_jobs *w;
	int r = phx_papers_jobs(p, INPUT_montage, &w, err);
	if (r < 0)
		return r;
	PHX_AUTO_FREE uint32_t *width = calloc(p->montage_levels + 1, sizeof(*width));
	if (!width)
		return phx_err_set(err, -12, "out of memory");
	*ret_widest = 0;
	for (size_t i = 0; i < w->n; i++)
		width[w->jobs[i].class]++;
	for (uint32_t i = 0; i < p->montage_levels; i++)
		*ret_widest = width[i] > *ret_widest ? width[i] : *ret_widest;
	*ret_first = width[0];
	return 0;
}

#define FLOW(name, expression) \
	int phx_paper_##name(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err) \
	{ \
		uint32_t first, widest; \
		int r = widths(p, &first, &widest, err); \
		(void)a, (void)b; \
		if (r == 0) \
			*ret = expression; \
		return r; \
	}

FLOW(flow_types, p->montage.n_kinds)
FLOW(flow_usual, first)
FLOW(flow_widest, widest)

/* DR: nodes leased beyond the initial ones, how often, and what the initial ones cost. */
int phx_paper_flow_initial(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	(void)b, (void)err;
	*ret = (double)phx_paper_runs[a].lower * phx_papers_hours(p, a);
	return 0;
}

int phx_paper_flow_lease_nodes(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	int r = phx_paper_peak(p, a, b, ret, err);
	if (r == 0)
		*ret -= phx_paper_runs[a].lower;
	return r;
}

int phx_paper_flow_leases(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	double hours = 0, initial = 0, nodes = 1;
	int r = phx_paper_hours(p, a, b, &hours, err);
	r = r < 0 ? r : phx_paper_flow_initial(p, a, b, &initial, err);
	r = r < 0 ? r : phx_paper_flow_lease_nodes(p, a, b, &nodes, err);
	if (r == 0)
		*ret = (hours - initial) / nodes;
	return r;
}

/* B R < RA and RA R > RM: what 003 advises for workflows, of the run it was found with. */
int phx_paper_flow_constraint(struct phx_papers *p, int a, int b, char ret[64], struct phx_err *err)
{
	uint32_t usual = 0, widest = 0;
	double base = 0, ratio = 0;
	int r = widths(p, &usual, &widest, err);
	r = r < 0 ? r : phx_paper_set_lower(p, a, b, &base, err);
	r = r < 0 ? r : phx_paper_set_r(p, a, b, &ratio, err);
	if (r == 0)
		strcpy(ret,
		       base * ratio < usual && usual * ratio > widest ? "B*R<RA and RA*R>RM"
								      : "does not hold");
	return r;
}
