/* Tasks of several nodes. Each of the first of an RE that are ready has a worker asked for of as
 * many nodes, which is to the ledger a job of that many; when the worker starts, it has the first
 * task of its size, on all its nodes, alone. Where no smaller task of an earlier run is ready, it
 * comes before the workers of one node, which are let go, those with the least to do first, as far
 * as nodes are missing:
 *
 *   task is ready ──ask──▶ worker queued ──ledger──▶ running ──give──▶ task on all its nodes
 *                             │                        ▲                 │ all have answered
 *                             └──task gone──▶ cancelled└─────────────────┘
 *
 * Called by workers.c. Pure. */
#include "job/internal.h"
#include "state/crew.h"

#include <errno.h>
#include <string.h>

/* Tasks of an RE that are looked at, and so its workers of several nodes that wait. */
enum { WIDE_MAX = 16 };

/* ---- workers ---- */

void phx_worker_ask(struct phx_apply *a, const struct phx_re *re, uint32_t nodes)
{
	struct phx_job *j = phx_grow(a, &a->s->jobs, sizeof(*j));
	if (!j)
		return;
	j->id = a->s->last_job_id + 1;
	j->nodes = nodes;
	j->worker = j->no_requeue = true;
	PHX_STR_SET(j->re, re->name);
	j->grace_ms = re->agreement.kill_grace_s * 1000;
	j->submitted_ms = a->s->now_ms;
	const struct phx_batch_job b = phx_job_in_queue(j);
	if (phx_stick(a,
		      phx_ledger_submit(a->s->ledger, (int)re->number, &b, a->s->now_ms, a->todo,
					NULL)) < 0) {
		a->s->jobs.n--;
		return;
	}
	a->s->last_job_id++;
	phx_index_job(a->s, j, true);
	if (phx_job_is_wide(j))
		phx_crew_wide(a->s, j);
	a->out->changed = true;
}

void phx_worker_take_back(struct phx_apply *a, const struct phx_re *re, struct phx_job *j)
{
	phx_ledger_job_cancel(a->s->ledger, (int)re->number, j->id, a->s->now_ms, a->todo);
	phx_job_become(a, j, PHX_JOB_CANCELLED);
	j->ended_ms = a->s->now_ms;
	a->out->changed = true;
}

/* ---- giving ---- */

/* May the worker be given a task now? */
static bool takes(const struct phx_state *s, const struct phx_job *j)
{
	if (j->state != PHX_JOB_RUNNING || j->run || j->broken || phx_job_is_told(j))
		return false;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		const struct phx_node *n = phx_state_node(s, p->node);
		if (!n || p->ended || !n->up || n->env != PHX_ENV_OS || phx_node_step(n))
			return false;
	}
	return true;
}

/* The run's first ready task of so many nodes, among the first few. */
static uint32_t find(const struct phx_flowrun *w, uint32_t nodes)
{
	uint32_t i = phx_flow_run_next_wide(&w->live->run);
	for (unsigned n = 0; i != PHX_FLOW_NONE && n < WIDE_MAX; n++) {
		if (w->live->flow.tasks[i].nodes == nodes)
			return i;
		i = w->live->run.tasks[i].next;
	}
	return PHX_FLOW_NONE;
}

static void give(struct phx_apply *a, const struct phx_crew_re *c, struct phx_job *j)
{
	PHX_LIST_EACH(uint64_t, id, &c->runs) {
		struct phx_flowrun *w = phx_state_flowrun(a->s, *id);
		uint32_t task = w && w->live ? find(w, j->nodes) : PHX_FLOW_NONE;
		if (task == PHX_FLOW_NONE)
			continue;
		phx_given_begin_wide(a, w, task, j);
		return;
	}
}

void phx_wide_give(struct phx_apply *a, struct phx_crew_re *c)
{
	phx_crew_sweep_wide(a->s, c);
	PHX_LIST_EACH(uint64_t, id, &c->wide) {
		struct phx_job *j = phx_state_job(a->s, *id);
		if (j && takes(a->s, j))
			give(a, c, j);
	}
}

