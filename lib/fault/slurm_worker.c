/* A fake of phxd's worker that asks an engine which is not ours (fake_slurm.c). It is one thread as
 * in phxd:
 *
 *   ask nodes ─▶ ask jobs ─▶ tell the head what changed ─▶ orders, one by one ─▶ ask …
 *
 * Answers come late, and orders are lost. Called by fault.c; decides nothing for the core. */
#include "fault/parts.h"

#include <stdio.h>
#include <string.h>

#include "job/job.h"

/* ---- the worker asks ---- */

static void tell_trouble(struct fault_sim *f)
{
	struct phx_event ev = {.kind = PHX_EV_re_queue};
	uint32_t gen = f->engine.gen;
	PHX_STR_SET(ev.re, phx_fault_engine_re_name);
	PHX_STR_SET(ev.text, "it does not answer");
	phx_fault_submit(f, &ev, NULL);
	if (gen != f->engine.gen) /* as in tell() */
		return;
	f->engine.troubled = true;
	phx_fault_engine_again(f, SECOND, FAULT_QUIET_MS, PHASE_NODES);
}

static void ask_nodes(struct fault_sim *f)
{
	struct fault_engine *e = &f->engine;
	if (!f->head.up || !phx_fault_engine_re(f)) {
		e->told = false;
		phx_fault_engine_again(f, SECOND, FAULT_QUIET_MS, PHASE_NODES);
		return;
	}
	if (!phx_fault_engine_answers(f)) {
		tell_trouble(f);
		return;
	}
	for (uint32_t i = 0; i < f->n; i++)
		f->m[i].engine_asked = f->m[i].engine_saved = f->m[i].engine_closed;
	e->asked_refuses = e->refuses;
	phx_fault_engine_again(f, 1, 2 * SECOND, PHASE_JOBS);
}

static void ask_jobs(struct fault_sim *f)
{
	if (!phx_fault_engine_answers(f)) {
		tell_trouble(f);
		return;
	}
	memcpy(f->engine.asked, f->engine.jobs, sizeof(f->engine.asked));
	phx_fault_engine_again(f, 1, phx_fault_chance(f, 50) ? 30 * SECOND : SECOND, PHASE_TELL);
}

/* ---- and tells ---- */

static void add_node(struct phx_list *list, const char *name, bool closed)
{
	struct phx_engine_node *n = phx_list_push(list, sizeof(*n));
	if (!n)
		return;
	phx_str_copy(n->name, sizeof(n->name), name);
	n->state = closed ? PHX_ENGINE_NODE_CLOSED : PHX_ENGINE_NODE_OPEN;
	n->ours = closed;
}

static void add_job(const struct fault_sim *f, struct phx_event_re_queue *p,
		    const struct fault_engine_job *j, bool gone)
{
	struct phx_engine_job *t = phx_list_push(&p->engine_jobs, sizeof(*t));
	if (!t)
		return;
	snprintf(t->id, sizeof(t->id), "%u", j->id);
	PHX_STR_SET(t->user, "nobody");
	t->nodes = j->nodes;
	t->restarts = j->restarts;
	t->no_requeue = j->no_requeue;
	t->submitted_ms = j->submitted;
	t->begin_ms = j->begin;
	t->state = gone ? PHX_ENGINE_JOB_DONE : j->begin ? PHX_ENGINE_JOB_HELD : j->state;
	for (uint32_t i = 0; !gone && phx_fault_engine_runs(j) && i < j->n_on; i++) {
		struct phx_engine_host *h = phx_list_push(&t->hosts, sizeof(*h));
		if (h)
			PHX_STR_SET(h->node, f->m[j->on[i]].node);
	}
	t->started_ms = t->hosts.n ? j->started : 0;
}

