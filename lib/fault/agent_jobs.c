/* Parts of jobs on machines: agents decide as the real one does (agent/job_book.h) which orders of
 * jobs they follow, what they write down of a run, and what they forget. Called by the network, by
 * steps and by time. */
#include "fault/parts.h"

#include <string.h>

enum { STATUS_ENDED = 137, STATUS_GAVE_WAY = 143, AGAIN_MS = 5 * SECOND };

/* Its keeper writes how it ended, and the agent tells. */
static void end_part(struct fault_sim *f, struct fault_machine *m, struct fault_part *part,
		     int status)
{
	struct fault_job_log log = {m, 0};
	const struct job_book book = phx_fault_job_book(&log);
	struct job_run run = {FAULT_RUN_JOB(part->job), FAULT_RUN_RUN(part->job)};
	book.write_end(book.arg, run, status, NULL);
	phx_fault_send_job(f, m, run, status);
	part->job = 0;
}

void phx_fault_jobs_drain(struct fault_sim *f, struct fault_machine *m)
{
	for (int i = 0; i < FAULT_PARTS; i++)
		if (m->parts[i].job)
			end_part(f, m, &m->parts[i], STATUS_ENDED);
}

/* ---- orders of jobs ---- */

/* It runs here no more. */
static void end_run(struct fault_sim *f, struct fault_machine *m, struct job_run run, int status)
{
	for (int i = 0; i < FAULT_PARTS; i++)
		if (m->parts[i].job == FAULT_RUN(run.id, run.run))
			end_part(f, m, &m->parts[i], status);
}

static struct fault_part *free_part(struct fault_machine *m)
{
	for (int i = 0; i < FAULT_PARTS; i++)
		if (!m->parts[i].job)
			return &m->parts[i];
	return NULL;
}

/* An older run of the job has ended: what is written of that goes. */
static void forget_older(struct fault_machine *m, uint64_t job)
{
	struct fault_run *r = phx_fault_find_run(phx_fault_memory(m), job);
	r->has_end = false;
}

static void start_run(struct fault_sim *f, struct fault_machine *m, const struct job_book *book,
		      const struct job_order *o)
{
	struct fault_part *part = m->serves ? free_part(m) : NULL;
	if (job_book_begin(book, o->run, 0, o->submitted_ms, NULL) < 0 || !part) {
		phx_fault_refuse_job(f, m, o->run);
		return;
	}
	phx_fault_engine_started(f, m);
	phx_fault_check_starts(f, m, o);
	part->job = FAULT_RUN(o->run.id, o->run.run);
	phx_fault_later(f, phx_fault_between(f, SECOND, 40 * MINUTE), WHAT_JOB_END, m->i, m->gen,
			part->job);
}

/* What is written of its end. */
static void tell(struct fault_sim *f, struct fault_machine *m, struct job_run run)
{
	const struct fault_run *r = phx_fault_find_run(phx_fault_memory(m), run.id);
	if (!phx_fault_tracks(m, run))
		phx_fault_send_job(f, m, run, phx_fault_run_status(r));
}

void phx_fault_take_job(struct fault_sim *f, struct fault_machine *m, const struct job_order *o)
{
	struct fault_job_log log = {m, phx_fault_unwritten(f, m)};
	const struct job_book book = phx_fault_job_book(&log);
	struct job_order order = *o;
	struct job_known known;
	order.tracked = phx_fault_tracks(m, o->run);
	switch ((enum decide_job_act)job_book_order(&book, &order, &known)) {
	case DECIDE_JOB_START:
		if (known.older)
			forget_older(m, o->run.id);
		start_run(f, m, &book, o);
		return;
	case DECIDE_JOB_BAR:
		if (job_book_bar(&book, o->run, NULL) < 0)
			break;
		tell(f, m, o->run);
		return;
	case DECIDE_JOB_TELL:
		tell(f, m, o->run);
		return;
	case DECIDE_JOB_END:
		end_run(f, m, o->run, STATUS_ENDED);
		return;
	case DECIDE_JOB_MAKE_WAY:
		end_run(f, m, JOB_RECORD_RUN(&known.rec), STATUS_GAVE_WAY);
		break;
	case DECIDE_JOB_AWAIT:
		break;
	case DECIDE_JOB_REFUSE:
		return;
	}
	phx_fault_later(f, AGAIN_MS, WHAT_ORDERS, m->i, m->gen, 0); /* the order comes again */
}

void phx_fault_job_reported(struct fault_sim *f, struct fault_machine *m, struct job_run run)
{
	struct fault_job_log log = {m, phx_fault_unwritten(f, m)};
	const struct job_book book = phx_fault_job_book(&log);
	job_book_reported(&book, run, NULL);
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
