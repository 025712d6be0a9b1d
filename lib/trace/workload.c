/* What every workload has, whoever made it. Called by the readers, the
 * generators and whoever runs a workload. */
#include "trace/workload.h"

#include <errno.h>

void phx_trace_jobs_fini(struct phx_trace_jobs *w)
{
	if (!w)
		return;
	free(w->jobs);
	free(w->children);
	*w = (struct phx_trace_jobs){0};
}

static uint64_t last_id(const struct phx_trace_jobs *w)
{
	uint64_t last = 0;
	for (size_t i = 0; i < w->n; i++)
		last = w->jobs[i].id > last ? w->jobs[i].id : last;
	return last;
}

static int by_submit(const void *a, const void *b)
{
	const struct phx_trace_job *x = a, *y = b;
	if (x->submit_ms != y->submit_ms)
		return x->submit_ms < y->submit_ms ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

void phx_trace_jobs_sort(struct phx_trace_jobs *w)
{
	qsort(w->jobs, w->n, sizeof(*w->jobs), by_submit);
}

static void copy_one(const struct phx_trace_jobs *one, size_t k, int64_t at_ms, uint64_t ids,
		     struct phx_trace_jobs *w)
{
	for (size_t i = 0; i < one->n; i++) {
		struct phx_trace_job *j = &w->jobs[k * one->n + i];
		*j = one->jobs[i];
		j->id += k * ids;
		j->submit_ms += at_ms;
		j->first_child += (uint32_t)(k * one->n_children);
	}
	for (size_t i = 0; i < one->n_children; i++)
		w->children[k * one->n_children + i] = one->children[i] + (uint32_t)(k * one->n);
}

int phx_trace_jobs_repeat(const struct phx_trace_jobs *one, const int64_t *at_ms, size_t n,
			  struct phx_trace_jobs *ret)
{
	struct phx_trace_jobs w = *one;
	if (n == 0 || one->n > UINT32_MAX / n || one->n_children > UINT32_MAX / n)
		return -EOVERFLOW;
	w.jobs = calloc(one->n * n + 1, sizeof(*w.jobs));
	w.children = calloc(one->n_children * n + 1, sizeof(*w.children));
	if (!w.jobs || !w.children) {
		phx_trace_jobs_fini(&w);
		return -ENOMEM;
	}
	w.n = one->n * n;
	w.n_children = one->n_children * n;
	w.n_rows = one->n_rows * n;
	for (size_t k = 0; k < n; k++)
		copy_one(one, k, at_ms[k], last_id(one), &w);
	/* of workflows the children name places: all are submitted at once, and rise already */
	if (!w.n_children)
		phx_trace_jobs_sort(&w);
	*ret = w;
	return 0;
}

void phx_trace_series_fini(struct phx_trace_series *s)
{
	if (!s)
		return;
	free(s->at_ms);
	free(s->value);
	*s = (struct phx_trace_series){0};
}
