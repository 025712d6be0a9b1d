/* One job: its state, the counts that follow from it, its title, who ended it and why. All files
 * that start or end jobs (parts.c, silence.c, external.c, node/order_jobs.c, re/life.c) change jobs
 * through this file, which calls none of them. Pure. */
#include "job/internal.h"
#include "state/crew.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* From the last grace of a run that was told to end until its agents have reported its end. */
enum { REPORTED_MS = 60 * 1000 };

struct phx_job_title phx_job_title(const struct phx_job *j)
{
	struct phx_job_title t;
	if (j->engine_id[0])
		snprintf(t.text, sizeof(t.text), "%s", j->engine_id);
	else
		snprintf(t.text, sizeof(t.text), "%llu", (unsigned long long)j->id);
	return t;
}

void phx_job_why(struct phx_apply *a, struct phx_job *j, const char *fmt, ...)
{
	char text[320];
	va_list args;
	if (j->why)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	phx_utf8_repair(text);
	j->why = strdup(text);
	phx_stick(a, j->why ? 0 : -ENOMEM);
}

void phx_job_blame(struct phx_apply *a, struct phx_job *j, const char *by, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(j->killed_why, sizeof(j->killed_why), fmt, ap);
	va_end(ap);
	phx_str_copy(j->killed_by, sizeof(j->killed_by), by[0] ? by : "phxd");
	j->killed_ms = a->s->now_ms;
}

struct phx_batch_job phx_job_in_queue(const struct phx_job *j)
{
	return (struct phx_batch_job){.id = j->id,
				      .submit_ms = j->submitted_ms,
				      .estimate_ms = j->estimate_ms ? j->estimate_ms : -1,
				      .size = j->nodes,
				      .no_requeue = j->no_requeue,
				      .state = PHX_BATCH_WAITING};
}

int phx_job_hold_back(struct phx_apply *a, struct phx_job *j, bool held, bool throttled)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	bool back = held || throttled;
	int r = 0;
	if (re && re->active && !j->kept && back != (j->held || j->throttled))
		r = phx_ledger_job_hold(a->s->ledger, (int)re->number, j->id, back, a->s->now_ms,
					a->todo);
	if (r < 0)
		return r;
	phx_index_job(a->s, j, false);
	j->held = held;
	j->throttled = throttled;
	phx_index_job(a->s, j, true);
	return 0;
}

/* A member of an array has ended: the next throttled member may start. */
static void member_ended(struct phx_apply *a, const struct phx_job *j)
{
	struct phx_job *first = phx_state_job(a->s, j->array);
	if (!first)
		return;
	phx_index_job(a->s, first, false); /* its tallied size depends on array_open */
	first->array_open -= first->array_open > 0;
	phx_index_job(a->s, first, true);
	while (!j->throttled && first->array_next < first->array_n) {
		struct phx_job *next = phx_state_job(a->s, first->id + first->array_next++);
		if (next && next->throttled && phx_job_is_open(next)) {
			phx_job_hold_back(a, next, next->held, false);
			return;
		}
	}
}

bool phx_job_state_may(enum phx_job_state from, enum phx_job_state to)
{
	static const struct {
		enum phx_job_state from, to;
	} rows[] = {
#define JOB_LIFE(from, to) {PHX_JOB_##from, PHX_JOB_##to},
#include "job/job_life.def"
#undef JOB_LIFE
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (rows[i].from == from && rows[i].to == to)
			return true;
	return false;
}

void phx_job_become(struct phx_apply *a, struct phx_job *j, enum phx_job_state state)
{
	if (!phx_job_state_may((enum phx_job_state)j->state, state)) {
		phx_stick_never(a, NULL, "job %s cannot become %s: it is %s", phx_job_title(j).text,
				phx_enum_name(&phx_job_state_names, (int)state),
				phx_enum_name(&phx_job_state_names, j->state));
		return;
	}
	phx_index_job(a->s, j, false);
	bool ends = j->array && phx_job_is_open(j);
	j->state = (int)state;
	j->kept = j->kept && phx_job_is_open(j);
	if (state == PHX_JOB_QUEUED && !phx_job_ends_for_good(j))
		j->end = PHX_JOB_END_NONE;
	phx_index_job(a->s, j, true);
	if (ends && !phx_job_is_open(j))
		member_ended(a, j);
}

bool phx_job_end_for(struct phx_apply *a, struct phx_job *j, enum phx_job_end why)
{
	if ((int)why <= j->end)
		return false;
	j->end = (int)why;
	a->out->changed = true;
	return true;
}

bool phx_job_end_early(struct phx_apply *a, struct phx_job *j, enum phx_job_end why)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	if (!phx_job_end_for(a, j, why))
		return false;
	if (!re || !re->active)
		return true;
	if (phx_job_ends_for_good(j))
		phx_ledger_job_cancel(a->s->ledger, (int)re->number, j->id, a->s->now_ms, a->todo);
	else
		phx_ledger_lost_busy(a->s->ledger, (int)re->number, j->id, 0, a->s->now_ms,
				     a->todo);
	return true;
}

void phx_job_tell(struct phx_apply *a, const struct phx_job *j)
{
	if (j->engine_id[0])
		return;
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		struct phx_node *n = phx_state_node(a->s, p->node);
		if (p->ended || !n)
			continue;
		phx_act(a, PHX_ACT_ORDER, n);
		phx_crew_look(a->s, n);
	}
}

void phx_job_left_nodes(struct phx_apply *a, const struct phx_job *j)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts) {
		struct phx_node *n = phx_state_node(a->s, p->node);
		if (!n || n->allocated_job != j->id)
			continue;
		n->allocated_job = 0;
		phx_touch(a->s, n);
	}
}

int64_t phx_job_ends_within_ms(const struct phx_job *j)
{
	return (int64_t)j->checkpoint_ms + j->grace_ms + REPORTED_MS;
}

void phx_job_await_end(struct phx_apply *a, struct phx_job *j)
{
	if (!a->s->settings.takes_unheard || j->engine_id[0] || j->unheard_ms)
		return;
	j->unheard_ms = a->s->now_ms + phx_job_ends_within_ms(j);
	phx_index_job_due(a->s, j);
}
