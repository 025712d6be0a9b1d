/* A fake of Slurm, the engine of one batch RE under faults (options: external). Jobs that fit start
 * on its open nodes where a service of the RE runs; a job whose machine falls away is queued again.
 * It is silent for a while and, when it starts anew, has forgotten what it was told since it was
 * last asked.
 *
 * What must hold: no node is taken from under a job, or while more could start there; no job runs
 * twice at once; what waits for the engine goes on when it answers; a job that was killed for the
 * head starts again soon; in the end the nodes that serve the RE are open, and no others. Called by
 * slurm_worker.c, which asks it for the head, by agents and by loads. */
#include "fault/parts.h"

#include <string.h>

enum {
	/* a job that was queued again is not started before, unless it is expedited */
	BEGIN_MS = HOUR,
	PATIENCE_MS = 20 * MINUTE, /* for what must go on when all is well */
};

const char *const phx_fault_engine_re_name = "queue";

const struct phx_re *phx_fault_engine_re(const struct fault_sim *f)
{
	const struct phx_re *re = phx_state_re(f->head.s, phx_fault_engine_re_name);
	return re && re->attached ? re : NULL;
}

bool phx_fault_engine_answers(struct fault_sim *f)
{
	return f->now >= f->engine.silent_until;
}

void phx_fault_engine_again(struct fault_sim *f, int64_t low_ms, int64_t high_ms,
			    enum fault_phase phase)
{
	phx_fault_later(f, phx_fault_between(f, low_ms, high_ms), WHAT_ENGINE, 0, f->engine.gen,
			phase);
}

/* ---- what is true ---- */

/* Its service answers there. */
static bool has_service(const struct fault_machine *m)
{
	return phx_fault_env(m) == PHX_ENV_OS && m->serves && m->serves_pool >= 0 &&
		!strcmp(phx_fault_pool_names[m->serves_pool], phx_fault_engine_re_name);
}

bool phx_fault_engine_runs(const struct fault_engine_job *j)
{
	return j->state == PHX_ENGINE_JOB_RUNNING || j->state == PHX_ENGINE_JOB_ENDING;
}

/* A process of the job lives on the machine. */
static bool lives_on(const struct fault_engine_job *j, const struct fault_machine *m)
{
	for (uint32_t i = 0; j->id && phx_fault_engine_runs(j) && i < j->n_on; i++)
		if (j->on[i] == m->i)
			return j->on_gen[i] == m->gen && has_service(m);
	return false;
}

static bool is_busy(const struct fault_sim *f, const struct fault_machine *m)
{
	for (uint32_t i = 0; i < FAULT_ENGINE_JOBS; i++) {
		const struct fault_engine_job *j = &f->engine.jobs[i];
		for (uint32_t k = 0; j->id && phx_fault_engine_runs(j) && k < j->n_on; k++)
			if (j->on[k] == m->i)
				return true;
	}
	return false;
}

/* ---- the engine lives ---- */

void phx_fault_engine_submit(struct fault_sim *f, uint32_t nodes)
{
	struct fault_engine *e = &f->engine;
	for (uint32_t i = 0; i < FAULT_ENGINE_JOBS && !e->refuses; i++) {
		if (e->jobs[i].id)
			continue;
		e->jobs[i] = (struct fault_engine_job){.id = ++e->last_id,
						       .nodes = nodes,
						       .state = PHX_ENGINE_JOB_WAITING,
						       .no_requeue = phx_fault_chance(f, 100),
						       .submitted = f->now};
		return;
	}
}

static void queue_again(struct fault_sim *f, struct fault_engine_job *j)
{
	if (j->cancelled || j->no_requeue) {
		*j = (struct fault_engine_job){0};
		return;
	}
	j->state = PHX_ENGINE_JOB_WAITING;
	j->n_on = 0;
	j->restarts++;
	j->since = f->now;
	j->begin = j->for_head ? f->now + BEGIN_MS : 0;
}

/* Its processes are killed, which takes a while. */
static void end_run(struct fault_sim *f, struct fault_engine_job *j, bool for_head)
{
	j->state = PHX_ENGINE_JOB_ENDING;
	j->for_head = for_head;
	j->ends = f->now + phx_fault_between(f, 0, 20 * SECOND);
}

static void start(struct fault_sim *f, struct fault_engine_job *j)
{
	uint16_t on[FAULT_ENGINE_HOSTS];
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->n && n < j->nodes; i++)
		if (!f->m[i].engine_closed && has_service(&f->m[i]) && !is_busy(f, &f->m[i]))
			on[n++] = (uint16_t)i;
	if (n < j->nodes)
		return;
	for (uint32_t i = 0; i < f->n; i++)
		if (lives_on(j, &f->m[i]))
			phx_fault_violated(f, "twice",
					   "job %u of the engine starts and still runs on %s",
					   j->id, f->m[i].node);
	for (uint32_t i = 0; i < n; i++) {
		j->on[i] = on[i];
		j->on_gen[i] = f->m[on[i]].gen;
	}
	j->n_on = n;
	j->state = PHX_ENGINE_JOB_RUNNING;
	j->started = f->now;
	j->begin = 0;
	j->for_head = false;
	j->ends = f->now + phx_fault_between(f, MINUTE, 40 * MINUTE);
}

