/* The rows of the papers' tables and our figure for each. Called by phx sim
 * tables and tests; what is simulated is in papers_run.c and papers_sweep.c. */
#include "study/papers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "study/papers_internal.h"
#include "sim/threads.h"

static const char *const near_names[] = {"exact", "within 1 %", "within 5 %", "beyond 5 %",
					 "no figure"};
const struct phx_enum phx_paper_near_names = {"nearness", near_names, PHX_ARRAY_SIZE(near_names)};

static const char *const kind_names[] = {"computed", "setting", "input echoed", "none"};
const struct phx_enum phx_paper_kind_names = {"kind", kind_names, PHX_ARRAY_SIZE(kind_names)};

#define OURS \
	.ws_replay = 15, .ws_begin_s = 897170400, .blue_early = true, .dr_obtain_by_idle = true, \
	.window_milli = 1000, .iaas = PHX_IAAS_STUDY_OPTIONS

/* A row says only what it has otherwise than ours. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct phx_papers_reading readings[] = {
#define READING(name_, scope_, match_, text_, ...) \
	{.name = name_, .text = text_, .scope = scope_, .match = match_, OURS, __VA_ARGS__},
#include "study/papers_reading.def"
#undef READING
};
#pragma GCC diagnostic pop

size_t phx_papers_readings(const struct phx_papers_reading **ret)
{
	*ret = readings;
	return PHX_ARRAY_SIZE(readings);
}

/* ---- rows ---- */

#define ROW(experiment, config, metric, published, how, tolerance, note) \
	{{experiment, config, metric, published, phx_paper_note_##note, tolerance, \
	  PHX_PAPER_EMPTY}, \
	 how, \
	 NULL},
#define N(fn, a, b) phx_paper_##fn, NULL, a, b, KIND_##fn, false
#define T(fn, a, b) NULL, phx_paper_##fn, a, b, KIND_##fn, false
#define STUDY(kind) NULL, NULL, 0, 0, PAPER_KIND_##kind, true
#define NONE NULL, NULL, 0, 0, PHX_PAPER_EMPTY, false
static const struct paper_row listed[] = {
#include "study/published_000.def"
#include "study/published_001.def"
#include "study/published_002.def"
#include "study/published_003.def"
#include "study/published_004.def"
#include "study/published_derived.def"
};
#undef ROW
#undef N
#undef T
#undef STUDY
#undef NONE

/* What the measure says; of nodes that a run holds all the time, what it is made with. */
static int kind_of(const struct paper_row *row)
{
	if (row->kind != KIND_HELD)
		return row->kind;
	const struct paper_run *run = &phx_paper_runs[row->a];
	return phx_policy((enum phx_policy_id)run->policy)->fixed && !run->n_parts
		? PHX_PAPER_SETTING
		: PHX_PAPER_COMPUTED;
}

static int add_listed(struct phx_papers *p)
{
	struct paper_row *rows = phx_list_push(&p->rows, sizeof(*rows));
	for (size_t i = 0; rows && i < PHX_ARRAY_SIZE(listed); i++) {
		if (i)
			rows = phx_list_push(&p->rows, sizeof(*rows));
		if (!rows)
			break;
		*rows = listed[i];
		rows->row.kind = kind_of(rows);
	}
	return rows ? 0 : -ENOMEM;
}