/* ---- asking ---- */

/* Sizes of tasks, each with the worker that waits for it; id 0: there is none yet. `turn`: no
 * smaller task of an earlier run is ready. */
struct wishes {
	struct {
		uint32_t nodes;
		uint64_t id;
		bool turn;
	} of[WIDE_MAX];
	uint32_t n;
};

static void wishes_of(const struct phx_state *s, const struct phx_crew_re *c, uint32_t widest,
		      struct wishes *ret)
{
	bool turn = true;
	PHX_LIST_EACH(uint64_t, id, &c->runs) {
		const struct phx_flowrun *w = phx_state_flowrun(s, *id);
		if (!w || !w->live)
			continue;
		const struct phx_flow_run *run = &w->live->run;
		uint32_t i = phx_flow_run_next_wide(run);
		for (; i != PHX_FLOW_NONE && ret->n < WIDE_MAX; i = run->tasks[i].next) {
			uint32_t nodes = w->live->flow.tasks[i].nodes;
			if (nodes > widest)
				continue;
			ret->of[ret->n].nodes = nodes;
			ret->of[ret->n++].turn = turn;
		}
		turn = turn && phx_flow_run_next(run) == PHX_FLOW_NONE;
	}
}

/* The worker is for the first wish of its size that has none; false: nobody needs it. */
static bool match(struct wishes *w, const struct phx_job *j)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (!w->of[i].id && w->of[i].nodes == j->nodes) {
			w->of[i].id = j->id;
			return true;
		}
	return false;
}

/* The nodes that the first worker whose turn it is lacks are taken from workers of one node. */
static void let_go(struct phx_apply *a, const struct phx_re *re, struct phx_crew_re *c,
		   uint32_t nodes)
{
	PHX_AUTO(phx_list_fini) struct phx_list least = {0};
	struct phx_ledger_counts counts;
	phx_ledger_counts(a->s->ledger, (int)re->number, &counts);
	uint32_t come = counts.batch.idle + c->n_leaving, missing = nodes > come ? nodes - come : 0;
	if (!missing || !c->n_nodes || phx_stick(a, phx_crew_least(a->s, c, &least)) < 0)
		return;
	for (uint32_t i = 0; i < least.n && i < missing; i++) {
		const struct phx_node *n =
			phx_state_node_numbered(a->s, *PHX_LIST_AT(&least, uint32_t, i));
		const struct phx_crew_node *at = n ? phx_crew_node(a->s, n) : NULL;
		struct phx_job *j = at ? phx_state_job(a->s, at->job) : NULL;
		if (!j)
			continue;
		j->leaves = true;
		phx_crew_let_go(a->s, n);
		if (!at->given.n)
			phx_worker_end(a, j, 0);
		a->out->changed = true;
	}
}

bool phx_wide_ask(struct phx_apply *a, const struct phx_re *re, struct phx_crew_re *c,
		  uint32_t *ret_n)
{
	struct wishes w = {0};
	struct phx_ledger_counts counts;
	uint32_t first = 0;
	uint64_t nodes = 0;
	wishes_of(a->s, c, phx_ledger_widest(a->s->ledger, (int)re->number), &w);
	PHX_LIST_EACH(uint64_t, id, &c->wide) {
		struct phx_job *j = phx_state_job(a->s, *id);
		if (!j || j->state != PHX_JOB_QUEUED)
			continue;
		if (!match(&w, j))
			phx_worker_take_back(a, re, j);
	}
	for (uint32_t i = 0; i < w.n && !a->out->error; i++) {
		if (!w.of[i].id)
			phx_worker_ask(a, re, w.of[i].nodes);
		if (!w.of[i].turn)
			continue;
		first = first ? first : w.of[i].nodes;
		nodes += w.of[i].nodes;
	}
	if (first)
		let_go(a, re, c, first);
	phx_ledger_counts(a->s->ledger, (int)re->number, &counts);
	*ret_n = w.n;
	return nodes > counts.batch.idle;
}
