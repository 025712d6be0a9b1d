/* What the papers' experiments are fed with: logs, the workflow, web demand;
 * each read once. Called by papers_run.c and papers_trace.c. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "trace/draw.h"
#include "trace/input.h"
#include "trace/workflow.h"
#include "study/papers_internal.h"

#define HOUR_MS INT64_C(3600000)
#define WEEKS_MS (336 * HOUR_MS)

enum { WORKFLOW_SEED = 1, WS_PEAK = 64, MONTAGE_WIDEST = 662 };

struct input {
	const char *text, *file;
	uint32_t per_node, hours, nodes;
	int (*read)(struct phx_papers *p, const struct input *in, struct phx_trace_jobs *ret,
		    struct phx_err *err);
	int sizes;
};

/* ---- logs ---- */

static int read_swf(struct phx_papers *p, const char *file, const struct phx_swf_options *o,
		    struct phx_trace_jobs *ret, struct phx_err *err)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	int r = phx_trace_input_find(file, p->traces, &in, err);
	return r < 0 ? r : phx_swf_read(file, in.data, in.n, o, ret, err);
}

static int read_log(struct phx_papers *p, const struct input *in, struct phx_trace_jobs *ret,
		    struct phx_err *err)
{
	struct phx_swf_options o = {
		.per_node = in->per_node, .length_ms = in->hours * HOUR_MS, .sizes = in->sizes};
	return read_swf(p, in->file, &o, ret, err);
}

/* `first` before the jobs of `w`; both are in order of submission. */
static int put_before(const struct phx_trace_jobs *first, uint64_t from_id, uint64_t to_id,
		      struct phx_trace_jobs *w)
{
	struct phx_trace_job *jobs = reallocarray(NULL, first->n + w->n + 1, sizeof(*jobs));
	size_t n = 0;
	if (!jobs)
		return -ENOMEM;
	for (size_t i = 0; i < first->n; i++)
		if (first->jobs[i].id >= from_id && first->jobs[i].id <= to_id)
			jobs[n++] = first->jobs[i];
	if (w->n)
		memcpy(jobs + n, w->jobs, w->n * sizeof(*jobs));
	free(w->jobs);
	w->jobs = jobs;
	w->n += n;
	return 0;
}

/* The papers' log was not cleaned: jobs 2 to 8 of it come before those that the archive has
 * kept. */
static int read_blue_weeks(struct phx_papers *p, const struct input *in, struct phx_trace_jobs *ret,
			   struct phx_err *err)
{
	PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs w = {0}, early = {0};
	struct phx_swf_options o = {.per_node = in->per_node};
	int r = read_log(p, in, &w, err);
	if (r == 0 && p->reading->blue_early)
		r = read_swf(p, "SDSC-BLUE-2000-1.first10.swf", &o, &early, err);
	r = r < 0 ? r : put_before(&early, 2, 8, &w);
	if (r < 0)
		return r;
	*ret = w;
	w = (struct phx_trace_jobs){0};
	return 0;
}

/* ---- Montage ---- */

static int read_workflow(struct phx_papers *p, const struct input *in, struct phx_trace_jobs *ret,
			 struct phx_err *err)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input text = {0};
	int r = phx_trace_input_find(in->file, p->traces, &text, err);
	PHX_AUTO(phx_flow_fini) struct phx_flow flow = {0};
	r = r < 0 ? r : phx_workflow_read(in->file, text.data, text.n, &flow, err);
	r = r < 0 ? r : phx_flow_sum(&flow, &p->montage);
	p->montage_levels = flow.n_levels;
	return r < 0 ? r : phx_workflow_jobs(&flow, in->file, ret, err);
}