int phx_papers_new(const char *traces, const struct phx_papers_reading *reading,
		   struct phx_papers **ret)
{
	struct phx_papers *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->reading = reading ? reading : &readings[0];
	p->traces = traces ? strdup(traces) : NULL;
	int r = traces && !p->traces ? -ENOMEM : add_listed(p);
	r = r < 0 ? r : phx_papers_add_points(p);
	r = r < 0 ? r : phx_papers_add_study(p);
	if (r < 0) {
		phx_papers_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static void free_result(struct phx_sim_result *r)
{
	if (r)
		phx_sim_result_fini(r);
	free(r);
}

void phx_papers_free(struct phx_papers *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < RUN_COUNT_; i++)
		free_result(p->result[i]);
	for (size_t i = 0; i < SWEEP_COUNT_ * SWEEP_VALUES_MAX; i++)
		free_result(p->point[i / SWEEP_VALUES_MAX][i % SWEEP_VALUES_MAX]);
	for (size_t i = 0; i < INPUT_COUNT_; i++)
		phx_trace_jobs_fini(&p->jobs[i]);
	for (size_t i = 0; i < p->n_demands; i++)
		phx_trace_series_fini(&p->demand[i].series);
	phx_trace_series_fini(&p->load);
	phx_iaas_study_free(p->study);
	PHX_LIST_EACH(struct paper_row, row, &p->rows)
		free(row->config);
	phx_list_fini(&p->rows);
	free(p->traces);
	free(p);
}

size_t phx_papers_rows(const struct phx_papers *p)
{
	return p->rows.n;
}

const struct phx_paper_row *phx_papers_row(const struct phx_papers *p, size_t i)
{
	return &PHX_LIST_AT(&p->rows, struct paper_row, i)->row;
}

/* ---- figures ---- */

/* Decimals that a published figure is printed with. */
static int decimals_of(const char *published)
{
	const char *point = strchr(published, '.');
	return point ? (int)strspn(point + 1, "0123456789") : 0;
}

/* One decimal more than the paper prints, none for whole numbers. */
static void print_number(const char *published, double ours, char ret[64])
{
	int decimals = decimals_of(published) + 1;
	if (fabs(ours - round(ours)) < 1e-9 * fmax(1, fabs(ours)))
		decimals = 0;
	else if (!*published)
		decimals = fabs(ours) < 100 ? 3 : 1;
	else if (fabs(ours) >= 100000 && decimals == 1)
		decimals = 0;
	snprintf(ret, 64, "%.*f", decimals, ours);
}

/* The published number, false when it is none. */
static bool parse_number(const char *published, double *ret)
{
	char *end;
	*ret = strtod(published, &end);
	return *published && !*end;
}

/* Percentages are compared in points; not those that are small themselves. */
static bool in_points(const char *metric, double published)
{
	return strstr(metric, "_pct") && fabs(published) >= 5;
}

static void judge_number(const struct phx_paper_row *row, double ours, struct phx_paper_value *ret)
{
	double published, unit = pow(10, decimals_of(row->published));
	print_number(row->published, ours, ret->ours);
	if (!parse_number(row->published, &published))
		return;
	ret->difference =
		in_points(row->metric, published) ? (ours - published) / 100 : ours / published - 1;
	if (published == 0)
		ret->difference = ours / 100;
	double scaled = ours * unit, printed = round(published * unit);
	double off = fabs(ret->difference);
	if (fabs(round(scaled) - printed) < 0.5 ||
	    fabs(trunc(scaled + copysign(1e-9, scaled)) - printed) < 0.5)
		ret->near = PHX_PAPER_EXACT;
	else
		ret->near = off <= 0.01 ? PHX_PAPER_1
			: off <= 0.05   ? PHX_PAPER_5
					: PHX_PAPER_BEYOND;
}

static void judge_text(const struct phx_paper_row *row, const char *ours,
		       struct phx_paper_value *ret)
{
	double number = 0;
	char *end;
	number = strtod(ours, &end);
	if (*ours && !*end && parse_number(row->published, &(double){0})) {
		judge_number(row, number, ret);
		return;
	}
	if (*row->published && *ours)
		ret->near = strcmp(ours, row->published) == 0 ? PHX_PAPER_EXACT : PHX_PAPER_BEYOND;
	PHX_STR_SET(ret->ours, ours);
}

static int study_value(struct phx_papers *p, struct paper_row *row, struct phx_paper_value *ret,
		       struct phx_err *err)
{
	const struct phx_iaas_study *study;
	char ours[64];
	int r = phx_papers_study(p, &study, err);
	r = r < 0 ? r
		  : phx_iaas_study_experiment(study, row->row.experiment, row->row.config,
					      row->row.metric, ours);
	if (r < 0)
		return phx_err_set(err, r, "%s,%s,%s: no such row", row->row.experiment,
				   row->row.config, row->row.metric);
	judge_text(&row->row, ours, ret);
	return 0;
}

int phx_papers_value(struct phx_papers *p, size_t i, struct phx_paper_value *ret,
		     struct phx_err *err)
{
	struct paper_row *row = PHX_LIST_AT(&p->rows, struct paper_row, i);
	struct phx_paper_value value = {.near = PHX_PAPER_NONE, .difference = NAN};
	char text[64];
	double number = 0;
	int r = 0;
	if (row->study) {
		r = study_value(p, row, &value, err);
	} else if (row->number) {
		r = row->number(p, row->a, row->b, &number, err);
		if (r == 0)
			judge_number(&row->row, number, &value);
	} else if (row->text) {
		r = row->text(p, row->a, row->b, text, err);
		if (r == 0)
			judge_text(&row->row, text, &value);
	}
	if (r == 0)
		*ret = value;
	return r;
}

/* ---- everything at once ---- */

static int prepare_piece(void *arg, size_t i, struct phx_err *err)
{
	struct phx_papers *p = arg;
	const struct phx_sim_result *result;
	if (i + 1 < RUN_COUNT_)
		return phx_papers_result(p, (int)i + 1, &result, err);
	i -= RUN_COUNT_ - 1;
	if (i % SWEEP_VALUES_MAX >= phx_paper_sweeps[i / SWEEP_VALUES_MAX].n_values)
		return 0;
	return phx_papers_sweep_result(p, (int)(i / SWEEP_VALUES_MAX), i % SWEEP_VALUES_MAX,
				       &result, err);
}

/* What several runs share is read before them, so that they only look at it. */
static int read_inputs(struct phx_papers *p, struct phx_err *err)
{
	const struct phx_trace_jobs *jobs;
	const struct phx_trace_series *demand;
	int r = 0;
	for (int i = INPUT_none + 1; i < INPUT_COUNT_ && r == 0; i++)
		r = phx_papers_jobs(p, i, &jobs, err);
	for (int i = RUN_none + 1; i < RUN_COUNT_ && r == 0; i++)
		r = phx_paper_runs[i].peak
			? phx_papers_demand(p, phx_paper_runs[i].peak, &demand, err)
			: 0;
	return r;
}

int phx_papers_prepare(struct phx_papers *p, unsigned workers, struct phx_err *err)
{
	int r = read_inputs(p, err);
	return r < 0 ? r
		     : phx_sim_pool_run(workers, RUN_COUNT_ - 1 + SWEEP_COUNT_ * SWEEP_VALUES_MAX,
					prepare_piece, NULL, p, err);
}

int phx_papers_count(struct phx_papers *p, const char *scope, const char *match,
		     struct phx_paper_counts *ret, struct phx_err *err)
{
	struct phx_paper_counts c = {.n_rows = 0};
	size_t n_differences[PHX_PAPER_KIND_COUNT_] = {0};
	for (size_t i = 0; i < p->rows.n; i++) {
		struct phx_paper_value v;
		const struct phx_paper_row *row = phx_papers_row(p, i);
		if (!*row->published || !phx_str_starts(row->experiment, scope) ||
		    !strstr(row->config, match))
			continue;
		int r = phx_papers_value(p, i, &v, err);
		if (r < 0)
			return r;
		c.n_rows++;
		c.n[row->kind][v.near]++;
		if (isnan(v.difference))
			continue;
		c.mean[row->kind] += fmin(fabs(v.difference), 1);
		n_differences[row->kind]++;
	}
	for (int k = 0; k < PHX_PAPER_KIND_COUNT_; k++)
		c.mean[k] /= n_differences[k] ? (double)n_differences[k] : 1;
	*ret = c;
	return 0;
}