static bool lost_a_node(const struct fault_sim *f, const struct fault_engine_job *j)
{
	for (uint32_t i = 0; i < j->n_on; i++)
		if (!lives_on(j, &f->m[j->on[i]]))
			return true;
	return false;
}

static void live_job(struct fault_sim *f, struct fault_engine_job *j)
{
	if (j->state == PHX_ENGINE_JOB_WAITING && j->begin <= f->now)
		start(f, j);
	else if (j->state == PHX_ENGINE_JOB_ENDING && j->ends <= f->now)
		queue_again(f, j);
	else if (j->state == PHX_ENGINE_JOB_RUNNING && lost_a_node(f, j))
		end_run(f, j, false);
	else if (j->state == PHX_ENGINE_JOB_RUNNING && j->ends <= f->now)
		*j = (struct fault_engine_job){0};
}

/* What it was told since it was asked last was not written down yet. */
static void starts_anew(struct fault_sim *f)
{
	phx_fault_note(f, -1, "the engine starts anew");
	for (uint32_t i = 0; i < f->n; i++)
		f->m[i].engine_closed = f->m[i].engine_saved;
	f->engine.refuses = false; /* as it is configured */
}

static void have_trouble(struct fault_sim *f)
{
	struct fault_engine *e = &f->engine;
	if (f->calm || f->now < e->silent_until || !phx_fault_chance(f, 8))
		return;
	e->silent_until = f->now +
		phx_fault_between(f, SECOND, phx_fault_chance(f, 200) ? 20 * MINUTE : MINUTE);
	phx_fault_note(f, -1, "the engine is silent for %lld ms",
		       (long long)(e->silent_until - f->now));
	e->starts_anew = phx_fault_chance(f, 500);
}

/* ---- what must hold of it ---- */

/* A job that is to be let run to its end, or to that of its grace, takes the time it takes. */
static bool waits_for_job(const struct fault_sim *f, const struct fault_machine *m,
			  const struct phx_node *n)
{
	return n->plan.waits && n->plan.kill_at_ms > f->now && is_busy(f, m);
}

static bool waits_for_it(const struct fault_sim *f, const struct fault_machine *m)
{
	const struct phx_node *n = phx_fault_node(f, m);
	const struct phx_step *step = n ? phx_node_step(n) : NULL;
	/* one that is not heard waits for itself */
	return step && n->up && step->kind == PHX_STEP_drain && step->status == PHX_STEP_PENDING &&
		!strcmp(n->pool, phx_fault_engine_re_name) && !waits_for_job(f, m, n);
}

static int64_t latest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Nothing waits for ever while both answer. */
static void check_progress(struct fault_sim *f)
{
	struct fault_engine *e = &f->engine;
	if (!f->head.up || f->head.readonly || f->now < e->silent_until || !phx_fault_engine_re(f))
		e->well_since = f->now;
	for (uint32_t i = 0; i < f->n; i++) {
		struct fault_machine *m = &f->m[i];
		if (!waits_for_it(f, m))
			m->engine_waits = 0;
		else if (!m->engine_waits)
			m->engine_waits = f->now;
		else if (f->now - latest(m->engine_waits, e->well_since) > PATIENCE_MS)
			phx_fault_violated(f, "reclaim", "%s waits for an engine that answers",
					   m->node);
	}
	for (uint32_t i = 0; i < FAULT_ENGINE_JOBS; i++) {
		struct fault_engine_job *j = &e->jobs[i];
		if (!phx_fault_engine_re(
			    f)) /* of a deactivated RE: its own again, as long as it may wait */
			j->begin = 0;
		if (j->id && j->begin > f->now &&
		    f->now - latest(j->since, e->well_since) > PATIENCE_MS)
			phx_fault_violated(f, "expedite",
					   "job %u was killed for the head and waits for its time",
					   j->id);
	}
}

void phx_fault_engine_taken(struct fault_sim *f, const struct fault_machine *m,
			    const struct fault_task *t)
{
	const struct phx_node *n = phx_fault_node(f, m);
	const struct phx_step *step = n ? phx_node_step(n) : NULL;
	if (!f->o.external || t->kind != PHX_STEP_drain || !step || step->id != t->id ||
	    !has_service(m) || strcmp(n->pool, phx_fault_engine_re_name))
		return;
	if (is_busy(f, m))
		phx_fault_violated(f, "under", "%s is taken from under a job of the engine",
				   m->node);
	else if (!m->engine_closed)
		phx_fault_violated(f, "under", "%s is taken, and the engine may start jobs there",
				   m->node);
}

void phx_fault_engine_started(struct fault_sim *f, const struct fault_machine *m)
{
	if (f->o.external && has_service(m))
		phx_fault_violated(f, "under", "%s is the engine's, and is told to start a job",
				   m->node);
}

