/* From the definition of a trace to its workload, and the store that reads
 * each once. Called by sim/scenario.c and by phx sim; the readers are in swf.c,
 * series.c and their neighbours. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/file.h"
#include "trace/input.h"
#include "trace/trace.h"

enum { JOBS_MAX = 10000000 };

void phx_trace_workload_fini(struct phx_trace_workload *w)
{
	if (!w)
		return;
	phx_trace_jobs_fini(&w->jobs);
	phx_trace_series_fini(&w->demand);
}

/* ---- one trace ---- */

/* Beside the scenario, as named, or below the traces directory. */
static int find_input(const struct phx_trace *t, const char *traces, struct phx_trace_input *ret,
		      struct phx_err *err)
{
	PHX_AUTO_FREE char *beside =
		*t->dir && t->file[0] != '/' ? phx_path("%s/%s", t->dir, t->file) : NULL;
	if (beside) {
		struct phx_err ignored = {0};
		int r = phx_trace_input_find(beside, NULL, ret, &ignored);
		if (r != -ENOENT)
			return r < 0 ? phx_err_set(err, r, "%s", ignored.text) : 0;
	}
	return phx_trace_input_find(t->file, traces, ret, err);
}

/* Requests to nodes, by the WS manager's rule. */
static int make_demand(const struct phx_trace *t, const struct phx_trace_series *load,
		       struct phx_trace_workload *ret, struct phx_err *err)
{
	struct phx_series_rule rule = t->rule;
	int r = t->peak ? phx_series_calibrate(load, &rule, t->peak, &rule.capacity_milli, err) : 0;
	if (r == 0)
		r = phx_series_convert(load, &rule, &ret->demand, err);
	ret->capacity_milli = rule.capacity_milli;
	return r;
}

static int load_requests(const struct phx_trace *t, const struct phx_trace_input *in,
			 struct phx_trace_workload *ret, struct phx_err *err)
{
	PHX_AUTO(phx_trace_series_fini) struct phx_trace_series load = {0};
	int r = phx_series_read(in->path, in->data, in->n, &t->series, &load, NULL, err);
	return r < 0 ? r : make_demand(t, &load, ret, err);
}

/* The same workflow again and again, each copy with jobs of its own. */
static int repeat(struct phx_trace_jobs *w, uint32_t copies, int64_t every_ms, struct phx_err *err)
{
	size_t n = w->n, n_children = w->n_children, total, total_children;
	if (copies < 2)
		return 0;
	if (__builtin_mul_overflow(n, copies, &total) || total > JOBS_MAX ||
	    __builtin_mul_overflow(n_children, copies, &total_children))
		return phx_err_set(err, -E2BIG, "%u copies of %zu jobs are more than %d jobs",
				   copies, n, JOBS_MAX);
	struct phx_trace_jobs all = *w;
	all.jobs = calloc(total, sizeof(*all.jobs));
	all.children = calloc(total_children + 1, sizeof(*all.children));
	if (!all.jobs || !all.children) {
		free(all.jobs);
		free(all.children);
		return -ENOMEM;
	}
	for (size_t i = 0; i < total; i++) {
		size_t copy = i / n;
		all.jobs[i] = w->jobs[i % n];
		all.jobs[i].id = i + 1;
		all.jobs[i].submit_ms += (int64_t)copy * every_ms;
		all.jobs[i].first_child += (uint32_t)(copy * n_children);
	}
	for (size_t i = 0; i < total_children; i++)
		all.children[i] = w->children[i % n_children] + (uint32_t)(i / n_children * n);
	all.n = total;
	all.n_children = total_children;
	phx_trace_jobs_fini(w);
	*w = all;
	return 0;
}

static int load_workflow(const struct phx_trace *t, const struct phx_trace_input *in,
			 struct phx_trace_workload *ret, struct phx_err *err)
{
	PHX_AUTO(phx_flow_fini) struct phx_flow flow = {0};
	int r = phx_workflow_read(in->path, in->data, in->n, &flow, err);
	r = r < 0 ? r : phx_workflow_jobs(&flow, in->path, &ret->jobs, err);
	return r < 0 ? r : repeat(&ret->jobs, t->copies, t->every_ms, err);
}

