/* What holds of every workflow that is taken, whatever its form: its lists lie within it, every
 * task is on a level above its parents, limits hold, what checks and sums it ends; as WfFormat it
 * is read back the same. Included by the targets of the forms. */
#ifndef PHX_FUZZ_WORKFLOW_H
#define PHX_FUZZ_WORKFLOW_H

#include "fuzz/fuzz.h"
#include "trace/wfformat.h"
#include "trace/workflow.h"

static inline void fuzz_found(void *arg, uint32_t task, uint32_t line, const char *text)
{
	(void)arg, (void)task, (void)line;
	fuzz_never(!*text);
}

static inline void fuzz_task(const struct phx_flow *f, uint32_t i)
{
	const struct phx_flow_task *t = &f->tasks[i];
	fuzz_never(!t->nodes || t->nodes > PHX_FLOW_NODES_MAX || t->cores > PHX_FLOW_CORES_MAX);
	fuzz_never(t->run_ms < -1 || t->run_ms > PHX_FLOW_TIME_MAX_MS);
	fuzz_never(t->time_ms < 0 || t->retries > PHX_FLOW_RETRIES_MAX);
	fuzz_never(t->when_failed > PHX_FLOW_HOLD || t->level >= f->n_levels);
	fuzz_never(!*phx_flow_id(f, i) || strlen(phx_flow_id(f, i)) >= PHX_FLOW_NAME_MAX);
	for (int k = 0; k < PHX_FLOW_LISTS; k++)
		fuzz_never(t->at[k] > t->at[k + 1] || t->at[k + 1] > f->n_refs);
	PHX_FLOW_EACH(p, f, i, PHX_FLOW_PARENTS)
	fuzz_never(*p >= f->n_tasks || f->tasks[*p].level >= t->level);
	PHX_FLOW_EACH(c, f, i, PHX_FLOW_CHILDREN)
	fuzz_never(*c >= f->n_tasks || f->tasks[*c].level <= t->level);
	PHX_FLOW_EACH(o, f, i, PHX_FLOW_OUTPUTS)
	fuzz_never(*o >= f->n_files || !f->files[*o].n_writers);
	PHX_FLOW_EACH(w, f, i, PHX_FLOW_ARGV)
	fuzz_never(*w >= f->n_text);
}

static inline void fuzz_same(const struct phx_flow *a, const struct phx_flow *b)
{
	fuzz_never(a->n_tasks != b->n_tasks || a->n_refs != b->n_refs || a->n_files < b->n_files);
	for (uint32_t i = 0; i < a->n_tasks; i++) {
		const struct phx_flow_task *x = &a->tasks[i], *y = &b->tasks[i];
		fuzz_never(strcmp(phx_flow_id(a, i), phx_flow_id(b, i)) != 0);
		fuzz_never(x->nodes != y->nodes || x->cores != y->cores ||
			   x->memory_bytes != y->memory_bytes || x->time_ms != y->time_ms);
		fuzz_never(x->run_ms != y->run_ms || x->retries != y->retries ||
			   x->when_failed != y->when_failed || x->level != y->level);
		fuzz_never(memcmp(x->at, y->at, sizeof(x->at)) != 0);
	}
}

static inline void fuzz_workflow(const struct phx_flow *f)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO(phx_flow_fini) struct phx_flow back = {0};
	struct phx_flow_sums sums;
	struct phx_err err = {0};
	for (uint32_t i = 0; i < f->n_tasks; i++)
		fuzz_task(f, i);
	phx_flow_check(f, fuzz_found, NULL);
	fuzz_never(phx_flow_sum(f, &sums) < 0);
	phx_wfformat_write(f, &b);
	fuzz_never(b.failed || phx_wfformat_read("back", b.data, b.n, &back, &err) < 0);
	fuzz_same(f, &back);
}

/** Any bytes as a form that `read` reads. */
static inline int fuzz_workflow_form(const void *data, size_t n,
				     int (*read)(const char *, const char *, size_t,
						 struct phx_flow *, struct phx_err *))
{
	PHX_AUTO(phx_flow_fini) struct phx_flow f = {0};
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	struct phx_err err = {0};
	int r = read("fuzz", text, n, &f, &err);
	fuzz_never(r < 0 && (f.tasks || !*err.text));
	if (r == 0)
		fuzz_workflow(&f);
	return 0;
}

#endif
