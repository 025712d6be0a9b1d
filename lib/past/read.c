/* The journal again, and what of each state is kept: see past.h. Called by phx_past_event(); the
 * whole list of jobs is looked at once in some events, which is as good: a job that has ended is
 * kept by the state for longer than that. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"
#include "journal/replay.h"
#include "ledger/ledger.h"
#include "past/internal.h"

PHX_RECORD_TABLE(phx_past_wish, PHX_PAST_WISH_FIELDS);

enum { LOOK_EVERY = 64 /* events: no more jobs end in them than a state keeps */ };

/* ---- begin and end ---- */

int phx_past_check(const struct phx_past_wish *w, struct phx_err *err)
{
	if (w->from_ms < 0 || w->from_ms >= w->until_ms)
		return phx_err_set(err, -EINVAL, "from must be before until");
	if (w->re[0] && !phx_name_valid(w->re))
		return phx_err_set(err, -EINVAL, "re: that is no name of an RE");
	if (w->has_agreement && !w->re[0])
		return phx_err_set(err, -EINVAL, "agreement: of which RE? re names it");
	if (w->re[0] && (w->nodes || w->has_model || w->wipes))
		return phx_err_set(err, -EINVAL,
				   "nodes, model and wipes are for the whole cluster, not for one "
				   "RE: change its agreement");
	if (w->nodes < -1000000 || w->nodes > 1000000)
		return phx_err_set(err, -EINVAL, "nodes: at most 1000000 more, or fewer");
	return 0;
}

int phx_past_new(const struct phx_past_wish *w, struct phx_past **ret, struct phx_err *err)
{
	int r = phx_past_check(w, err);
	struct phx_past *p = r ? NULL : calloc(1, sizeof(*p));
	if (!p)
		return r ? r : -ENOMEM;
	r = phx_record_copy(&phx_past_wish_record, &p->wish, w);
	r = r ? r : phx_state_init(&p->state);
	r = r ? r : phx_core_ready(&p->state);
	if (r < 0)
		phx_past_free(p);
	else
		*ret = p;
	return r;
}

void phx_past_free(struct phx_past *p)
{
	if (!p)
		return;
	PHX_LIST_EACH(struct past_re, re, &p->res) {
		phx_record_fini(&phx_agreement_record, &re->agreement);
		phx_list_fini(&re->wants);
	}
	phx_list_fini(&p->res);
	phx_list_fini(&p->jobs);
	phx_hash_fini(&p->jobs_by_id);
	phx_state_fini(&p->state);
	phx_record_fini(&phx_past_wish_record, &p->wish);
	free(p);
}

int phx_past_state(struct phx_past *p, const char *text, struct phx_err *err)
{
	phx_state_fini(&p->state);
	p->state = (struct phx_state){0};
	int r = phx_journal_parse_state(text, &p->state, err);
	r = r ? r : phx_core_ready(&p->state);
	return r < 0 && r != -ENOMEM ? phx_err_prefix(err, -EBADMSG, "snapshot") : r;
}

/* ---- what is kept of a state ---- */

/* Its place among those that are kept; -1: it was never active in that time, or is not asked
 * for. */
static int find_re(const struct phx_past *p, const char *name)
{
	for (uint32_t i = 0; i < p->res.n; i++)
		if (!strcmp(PHX_LIST_AT(&p->res, struct past_re, i)->agreement.name, name))
			return (int)i;
	return -1;
}

static int keep_agreement(struct phx_past *p, const struct phx_re *re)
{
	int i = find_re(p, re->name);
	struct past_re *to = i < 0 ? phx_list_push(&p->res, sizeof(*to))
				   : PHX_LIST_AT(&p->res, struct past_re, i);
	if (!to)
		return -ENOMEM;
	phx_record_fini(&phx_agreement_record, &to->agreement);
	int r = phx_record_copy(&phx_agreement_record, &to->agreement, &re->agreement);
	return r < 0 ? r : PHX_STR_SET(to->agreement.name, re->name);
}

static int keep_want(struct past_re *to, int64_t at_ms, uint32_t want)
{
	struct past_want *last =
		to->wants.n ? PHX_LIST_AT(&to->wants, struct past_want, to->wants.n - 1) : NULL;
	if (last && last->want == want)
		return 0;
	if (!last || last->at_ms != at_ms)
		last = phx_list_push(&to->wants, sizeof(*last));
	if (!last)
		return -ENOMEM;
	*last = (struct past_want){at_ms, want};
	return 0;
}

