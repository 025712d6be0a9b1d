/* Events of nodes: nodes arrive where they were sent, break, join the cluster.
 * Called by lib/node, lib/re and the simulator. Counts nodes, does not name them. Pure. */
#include <errno.h>

#include "ledger/internal.h"

/* Samples taken with fewer instances do not say how many instances are needed now. */
static void more_instances(const struct phx_ledger *l, struct re *it, uint32_t nodes)
{
	it->r.idle += nodes;
	if (nodes)
		it->r.window = (struct phx_web_window){.began_ms = l->now_ms};
}

int phx_ledger_arrived(struct phx_ledger *l, int from, int re, uint32_t nodes, int64_t now_ms,
		       struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get(l, re);
	uint32_t *coming = it ? &it->r.coming : re == PHX_LEDGER_FREE ? &l->returning : NULL;

	if (!coming)
		return -ENOENT;
	if (nodes > *coming || from < PHX_LEDGER_FREE || from >= (int)l->res.n)
		return -EINVAL;
	phx_ledger_begin(l, now_ms, ret_actions);
	*coming -= nodes;
	if (it && it->batch)
		phx_batch_give(it->batch, nodes);
	else if (it)
		more_instances(l, it, nodes);
	else if (!l->unlimited)
		l->free += nodes;
	return phx_ledger_finish(l);
}

/* A reclaim does not take a pair below its lower bounds: debts that the pair took on while it had
 * more nodes are cancelled. */
static void keep_lower_bounds(struct phx_ledger *l, uint32_t i)
{
	struct phx_ledger_pair pair = phx_ledger_pair(l, i);
	uint32_t partner = re_at(l, i)->r.partner, short_of;

	if (pair.net >= pair.lower)
		return;
	short_of = re_min(UINT32_MAX, pair.lower - pair.net);
	short_of -= phx_ledger_cancel_debts(l, i, RE_OUTSIDE, short_of);
	if (partner)
		phx_ledger_cancel_debts(l, partner - 1, RE_OUTSIDE, short_of);
}

void phx_ledger_of_before(struct phx_ledger *l, bool before)
{
	l->of_before = before;
}

/* Notes nodes that RE i lost, so that allocate.c replaces them up to the lower bound. */
static void note_lack(struct phx_ledger *l, uint32_t i, uint32_t nodes)
{
	struct re *it = re_at(l, i);

	if (it->r.state == RE_ACTIVE && !it->policy->keeps_lower && !l->of_before)
		it->r.lack += nodes;
	keep_lower_bounds(l, i);
}

static void note_lost(struct phx_ledger *l, int re, uint32_t nodes)
{
	if (!l->unlimited) {
		l->nodes -= nodes;
		l->missing += nodes;
	}
	if (re >= 0)
		note_lack(l, (uint32_t)re, nodes);
}

static void take_away(struct re *re, uint32_t nodes)
{
	struct phx_batch_counts c;

	if (!re->batch) {
		re->r.idle -= nodes;
		return;
	}
	phx_batch_counts(re->batch, &c);
	if (nodes > c.idle)
		phx_ledger_lease_unkeep(re, nodes - c.idle);
	phx_batch_take(re->batch, re_min(nodes, c.idle));
}

/* The counter that loses the nodes; NULL: the idle nodes of `it`. */
static uint32_t *lost_from(struct phx_ledger *l, struct re *it, enum phx_ledger_place place)
{
	if (!it)
		return place == PHX_LEDGER_COMING ? &l->returning : &l->free;
	return place == PHX_LEDGER_COMING  ? &it->r.coming
		: place == PHX_LEDGER_AWAY ? &it->r.away
					   : NULL;
}

int phx_ledger_lost(struct phx_ledger *l, int re, uint32_t nodes, enum phx_ledger_place place,
		    int64_t now_ms, struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get(l, re);

	if (!it && re != PHX_LEDGER_FREE)
		return -ENOENT;
	if (!it && place == PHX_LEDGER_AWAY)
		return -EINVAL;
	uint32_t *counter = lost_from(l, it, place);
	if (!it && place == PHX_LEDGER_THERE && l->unlimited)
		return 0;
	if (nodes > (counter ? *counter : phx_ledger_idle(it)))
		return -EINVAL;
	phx_ledger_begin(l, now_ms, ret_actions);
	if (counter)
		*counter -= nodes;
	else
		take_away(it, nodes);
	note_lost(l, re, nodes);
	return phx_ledger_finish(l);
}

/* A job lost nodes while it ran: it is killed on its other nodes too, and runs again. */
static int break_job(struct phx_ledger *l, int re, uint64_t job, uint32_t nodes, int64_t now_ms,
		     struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get_batch(l, re);
	const struct phx_batch_job *j = it ? phx_batch_job(it->batch, job) : NULL;

	if (!j)
		return -ENOENT;
	bool running = j->state == PHX_BATCH_RUNNING;
	phx_ledger_advance(l, now_ms);
	int r = phx_batch_lose_busy(it->batch, job, nodes);
	if (r < 0)
		return r;
	phx_ledger_begin(l, now_ms, ret_actions);
	uint32_t left = j->size - j->lost;
	if (running && phx_batch_kill(it->batch, job) == 0)
		phx_ledger_act(l,
			       (struct phx_ledger_action){.kind = PHX_LEDGER_KILL,
							  .re = re,
							  .to = PHX_LEDGER_FREE,
							  .job = job,
							  .nodes = left,
							  .reason = PHX_REASON_node_lost});
	return 0;
}