static void make_event(const struct fault_sim *f, struct phx_event_re_queue *p)
{
	const struct fault_engine *e = &f->engine;
	p->whole = !e->told;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct fault_machine *m = &f->m[i];
		if (p->whole || m->engine_news || m->engine_asked != m->engine_told ||
		    strcmp(m->engine_name, m->node))
			add_node(&p->engine_nodes, m->node, m->engine_asked);
	}
	if (p->whole || e->news || e->asked_refuses != e->told_refuses)
		add_node(&p->engine_partitions, "long", e->asked_refuses);
	for (uint32_t i = 0; i < FAULT_ENGINE_JOBS; i++) {
		const struct fault_engine_job *now = &e->asked[i], *old = &e->known[i];
		if (!p->whole && old->id && old->id != now->id)
			add_job(f, p, old, true);
		if (now->id && (p->whole || memcmp(now, old, sizeof(*now))))
			add_job(f, p, now, false);
	}
}

static void remember(struct fault_sim *f, bool told)
{
	struct fault_engine *e = &f->engine;
	e->told = told;
	memcpy(e->known, e->asked, sizeof(e->known));
	e->told_refuses = e->asked_refuses;
	e->news = false;
	for (uint32_t i = 0; i < f->n; i++) {
		f->m[i].engine_told = f->m[i].engine_asked;
		f->m[i].engine_news = false;
		PHX_STR_SET(f->m[i].engine_name, f->m[i].node);
	}
}

static void tell(struct fault_sim *f)
{
	struct fault_engine *e = &f->engine;
	struct phx_event ev = {.kind = PHX_EV_re_queue};
	struct phx_event_re_queue *p = &ev.re_queue;
	uint32_t gen = e->gen;
	int r = 0;
	PHX_STR_SET(ev.re, phx_fault_engine_re_name);
	make_event(f, p);
	if (p->whole || e->troubled || p->engine_jobs.n || p->engine_nodes.n ||
	    p->engine_partitions.n)
		r = phx_fault_submit(f, &ev, NULL);
	phx_event_fini(&ev);
	if (gen != e->gen) /* the head died meanwhile: the driver of the next one begins anew */
		return;
	remember(f, r == 0);
	e->troubled = e->troubled && r < 0;
	e->orders.n = e->obeyed = 0;
	if (f->head.up && r == 0 && phx_fault_engine_re(f))
		phx_engine_orders(f->head.s, phx_fault_engine_re_name, &e->orders);
	if (e->orders.n)
		phx_fault_engine_again(f, 1, SECOND, PHASE_OBEY);
	else
		phx_fault_engine_again(f, SECOND, FAULT_QUIET_MS, PHASE_NODES);
}

/* ---- and obeys ---- */

/* One order; it may be lost on its way, or its answer may. */
static void obey_next(struct fault_sim *f)
{
	struct fault_engine *e = &f->engine;
	if (e->obeyed >= e->orders.n) {
		phx_fault_violated(f, "worker", "two of the engine's workers are at work");
		return;
	}
	bool lost = !phx_fault_engine_answers(f) || (!f->calm && phx_fault_chance(f, 40));
	bool answer_lost = lost || (!f->calm && phx_fault_chance(f, 40));
	const struct phx_engine_order *o =
		PHX_LIST_AT(&e->orders, struct phx_engine_order, e->obeyed);
	struct fault_machine *m = phx_fault_machine(f, o->target);
	if (m && (o->kind == PHX_ENGINE_CLOSE || o->kind == PHX_ENGINE_OPEN))
		m->engine_news = true;
	e->news = e->news || o->kind == PHX_ENGINE_REFUSE || o->kind == PHX_ENGINE_ADMIT;
	if (!lost)
		phx_fault_engine_obey(f, o);
	e->obeyed++;
	if (!answer_lost && e->obeyed < e->orders.n)
		phx_fault_engine_again(f, 1, SECOND, PHASE_OBEY);
	else
		phx_fault_engine_again(f, 1, SECOND, PHASE_NODES);
}

void phx_fault_engine(struct fault_sim *f, uint32_t gen, uint64_t phase)
{
	if (phase != PHASE_LIVE && gen != f->engine.gen)
		return;
	switch ((enum fault_phase)phase) {
	case PHASE_LIVE:
		phx_fault_engine_live(f);
		return;
	case PHASE_NODES:
		ask_nodes(f);
		return;
	case PHASE_JOBS:
		ask_jobs(f);
		return;
	case PHASE_TELL:
		tell(f);
		return;
	case PHASE_OBEY:
		obey_next(f);
		return;
	}
}
