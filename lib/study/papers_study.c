/* The rows of the IaaS study (002): its lists come from the study itself, and
 * the simulations of its sections 5.3 and 5.4, whose values stand in figures
 * only, are rows of their own. Called by papers.c. */
#include <errno.h>

#include "study/papers_internal.h"

enum { PAIRS = 3, WORKLOADS = 3, ALLOCATIONS = 2, POLICIES = 3 };

int phx_papers_study(struct phx_papers *p, const struct phx_iaas_study **ret, struct phx_err *err)
{
	int r = p->study ? 0 : phx_iaas_study_new(&p->reading->iaas, &p->study, err);
	*ret = p->study;
	return r;
}

static double makespan(const struct phx_iaas_result *r)
{
	return (double)r->makespan_ms / 1000;
}
static double slowdown(const struct phx_iaas_result *r)
{
	return r->slowdown;
}
static double speedup(const struct phx_iaas_result *r)
{
	return r->speedup;
}
static double charged(const struct phx_iaas_result *r)
{
	return r->charged_h;
}
static double efficiency(const struct phx_iaas_result *r)
{
	return r->efficiency;
}

static const struct {
	const char *name;
	double (*of)(const struct phx_iaas_result *r);
} columns[] = {
	{"makespan_s", makespan},    {"job_slowdown", slowdown},      {"speedup", speedup},
	{"charged_cost_h", charged}, {"cost_efficiency", efficiency},
};

/* 5.3: a = workload * PAIRS + pair; 5.4: a = (workload * ALLOCATIONS + allocation) * POLICIES +
 * policy; b: column */
static int size_value(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	const struct phx_iaas_study *s;
	int r = phx_papers_study(p, &s, err);
	if (r == 0)
		*ret = columns[b].of(
			phx_iaas_study_sizes(s, (unsigned)a / PAIRS, (unsigned)a % PAIRS));
	return r;
}

static int pair_value(struct phx_papers *p, int a, int b, double *ret, struct phx_err *err)
{
	const struct phx_iaas_study *s;
	unsigned i = (unsigned)a;
	int r = phx_papers_study(p, &s, err);
	if (r == 0)
		*ret = columns[b].of(phx_iaas_study_pairs(
			s, i / (ALLOCATIONS * POLICIES), i / POLICIES % ALLOCATIONS, i % POLICIES));
	return r;
}

static int add(struct phx_papers *p, const char *experiment, const char *what, const char *how,
	       int a, paper_number_fn number)
{
	for (size_t b = 0; b < PHX_ARRAY_SIZE(columns); b++) {
		struct paper_row *row = phx_papers_add_row(p, "%s;%s", how, what);
		if (!row)
			return -ENOMEM;
		row->row.experiment = experiment;
		row->row.metric = columns[b].name;
		row->row.note = phx_paper_note_figure;
		row->number = number;
		row->a = a;
		row->b = (int)b;
	}
	return 0;
}

int phx_papers_add_study(struct phx_papers *p)
{
	static const char *const shares[WORKLOADS] = {"25 % short", "50 % short", "75 % short"};
	static const char *const pairs[PAIRS] = {"OD-S+FCFS", "OD-S+SJF", "OD-2Q+FCFS-2Q"};
	static const char *const workloads[WORKLOADS] = {"Uniform", "Periodic", "Bursty"};
	static const char *const policies[ALLOCATIONS * POLICIES] = {
		"Startup+FCFS", "OD-S+FCFS", "OD-G+FCFS", "Startup+SJF", "OD-S+SJF", "OD-G+SJF"};
	int r = 0;
	for (int i = 0; i < WORKLOADS * PAIRS && r == 0; i++)
		r = add(p, "002.5.3", shares[i / PAIRS], pairs[i % PAIRS], i, size_value);
	for (int i = 0; i < WORKLOADS * ALLOCATIONS * POLICIES && r == 0; i++)
		r = add(p, "002.5.4", workloads[i / (ALLOCATIONS * POLICIES)],
			policies[i % (ALLOCATIONS * POLICIES)], i, pair_value);
	return r;
}
