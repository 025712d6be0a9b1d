/* Reads from the state what charts show: the counters of each pool, and those nodes and jobs that
 * events were about. Holds the engine's lock for a moment at a time only. Called by the thread of
 * timeline.c; changes nothing. */
#include "phxd/timeline.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

enum { PORTION = 256 /* nodes or jobs under one lock */, PORTION_US = 1000 };

static void measure_re(const struct phx_state *s, const struct phx_re *re,
		       int64_t values[PHX_SERIES_QUANTITIES])
{
	const struct phx_re_kind *kind = phx_re_kind(&re->agreement);
	struct phx_ledger_counts c = {0};
	phx_ledger_counts(s->ledger, (int)re->number, &c);
	values[PHX_SERIES_Q_busy] = c.busy;
	values[PHX_SERIES_Q_coming] = c.coming;
	values[PHX_SERIES_Q_demand] =
		kind->has_demand ? c.want : (int64_t)c.batch.busy + (int64_t)c.batch.waiting_nodes;
	values[PHX_SERIES_Q_running] = c.batch.n_running;
	values[PHX_SERIES_Q_waiting] = c.batch.n_waiting;
}

int timeline_measure(const struct phx_state *s, struct phx_list *ret)
{
	PHX_LIST_EACH(struct phx_pool, p, &s->pools) {
		const struct phx_re *re = phx_state_re(s, p->name);
		struct timeline_line *to = phx_list_push(ret, sizeof(*to));
		if (!to)
			return -ENOMEM;
		PHX_STR_SET(to->pool, p->name);
		to->values[PHX_SERIES_Q_nodes] = phx_members_count(s, PHX_MEMBERS_POOL, p->name);
		if (re && re->active)
			measure_re(s, re, to->values);
	}
	return 0;
}

/* Notes the job if this event ended it, and ended it well. A job of several parts has several
 * events that tell of an end, and the last of them ended the job. */
static void look_at_job(const struct phx_state *s, const struct timeline_job *at,
			struct timeline_news *n)
{
	const struct phx_job *j = phx_state_job(s, at->id);
	if (!j || !j->re[0] || j->state != PHX_JOB_DONE || j->ended_ms != at->at_ms)
		return;
	struct timeline_happened *to = phx_list_push(&n->happened, sizeof(*to));
	if (!to) {
		n->failed = true;
		return;
	}
	PHX_STR_SET(to->pool, j->re);
	to->at_ms = at->at_ms;
	to->values[PHX_SERIES_Q_ended] = 1;
	to->values[PHX_SERIES_Q_turnaround] = j->ended_ms - j->submitted_ms;
	to->values[PHX_SERIES_Q_queued] = j->started_ms - j->submitted_ms;
}

/* Is the same job noted before, of an event at the same moment? Two events of one moment may both
 * be about a job that the second one ended. */
static bool is_told(const struct timeline_news *n, uint32_t i)
{
	const struct timeline_job *j = PHX_LIST_AT(&n->jobs, struct timeline_job, i);
	for (uint32_t k = i; k-- > 0 && i - k <= PORTION;) {
		const struct timeline_job *other = PHX_LIST_AT(&n->jobs, struct timeline_job, k);
		if (other->at_ms != j->at_ms)
			break;
		if (other->id == j->id)
			return true;
	}
	return false;
}

static void look_at_jobs(const struct phx_state *s, struct timeline_news *n, uint32_t from)
{
	for (uint32_t i = from; i < n->jobs.n && i < from + PORTION; i++)
		if (!is_told(n, i))
			look_at_job(s, PHX_LIST_AT(&n->jobs, struct timeline_job, i), n);
}

static void look_at_nodes(const struct phx_state *s, struct timeline_news *n, uint32_t from)
{
	for (uint32_t i = from; i < n->nodes.n && i < from + PORTION; i++) {
		struct timeline_node *at = PHX_LIST_AT(&n->nodes, struct timeline_node, i);
		const struct phx_node *node = phx_state_node(s, at->name);
		PHX_STR_SET(at->pool, node ? node->pool : "");
	}
}

void timeline_look(struct daemon *d, struct timeline_news *n)
{
	uint32_t most = n->nodes.n > n->jobs.n ? n->nodes.n : n->jobs.n;
	for (uint32_t i = 0; i < most; i += PORTION) {
		int64_t began_us = phx_clock_us();
		const struct phx_state *s = engine_lock(d->engine);
		look_at_nodes(s, n, i);
		look_at_jobs(s, n, i);
		engine_unlock(d->engine);
		if (i + PORTION < most)
			reads_breathe(began_us);
	}
}

void timeline_all_nodes(struct daemon *d, int64_t at_ms, struct timeline_news *n)
{
	for (uint64_t after = 0, before = 1; after != before;) {
		before = after;
		int64_t until_us = phx_clock_us() + PORTION_US;
		const struct phx_state *s = engine_lock(d->engine);
		const struct phx_node *node = phx_nodes_next(s, phx_state_node_place(s, after + 1));
		for (; node && phx_clock_us() < until_us; node = phx_nodes_after(s, node)) {
			timeline_add_node(n, node->name, at_ms);
			after = node->number;
		}
		engine_unlock(d->engine);
		if (after != before)
			reads_breathe(phx_clock_us());
	}
}