void phx_fault_engine_check_rest(struct fault_sim *f)
{
	const struct phx_re *re = f->o.external ? phx_fault_engine_re(f) : NULL;
	if (!re)
		return;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct fault_machine *m = &f->m[i];
		const struct phx_node *n = phx_fault_node(f, m);
		bool serves = n && n->state == PHX_NODE_ACTIVE && n->up &&
			n->allocation == PHX_ALLOCATION_HELD &&
			!strcmp(n->allocated_to, phx_fault_engine_re_name);
		if (n && serves == m->engine_closed &&
		    !(n->pinned && !strcmp(n->pool, phx_fault_engine_re_name)))
			phx_fault_violated(f, "rest",
					   "%s is %s, and the engine %s start jobs there", m->node,
					   serves ? "the RE's" : "not the RE's",
					   m->engine_closed ? "may not" : "may");
	}
	if (f->engine.refuses != (re->state == PHX_RE_STATE_SUSPENDED))
		phx_fault_violated(f, "rest", "RE %s is %s, and its engine %s new jobs",
				   phx_fault_engine_re_name,
				   phx_enum_name(&phx_re_state_names, re->state),
				   f->engine.refuses ? "refuses" : "takes");
}

/* ---- what it is told ---- */

static struct fault_engine_job *job_named(struct fault_sim *f, const char *id)
{
	uint64_t n;
	for (uint32_t i = 0; phx_u64_parse(id, 1, UINT32_MAX, &n) == 0 && i < FAULT_ENGINE_JOBS;
	     i++)
		if (f->engine.jobs[i].id == n)
			return &f->engine.jobs[i];
	return NULL;
}

void phx_fault_engine_obey(struct fault_sim *f, const struct phx_engine_order *o)
{
	struct fault_machine *m = phx_fault_machine(f, o->target);
	struct fault_engine_job *j = job_named(f, o->target);
	switch ((enum phx_engine_act)o->kind) {
	case PHX_ENGINE_CLOSE:
	case PHX_ENGINE_OPEN:
		if (m)
			m->engine_closed = o->kind == PHX_ENGINE_CLOSE;
		return;
	case PHX_ENGINE_REQUEUE:
	case PHX_ENGINE_CANCEL:
		if (!j || j->state != PHX_ENGINE_JOB_RUNNING)
			return;
		j->cancelled = o->kind == PHX_ENGINE_CANCEL;
		end_run(f, j, true);
		return;
	case PHX_ENGINE_EXPEDITE:
		if (j && j->state == PHX_ENGINE_JOB_WAITING)
			j->begin = 0;
		return;
	case PHX_ENGINE_REFUSE:
	case PHX_ENGINE_ADMIT:
		f->engine.refuses = o->kind == PHX_ENGINE_REFUSE;
		return;
	}
}

void phx_fault_engine_head_died(struct fault_sim *f)
{
	struct fault_engine *e = &f->engine;
	if (!f->o.external)
		return;
	/* a command that was under way ends all the same, or never began */
	if (e->obeyed < e->orders.n && phx_fault_chance(f, 500))
		phx_fault_engine_obey(f,
				      PHX_LIST_AT(&e->orders, struct phx_engine_order, e->obeyed));
	e->orders.n = e->obeyed = 0;
	e->told = false;
	e->gen++;
	phx_fault_engine_again(f, SECOND, FAULT_QUIET_MS, PHASE_NODES);
}

void phx_fault_engine_calm(struct fault_sim *f)
{
	f->engine.silent_until = 0;
	for (uint32_t i = 0; i < FAULT_ENGINE_JOBS; i++) {
		struct fault_engine_job *j = &f->engine.jobs[i];
		j->cancelled = true;
		if (j->id && j->state == PHX_ENGINE_JOB_WAITING)
			*j = (struct fault_engine_job){0};
		else if (j->id && j->state == PHX_ENGINE_JOB_RUNNING)
			end_run(f, j, false);
	}
}

/* ---- time ---- */

void phx_fault_engine_live(struct fault_sim *f)
{
	struct fault_engine *e = &f->engine;
	phx_fault_later(f, phx_fault_between(f, SECOND, 10 * SECOND), WHAT_ENGINE, 0, 0,
			PHASE_LIVE);
	have_trouble(f);
	check_progress(f);
	if (!phx_fault_engine_answers(f))
		return;
	if (e->starts_anew)
		starts_anew(f);
	e->starts_anew = false;
	for (uint32_t i = 0; i < FAULT_ENGINE_JOBS; i++)
		if (e->jobs[i].id)
			live_job(f, &e->jobs[i]);
}

void phx_fault_engine_begin(struct fault_sim *f)
{
	if (!f->o.external)
		return;
	for (uint32_t i = 0; i < f->n; i++)
		f->m[i].engine_closed = f->m[i].engine_saved = phx_fault_chance(f, 500);
	phx_fault_later(f, SECOND, WHAT_ENGINE, 0, 0, PHASE_LIVE);
	phx_fault_engine_again(f, SECOND, FAULT_QUIET_MS, PHASE_NODES);
}