static int draw(const struct phx_trace *t, struct phx_trace_workload *ret, struct phx_err *err)
{
	PHX_AUTO(phx_trace_series_fini) struct phx_trace_series load = {0};
	if (t->kind == PHX_TRACE_JOBS)
		return phx_gen_jobs(&t->gen_jobs, &ret->jobs, err);
	int r = phx_gen_load(&t->gen_load, &load, err);
	return r < 0 ? r : make_demand(t, &load, ret, err);
}

static int load_text(const struct phx_trace *t, const struct phx_trace_input *in,
		     struct phx_trace_workload *ret, struct phx_err *err)
{
	switch ((enum phx_trace_kind)t->kind) {
	case PHX_TRACE_SWF:
		return phx_swf_read(in->path, in->data, in->n, &t->swf, &ret->jobs, err);
	case PHX_TRACE_REQUESTS:
		return load_requests(t, in, ret, err);
	case PHX_TRACE_DEMAND:
		return phx_series_read(in->path, in->data, in->n, &t->series, &ret->demand, NULL,
				       err);
	case PHX_TRACE_DAX:
	case PHX_TRACE_WORKFLOW:
		return load_workflow(t, in, ret, err);
	case PHX_TRACE_JOBS:
	case PHX_TRACE_LOAD:
		break; /* no text */
	}
	return phx_err_set(err, -EINVAL, "trace %s is of no known kind", t->name);
}

int phx_trace_load(const struct phx_trace *t, const char *traces, struct phx_trace_workload *ret,
		   struct phx_err *err)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_trace_workload w = {0};
	bool drawn = t->kind == PHX_TRACE_JOBS || t->kind == PHX_TRACE_LOAD;
	int r = drawn ? draw(t, &w, err) : find_input(t, traces, &in, err);
	if (r == 0 && !drawn)
		r = load_text(t, &in, &w, err);
	if (r < 0) {
		phx_trace_workload_fini(&w);
		return r;
	}
	if (w.demand.n && t->scale_to)
		phx_series_scale(&w.demand, t->scale_to, (uint32_t)phx_series_peak(&w.demand));
	*ret = w;
	return 0;
}

/* ---- the store ---- */

struct entry {
	struct phx_trace key;
	struct phx_trace_workload workload;
	struct entry *next;
};

struct phx_trace_store {
	pthread_mutex_t lock;
	char *traces;
	struct entry *entries; /* a list: workloads must not move */
};

int phx_trace_store_new(const char *traces, struct phx_trace_store **ret)
{
	struct phx_trace_store *s = calloc(1, sizeof(*s));
	if (!s || (traces && !(s->traces = strdup(traces)))) {
		free(s);
		return -ENOMEM;
	}
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void phx_trace_store_free(struct phx_trace_store *s)
{
	if (!s)
		return;
	for (struct entry *e = s->entries, *next; e; e = next) {
		next = e->next;
		phx_trace_workload_fini(&e->workload);
		free(e);
	}
	pthread_mutex_destroy(&s->lock);
	free(s->traces);
	free(s);
}

/* The definition alone: its name does not make another workload. Definitions are zeroed before they
 * are filled, so that their bytes can be compared. */
static void make_key(const struct phx_trace *t, struct phx_trace *ret)
{
	memcpy(ret, t, sizeof(*ret)); /* not by =, which may leave the padding */
	memset(ret->name, 0, sizeof(ret->name));
}

static int get_locked(struct phx_trace_store *s, const struct phx_trace *t,
		      const struct phx_trace_workload **ret, struct phx_err *err)
{
	struct phx_trace key;
	make_key(t, &key);
	for (struct entry *e = s->entries; e; e = e->next)
		if (!memcmp(&e->key, &key, sizeof(key))) {
			*ret = &e->workload;
			return 0;
		}
	struct entry *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	int r = phx_trace_load(t, s->traces, &e->workload, err);
	if (r < 0) {
		free(e);
		return r;
	}
	memcpy(&e->key, &key, sizeof(key));
	e->next = s->entries;
	s->entries = e;
	*ret = &e->workload;
	return 0;
}

int phx_trace_store_get(struct phx_trace_store *s, const struct phx_trace *t,
			const struct phx_trace_workload **ret, struct phx_err *err)
{
	/* one reader at a time: the others mostly want the same file */
	pthread_mutex_lock(&s->lock);
	int r = get_locked(s, t, ret, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}
