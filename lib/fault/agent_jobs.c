/* Parts of jobs on machines: agents decide as the real one does (agent/decide.h) which orders of
 * jobs they follow. Called by the network, by steps and by time. */
#include "fault/parts.h"

#include <string.h>

static void end_part(struct fault_sim *f, struct fault_machine *m, struct fault_part *part,
		     int64_t status)
{
	struct fault_run *r = phx_fault_find_run(phx_fault_memory(m), FAULT_RUN_JOB(part->job));
	if (r && r->run == FAULT_RUN_RUN(part->job)) {
		r->ended = true;
		r->status = status;
	}
	phx_fault_send_job(f, m, part->job, status);
	part->job = 0;
}

void phx_fault_jobs_drain(struct fault_sim *f, struct fault_machine *m)
{
	for (int i = 0; i < FAULT_PARTS; i++)
		if (m->parts[i].job)
			end_part(f, m, &m->parts[i], 137);
}

/* ---- orders of jobs ---- */

/* It runs here no more. */
static void end_run(struct fault_sim *f, struct fault_machine *m, struct fault_run *r,
		    int64_t status)
{
	for (int i = 0; i < FAULT_PARTS; i++)
		if (m->parts[i].job == FAULT_RUN(r->job, r->run))
			end_part(f, m, &m->parts[i], status);
}

static struct fault_part *free_part(struct fault_machine *m)
{
	for (int i = 0; i < FAULT_PARTS; i++)
		if (!m->parts[i].job)
			return &m->parts[i];
	return NULL;
}

static void start_run(struct fault_sim *f, struct fault_machine *m, const struct phx_order *o)
{
	struct fault_part *part = m->serves ? free_part(m) : NULL;
	if (!part) {
		phx_fault_send_job(f, m, FAULT_RUN(o->id, o->run), 126);
		return;
	}
	phx_fault_put_run(phx_fault_memory(m), o);
	phx_fault_engine_started(f, m);
	phx_fault_check_starts(f, m, o);
	part->job = FAULT_RUN(o->id, o->run);
	phx_fault_later(f, phx_fault_between(f, SECOND, 40 * MINUTE), WHAT_JOB_END, m->i, m->gen,
			part->job);
}

/* It never ran, and never will. */
static void bar_run(struct fault_sim *f, struct fault_machine *m, const struct phx_order *o)
{
	struct fault_run *r = phx_fault_put_run(phx_fault_memory(m), o);
	r->ended = true;
	r->status = 143;
	phx_fault_send_job(f, m, FAULT_RUN(o->id, o->run), r->status);
}

void phx_fault_take_job(struct fault_sim *f, struct fault_machine *m, const struct phx_order *o)
{
	bool kill = o->kind == PHX_ORDER_kill;
	struct fault_run *r = phx_fault_find_run(phx_fault_memory(m), o->id);
	struct decide_run known = {r ? r->run : 0, r ? r->submitted_ms : 0};
	struct decide_run wanted = {o->run, kill ? 0 : o->job.submitted_ms};
	switch (decide_job_order(decide_job(r ? &known : NULL, &wanted), r && !r->ended, kill)) {
	case DECIDE_JOB_START:
		start_run(f, m, o);
		return;
	case DECIDE_JOB_BAR:
		bar_run(f, m, o);
		return;
	case DECIDE_JOB_TELL:
		if (r->ended)
			phx_fault_send_job(f, m, FAULT_RUN(o->id, o->run), r->status);
		return;
	case DECIDE_JOB_END:
		end_run(f, m, r, 137);
		return;
	case DECIDE_JOB_MAKE_WAY:
		end_run(f, m, r, 143);
		break;
	case DECIDE_JOB_AWAIT:
		break;
	case DECIDE_JOB_REFUSE:
		return;
	}
	phx_fault_later(f, 5 * SECOND, WHAT_ORDERS, m->i, m->gen, 0); /* the order comes again */
}

void phx_fault_job_end(struct fault_sim *f, struct fault_machine *m, uint64_t job)
{
	for (int i = 0; i < FAULT_PARTS; i++) {
		if (m->parts[i].job != job)
			continue;
		f->ret->jobs++;
		end_part(f, m, &m->parts[i], phx_fault_chance(f, 950) ? 0 : 1);
		return;
	}
}