static int look_at_res(struct phx_past *p, bool agreements)
{
	const struct phx_state *s = &p->state;
	uint32_t nodes = s->ledger ? phx_ledger_free_nodes(s->ledger) : 0;
	int r = 0;
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		struct phx_ledger_counts c;
		if (!re->active)
			continue;
		phx_ledger_counts(s->ledger, (int)re->number, &c);
		nodes += c.idle + c.busy + c.coming;
		if (p->wish.re[0] && strcmp(re->name, p->wish.re))
			continue;
		int i = find_re(p, re->name);
		r = r || (i >= 0 && !agreements) ? r : keep_agreement(p, re);
		i = i < 0 ? find_re(p, re->name) : i;
		if (r == 0 && i >= 0 && phx_re_kind(&re->agreement)->has_demand)
			r = keep_want(PHX_LIST_AT(&p->res, struct past_re, i), s->now_ms, c.want);
	}
	p->nodes = nodes > p->nodes ? nodes : p->nodes;
	return r;
}

static uint32_t hash_of(uint64_t id)
{
	return (uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static struct past_job *find_job(const struct phx_past *p, uint64_t id)
{
	uint32_t hash = hash_of(id), i;
	for (uint32_t at = hash; phx_hash_next(&p->jobs_by_id, hash, &at, &i);)
		if (PHX_LIST_AT(&p->jobs, struct past_job, i)->id == id)
			return PHX_LIST_AT(&p->jobs, struct past_job, i);
	return NULL;
}

static struct past_job *new_job(struct phx_past *p, uint64_t id)
{
	if (p->jobs.n >= PHX_PAST_JOBS_MAX || phx_hash_reserve(&p->jobs_by_id, p->jobs.n + 1) < 0)
		return NULL;
	struct past_job *to = phx_list_push(&p->jobs, sizeof(*to));
	if (to) {
		*to = (struct past_job){.id = id};
		phx_hash_put(&p->jobs_by_id, hash_of(id), p->jobs.n - 1);
	}
	return to;
}

static int look_at_job(struct phx_past *p, const struct phx_job *j, struct phx_err *err)
{
	int re = j->re[0] ? find_re(p, j->re) : -1;
	/* one that was over before that time is no part of it */
	if (re < 0 || (!phx_job_is_open(j) && j->ended_ms < p->wish.from_ms))
		return 0;
	struct past_job *to = find_job(p, j->id);
	if (!to && p->jobs.n >= PHX_PAST_JOBS_MAX)
		return phx_err_set(err, -E2BIG, "more than %d jobs: ask for a shorter time",
				   PHX_PAST_JOBS_MAX);
	to = to ? to : new_job(p, j->id);
	if (!to)
		return -ENOMEM;
	*to = (struct past_job){.id = j->id,
				.re = (uint32_t)re,
				.nodes = j->nodes,
				.submitted_ms = j->submitted_ms,
				.started_ms = j->started_ms,
				.ended_ms = phx_job_is_open(j) ? 0 : j->ended_ms,
				.estimate_ms = j->estimate_ms};
	return 0;
}

int past_look(struct phx_past *p, bool all_jobs, struct phx_err *err)
{
	int r = look_at_res(p, all_jobs);
	if (!all_jobs)
		return r;
	p->since_look = 0;
	PHX_LIST_EACH(struct phx_job, j, &p->state.jobs)
		r = r ? r : look_at_job(p, j, err);
	return r;
}

/* ---- an event ---- */

/* Events after which many jobs may be over at once, or an RE has another agreement. */
static bool is_large(const char *kind)
{
	return phx_str_starts(kind, "re_") || !strcmp(kind, "job_cancel") ||
		phx_str_starts(kind, "workflow_");
}

static int apply(struct phx_past *p, const struct phx_store_event *ev, struct phx_err *err)
{
	struct phx_replayed done = {0};
	if (ev->seq != p->state.seq + 1)
		return phx_err_set(err, -EPROTO, "event %llu follows event %llu",
				   (unsigned long long)ev->seq, (unsigned long long)p->state.seq);
	int r = phx_journal_replay(&p->state, ev, &done, err);
	if (r == 0 && done.difference[0])
		r = phx_err_set(err, -EPROTO, "event %llu: %s: phx sim replay tells more",
				(unsigned long long)ev->seq, done.difference);
	free(done.actions);
	return r;
}

int phx_past_event(struct phx_past *p, const struct phx_store_event *ev, struct phx_err *err)
{
	bool before = ev->time_ms < p->wish.from_ms;
	if (ev->time_ms > p->wish.until_ms)
		return 1;
	if (ev->seq <= p->state.seq)
		return 0;
	/* what was when the wished time began */
	int r = !before && !p->begun ? past_look(p, true, err) : 0;
	p->begun = p->begun || !before;
	r = r ? r : apply(p, ev, err);
	if (r < 0 || before)
		return r;
	return past_look(p, ++p->since_look >= LOOK_EVERY || is_large(ev->kind), err);
}

int phx_past_walk(void *walk, const struct phx_store_event *ev)
{
	struct phx_past_walk *w = walk;
	return phx_past_event(w->past, ev, w->err);
}