int phx_ledger_lost_busy(struct phx_ledger *l, int re, uint64_t job, uint32_t nodes, int64_t now_ms,
			 struct phx_list *ret_actions)
{
	int r = break_job(l, re, job, nodes, now_ms, ret_actions);

	if (r < 0)
		return r;
	note_lost(l, re, nodes);
	return phx_ledger_finish(l);
}

int phx_ledger_away(struct phx_ledger *l, int re, uint64_t job, uint32_t nodes, int64_t now_ms,
		    struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get(l, re);

	if (!it || it->r.state != RE_ACTIVE)
		return -ENOENT;
	if (!job && nodes > phx_ledger_idle(it))
		return -EINVAL;
	if (job) {
		int r = break_job(l, re, job, nodes, now_ms, ret_actions);
		if (r < 0)
			return r;
	} else {
		phx_ledger_begin(l, now_ms, ret_actions);
		take_away(it, nodes);
	}
	it->r.away += nodes;
	return phx_ledger_finish(l);
}

int phx_ledger_back(struct phx_ledger *l, int re, uint32_t nodes, int64_t now_ms,
		    struct phx_list *ret_actions)
{
	struct re *it = phx_ledger_get(l, re);

	if (!it)
		return -ENOENT;
	if (nodes > it->r.away)
		return -EINVAL;
	phx_ledger_begin(l, now_ms, ret_actions);
	it->r.away -= nodes;
	if (it->batch)
		phx_batch_give(it->batch, nodes);
	else
		more_instances(l, it, nodes);
	return phx_ledger_finish(l);
}

int phx_ledger_found(struct phx_ledger *l, uint32_t nodes, int64_t now_ms,
		     struct phx_list *ret_actions)
{
	if (l->unlimited)
		return 0;
	if (nodes > UINT32_MAX - l->nodes)
		return -EINVAL;
	phx_ledger_begin(l, now_ms, ret_actions);
	l->nodes += nodes;
	l->free += nodes;
	l->missing -= re_min(nodes, l->missing);
	return phx_ledger_finish(l);
}

/* ---- nodes that an RE could have by count, but that are unfit for it ---- */

static bool known(const struct phx_ledger *l, const struct phx_ledger_barred *b)
{
	PHX_LIST_EACH(struct phx_ledger_unfit, u, &re_at(l, (uint32_t)b->to)->r.unfit)
		if (u->from == b->from)
			return u->nodes == b->nodes && u->idle == b->idle;
	return false;
}

static bool all_known(const struct phx_ledger *l, const struct phx_list *barred)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->res.n; i++)
		n += re_at(l, i)->r.unfit.n;
	PHX_LIST_EACH(struct phx_ledger_barred, b, barred)
		if (!known(l, b))
			return false;
	return n == barred->n;
}

int phx_ledger_barred(struct phx_ledger *l, const struct phx_list *barred, int64_t now_ms,
		      struct phx_list *ret_actions)
{
	PHX_LIST_EACH(struct phx_ledger_barred, b, barred)
		if (!phx_ledger_get(l, b->to) ||
		    (b->from != PHX_LEDGER_FREE && !phx_ledger_get(l, b->from)) || !b->nodes)
			return -EINVAL;
	if (all_known(l, barred))
		return 0;
	phx_ledger_begin(l, now_ms, ret_actions);
	for (uint32_t i = 0; i < l->res.n; i++)
		re_at(l, i)->r.unfit.n = 0;
	PHX_LIST_EACH(struct phx_ledger_barred, b, barred) {
		struct re *re = re_at(l, (uint32_t)b->to);
		struct phx_ledger_unfit *slot = phx_ledger_push(l, &re->r.unfit, sizeof(*slot));
		if (slot)
			*slot = (struct phx_ledger_unfit){b->from, b->nodes, b->idle};
	}
	return phx_ledger_finish(l);
}

int phx_ledger_refused(struct phx_ledger *l, int from, int to, uint32_t nodes, int64_t now_ms,
		       struct phx_list *ret_actions)
{
	struct re *taker = phx_ledger_get(l, to), *giver = phx_ledger_get(l, from);

	if (!taker || (from != PHX_LEDGER_FREE && (!giver || giver->r.state != RE_ACTIVE)))
		return -ENOENT;
	if (nodes > taker->r.coming)
		return -EINVAL;
	phx_ledger_begin(l, now_ms, ret_actions);
	phx_ledger_move_back(l, from, (uint32_t)to, nodes);
	note_lack(l, (uint32_t)to, nodes);
	return phx_ledger_finish(l);
}
