/* Planning: see plan.h. Pure. */
#include "flow/plan.h"

#include <errno.h>

#include "base/heap.h"

struct end {
	int64_t at_ms;
	uint32_t task;
	uint32_t turn; /* at one instant, the order in which they began */
};

static bool sooner(const struct end *a, const struct end *b)
{
	return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->turn < b->turn;
}
PHX_HEAP(end, struct end, sooner)

struct planning {
	const struct phx_flow *f;
	const struct phx_flow_plan_options *o;
	struct phx_flow_run run;
	struct phx_flow_slots slots;
	struct phx_flow_plan plan;
	struct phx_list ends; /* struct end */
	uint32_t **nodes;     /* of each task that runs; owned */
	int64_t now_ms;
};

static void planning_fini(struct planning *p)
{
	for (uint32_t i = 0; p->nodes && i < p->f->n_tasks; i++)
		free(p->nodes[i]);
	free(p->nodes);
	phx_flow_run_fini(&p->run);
	phx_flow_slots_fini(&p->slots);
	phx_flow_plan_fini(&p->plan);
	phx_list_fini(&p->ends);
}

static int check(const struct planning *p, struct phx_err *err)
{
	for (uint32_t i = 0; i < p->f->n_tasks; i++) {
		const struct phx_flow_task *t = &p->f->tasks[i];
		if (t->run_ms < 0)
			return phx_err_set(err, -EINVAL,
					   "task \"%.60s\": how long it runs (run, runtime) is "
					   "missing: a plan needs it",
					   phx_flow_id(p->f, i));
		if (!phx_flow_slots_can(&p->slots, t))
			return phx_err_set(err, -EINVAL,
					   "task \"%.60s\": it wants %u nodes of %u cores and %llu "
					   "bytes each, which are not there",
					   phx_flow_id(p->f, i), t->nodes, t->cores,
					   (unsigned long long)t->memory_bytes);
	}
	return 0;
}

static int init(struct planning *p)
{
	p->nodes = calloc(p->f->n_tasks, sizeof(*p->nodes));
	p->plan.tasks = calloc(p->f->n_tasks, sizeof(*p->plan.tasks));
	if (!p->nodes || !p->plan.tasks)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->f->n_tasks; i++)
		p->plan.tasks[i] = (struct phx_flow_planned){-1, -1, PHX_FLOW_NONE, 0, 0};
	int r = phx_flow_slots_init(p->o->n_nodes, p->o->node, &p->slots);
	return r < 0 ? r : phx_flow_run_init(p->f, p->o->is_done, p->o->arg, &p->run);
}

/* The node that wrote most of the task's inputs (for a file, its last run's first node). Counts at
 * most NODES_MAX nodes. */
static uint32_t node_of_inputs(const struct planning *p, uint32_t task)
{
	enum { NODES_MAX = 8 };
	struct {
		uint32_t node;
		uint64_t bytes;
	} seen[NODES_MAX];
	uint32_t n = 0, best = PHX_FLOW_NONE;
	uint64_t most = 0;
	PHX_FLOW_EACH(i, p->f, task, PHX_FLOW_INPUTS)
	{
		const struct phx_flow_file *file = &p->f->files[*i];
		uint32_t node = file->writer == PHX_FLOW_NONE ? PHX_FLOW_NONE
							      : p->plan.tasks[file->writer].node,
			 k = 0;
		if (node == PHX_FLOW_NONE)
			continue;
		while (k < n && seen[k].node != node)
			k++;
		if (k == NODES_MAX)
			continue;
		if (k == n)
			seen[n++].bytes = 0;
		seen[k].node = node;
		seen[k].bytes += file->size_bytes + 1;
		if (seen[k].bytes > most) {
			most = seen[k].bytes;
			best = node;
		}
	}
	return best;
}