static int by_time(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* 100 submissions of a Poisson stream in two weeks: given their number they are uniform. */
static void draw_submissions(int64_t ret_ms[SUBMISSIONS])
{
	struct phx_rng rng = {WORKFLOW_SEED};
	for (size_t i = 0; i < SUBMISSIONS; i++)
		ret_ms[i] = (int64_t)phx_rng_below(&rng, WEEKS_MS / 1000) * 1000;
	qsort(ret_ms, SUBMISSIONS, sizeof(*ret_ms), by_time);
}

static int read_workflows(struct phx_papers *p, const struct input *in, struct phx_trace_jobs *ret,
			  struct phx_err *err)
{
	PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs one = {0};
	int64_t at_ms[SUBMISSIONS];
	int r = read_workflow(p, in, &one, err);
	draw_submissions(at_ms);
	return r < 0 ? r : phx_trace_jobs_repeat(&one, at_ms, SUBMISSIONS, ret);
}

/* One lease of what the widest level wants, as long as the workflow takes then (reading 17). */
static int read_workflow_leases(struct phx_papers *p, const struct input *in,
				struct phx_trace_jobs *ret, struct phx_err *err)
{
	PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs one = {0};
	int64_t at_ms[SUBMISSIONS];
	int r = read_workflow(p, in, &one, err);
	if (r < 0)
		return r;
	draw_submissions(at_ms);
	struct phx_trace_job lease = {.id = 1,
				      .run_ms = p->montage.longest_ms,
				      .estimate_ms = -1,
				      .size = MONTAGE_WIDEST};
	struct phx_trace_jobs leases = {.jobs = &lease, .n = 1};
	return phx_trace_jobs_repeat(&leases, at_ms, SUBMISSIONS, ret);
}

static const struct input inputs[INPUT_COUNT_] = {
#define INPUT(id, ...) [INPUT_##id] = {__VA_ARGS__},
#include "study/papers_input.def"
#undef INPUT
};

int phx_papers_jobs(struct phx_papers *p, int input, const struct phx_trace_jobs **ret,
		    struct phx_err *err)
{
	if (!p->read[input]) {
		int r = inputs[input].read(p, &inputs[input], &p->jobs[input], err);
		if (r < 0)
			return r;
		p->read[input] = true;
	}
	*ret = &p->jobs[input];
	return 0;
}

uint32_t phx_papers_machine(int input)
{
	return inputs[input].nodes;
}

uint32_t phx_papers_per_node(int input)
{
	return inputs[input].per_node;
}

const char *phx_papers_input_text(int input)
{
	return inputs[input].text;
}

const char *phx_papers_input_file(int input)
{
	return inputs[input].file;
}

uint32_t phx_papers_input_hours(int input)
{
	return inputs[input].hours;
}

/* ---- web demand ---- */

/* The manager looks every 20 s of its own time; where the log is replayed faster, more of the log
 * passes in them. */
struct phx_series_rule phx_papers_rule(const struct phx_papers *p)
{
	return (struct phx_series_rule){
		.web = {.window_ms = INT64_C(20000) * p->reading->ws_replay,
			.threshold_milli = 800,
			.lower = 1,
			.upper = UINT32_MAX},
		.start = 2,
		.capacity_milli = p->capacity_milli,
	};
}

static int read_load(struct phx_papers *p, struct phx_err *err)
{
	static const char file[] = "wc98-per-minute.csv";
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_series_options o = {.begin_s = p->reading->ws_begin_s, .length_ms = WEEKS_MS};
	int r = phx_trace_input_find(file, p->traces, &in, err);
	r = r < 0 ? r : phx_series_read(file, in.data, in.n, &o, &p->load, NULL, err);
	struct phx_series_rule rule = phx_papers_rule(p);
	return r < 0 ? r : phx_series_calibrate(&p->load, &rule, WS_PEAK, &p->capacity_milli, err);
}

int phx_papers_demand(struct phx_papers *p, uint32_t peak, const struct phx_trace_series **ret,
		      struct phx_err *err)
{
	for (size_t i = 0; i < p->n_demands; i++) {
		if (p->demand[i].peak == peak) {
			*ret = &p->demand[i].series;
			return 0;
		}
	}
	if (p->n_demands == WS_PEAKS_MAX)
		return phx_err_set(err, -ENOSPC, "more than %d peaks of web demand", WS_PEAKS_MAX);
	int r = p->load.n ? 0 : read_load(p, err);
	if (r < 0)
		return r;
	struct paper_demand *d = &p->demand[p->n_demands];
	struct phx_series_rule rule = phx_papers_rule(p);
	r = phx_series_convert(&p->load, &rule, &d->series, err);
	if (r < 0)
		return r;
	phx_series_scale(&d->series, peak, WS_PEAK);
	d->peak = peak;
	p->n_demands++;
	*ret = &d->series;
	return 0;
}
