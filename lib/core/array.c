/* Arrays: jobs that differ in their index alone. Each member is a job of its own,
 * with a number of its own, the numbers in a row; the first one has the words,
 * the script, the environment and the files of all. Where no more than so many
 * may run at a time, the others are throttled: queued, and held back in the
 * ledger, until one ends. Pure. */
#include "core/internal.h"

#include <errno.h>

const struct phx_job *phx_job_words(const struct phx_state *s, const struct phx_job *j)
{
	const struct phx_job *first = j->array && j->array != j->id ? phx_state_job(s, j->array) : NULL;
	return first ? first : j;
}

uint32_t phx_array_size(const struct phx_event *ev)
{
	return ev->array_step ? (ev->array_to - ev->array_from) / ev->array_step + 1 : 1;
}

int phx_array_make(struct phx_apply *a, const struct phx_event *ev)
{
	struct phx_list *jobs = &a->s->jobs;
	uint32_t n = phx_array_size(ev), at = jobs->n - 1, at_once = ev->array_at_once ? ev->array_at_once : n;
	struct phx_job *first = PHX_LIST_AT(jobs, struct phx_job, at);
	first->array = first->id;
	first->array_index = ev->array_from;
	first->array_n = first->array_open = n;
	first->array_next = at_once;
	for (uint32_t i = 1; i < n; i++) {
		struct phx_job *j = phx_list_push(jobs, sizeof(*j));
		if (!j)
			return -ENOMEM;
		*j = *PHX_LIST_AT(jobs, struct phx_job, at);
		j->argv = j->env = j->stage_in = j->stage_out = j->parts = (struct phx_list){ 0 };
		j->script = j->why = NULL;
		j->array_n = j->array_open = j->array_next = 0;
		j->id += i;
		j->array_index = ev->array_from + i * ev->array_step;
		j->throttled = i >= at_once;
	}
	return 0;
}

static void let_go(struct phx_apply *a, struct phx_job *j)
{
	const struct phx_re *re = phx_state_re(a->s, j->re);
	j->throttled = false;
	if (re && re->active && !j->held)
		phx_ledger_job_hold(a->s->ledger, (int)re->number, j->id, false, a->s->now_ms, a->todo);
}

void phx_array_ended(struct phx_apply *a, const struct phx_job *j)
{
	struct phx_job *first = phx_state_job(a->s, j->array);
	if (!first)
		return;
	first->array_open -= first->array_open > 0;
	while (!j->throttled && first->array_next < first->array_n) {
		struct phx_job *next = phx_state_job(a->s, first->id + first->array_next++);
		if (next && next->throttled && phx_job_is_open(next)) {
			let_go(a, next);
			return;
		}
	}
}
