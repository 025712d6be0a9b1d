/* Says why a job waits. Called by the API between two events; decides nothing. Pure. */
#include "job/internal.h"

#include <stdio.h>
#include <string.h>

static const char *plural(uint32_t n)
{
	return n == 1 ? "" : "s";
}

static const char *is_or_are(uint32_t n)
{
	return n == 1 ? "is" : "are";
}

/* Counts the nodes outside of the REs, once for all jobs. */
static void count_outside(struct phx_job_waits *w)
{
	const struct phx_state *s = w->s;
	const struct phx_node *n;
	if (w->counted)
		return;
	w->counted = true;
	for (uint32_t at = 0; (n = phx_index_candidate(s, PHX_SET_COULD, at));
	     at = phx_index_place(s, n) + 1) {
		w->n_could += phx_node_could_take_jobs(s, n);
		w->n_idle += phx_node_takes_jobs(s, n);
	}
}

static void put_behind(uint64_t first, const struct phx_job *j, char *ret, size_t size)
{
	if (first && first != j->id)
		snprintf(ret, size, "job %llu is before it", (unsigned long long)first);
	else
		snprintf(ret, size, "starts next");
}

static void wait_outside(struct phx_job_waits *w, const struct phx_job *j, char *ret, size_t size)
{
	count_outside(w);
	if (!w->n_could)
		snprintf(ret, size, "cannot run: no node outside of the REs runs jobs");
	else if (j->nodes > w->n_could)
		snprintf(ret, size,
			 "cannot run: it wants %u nodes, and %u outside of the REs run%s jobs",
			 j->nodes, w->n_could, w->n_could == 1 ? "s" : "");
	else if (j->nodes > w->n_idle)
		snprintf(ret, size, "waits for %u node%s: of %u outside of the REs %u %s idle",
			 j->nodes, plural(j->nodes), w->n_could, w->n_idle, is_or_are(w->n_idle));
	else
		put_behind(phx_index_first_outside(w->s), j, ret, size);
}

static void wait_in_re(const struct phx_state *s, const struct phx_re *re, const struct phx_job *j,
		       char *ret, size_t size)
{
	struct phx_ledger_counts c;
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	uint32_t idle = c.batch.idle, held = idle + c.batch.busy,
		 most = phx_ledger_widest(s->ledger, (int)re->number);
	char coming[48] = "";
	if (c.coming)
		snprintf(coming, sizeof(coming), ", %u %s on the way", c.coming,
			 is_or_are(c.coming));
	if (j->nodes > most)
		snprintf(ret, size, "cannot run: it wants %u nodes, and RE %s can have %u",
			 j->nodes, re->name, most);
	else if (j->nodes > held)
		snprintf(ret, size, "waits for %u node%s: RE %s has %u%s, and can have %u",
			 j->nodes, plural(j->nodes), re->name, held, coming, most);
	else if (j->nodes > idle)
		snprintf(ret, size, "waits for %u node%s: of the %u of RE %s %u %s idle%s",
			 j->nodes, plural(j->nodes), held, re->name, idle, is_or_are(idle), coming);
	else
		put_behind(phx_batch_first(phx_ledger_batch(s->ledger, (int)re->number)), j, ret,
			   size);
}

/* Names a silent node of a running job: the job counts as running there until its heartbeat timeout
 * (silence.c). */
static void run_unheard(const struct phx_job *j, char *ret, size_t size)
{
	PHX_LIST_EACH(struct phx_job_part, p, &j->parts)
		if (!p->ended && p->lost_ms) {
			snprintf(ret, size,
				 "%s is not heard: the job may run there until its heartbeat "
				 "timeout",
				 p->node);
			return;
		}
}

void phx_job_waits_for(struct phx_job_waits *w, const struct phx_job *j, char *ret, size_t size)
{
	const struct phx_re *re = j->re[0] ? phx_state_re(w->s, j->re) : NULL;
	ret[0] = '\0';
	if (j->state == PHX_JOB_RUNNING)
		run_unheard(j, ret, size);
	if (j->state != PHX_JOB_QUEUED)
		return;
	if (j->held)
		snprintf(ret, size, "held back until it is let go");
	else if (j->kept)
		snprintf(ret, size, "kept: its RE %s is not active", j->re);
	else if (j->throttled)
		snprintf(ret, size, "as many members of its array run as may run at a time");
	else if (j->engine_id[0])
		snprintf(ret, size, "waits in Slurm");
	else if (!j->re[0])
		wait_outside(w, j, ret, size);
	else if (!re || !re->active)
		snprintf(ret, size, "RE %s is not active", j->re);
	else
		wait_in_re(w->s, re, j, ret, size);
}