/* Adds to busy_core_ms, saturating at INT64_MAX. */
static void count_cores(struct planning *p, const struct phx_flow_task *t)
{
	int64_t cores = (int64_t)t->nodes * (t->cores ? t->cores : p->o->node.cores), ms,
		*sum = &p->plan.busy_core_ms;
	if (__builtin_mul_overflow(t->run_ms, cores, &ms) || __builtin_add_overflow(*sum, ms, sum))
		*sum = INT64_MAX;
}

/* 1: the task began; 0: it does not fit now. */
static int begin(struct planning *p, uint32_t task)
{
	const struct phx_flow_task *t = &p->f->tasks[task];
	struct phx_flow_planned *planned = &p->plan.tasks[task];
	if (!p->nodes[task])
		p->nodes[task] = calloc(t->nodes, sizeof(**p->nodes));
	if (!p->nodes[task])
		return -ENOMEM;
	if (!phx_flow_slots_take(&p->slots, t, node_of_inputs(p, task), p->nodes[task]))
		return 0;
	if (p->now_ms > INT64_MAX - PHX_FLOW_TIME_MAX_MS)
		return -EOVERFLOW;
	int r = phx_flow_run_act(&p->run, PHX_FLOW_BEGIN, task);
	if (r < 0)
		return r;
	planned->begin_ms = p->now_ms;
	planned->end_ms = p->now_ms + t->run_ms;
	planned->node = p->nodes[task][0];
	planned->n_runs++;
	count_cores(p, t);
	r = end_push(&p->ends, (struct end){planned->end_ms, task, p->plan.n_runs++});
	return r < 0 ? r : 1;
}

/* Nodes are kept for a task of several: nothing begins before the first of these. */
static int begin_what_fits(struct planning *p)
{
	for (;;) {
		uint32_t wide = phx_flow_run_next_wide(&p->run),
			 task = wide == PHX_FLOW_NONE ? phx_flow_run_next(&p->run) : wide;
		int r = task == PHX_FLOW_NONE ? 0 : begin(p, task);
		if (r <= 0)
			return r;
	}
}

static int take_end(struct planning *p)
{
	struct end end = end_pop(&p->ends);
	bool fails = p->o->fails && p->o->fails(p->o->arg, end.task);
	p->now_ms = end.at_ms;
	p->plan.end_ms = end.at_ms;
	phx_flow_slots_give(&p->slots, &p->f->tasks[end.task], p->nodes[end.task]);
	free(PHX_TAKE(p->nodes[end.task]));
	return phx_flow_run_act(&p->run, fails ? PHX_FLOW_FAIL : PHX_FLOW_DONE, end.task);
}

static int follow(struct planning *p)
{
	int r = begin_what_fits(p);
	while (r == 0 && p->ends.n) {
		r = take_end(p);
		while (r == 0 && p->ends.n && end_top(&p->ends)->at_ms == p->now_ms)
			r = take_end(p);
		r = r < 0 ? r : begin_what_fits(p);
	}
	for (uint32_t i = 0; r == 0 && i < p->f->n_tasks; i++)
		p->plan.tasks[i].state = p->run.tasks[i].state;
	p->plan.status = phx_flow_run_status(&p->run);
	return r;
}

int phx_flow_plan(const struct phx_flow *f, const struct phx_flow_plan_options *options,
		  struct phx_flow_plan *ret, struct phx_err *err)
{
	PHX_AUTO(planning_fini) struct planning p = {.f = f, .o = options};
	int r = init(&p);
	r = r < 0 ? r : check(&p, err);
	r = r < 0 ? r : follow(&p);
	if (r < 0)
		return phx_err_set(err, r, "%s",
				   r == -ENOMEM ? "out of memory"
						: "it ends too late to be counted");
	*ret = p.plan;
	p.plan = (struct phx_flow_plan){0};
	return 0;
}

void phx_flow_plan_fini(struct phx_flow_plan *p)
{
	free(p->tasks);
	*p = (struct phx_flow_plan){0};
}
