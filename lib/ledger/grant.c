/* How nodes move between the free pool and the REs, and who may have them:
 * grants, claims on lent nodes, forced returns with their debts. Called by
 * the ledger's events and by allocate.c; asks no policy. Pure. */
#include <errno.h>

#include "ledger/internal.h"

/* ---- who may have what ---- */

static struct phx_ledger_unfit unfit(const struct phx_ledger *l, int64_t from, int64_t to)
{
	if (to >= 0)
		PHX_LIST_EACH(struct phx_ledger_unfit, u, &re_at(l, (uint32_t)to)->r.unfit)
			if (u->from == from)
				return *u;
	return (struct phx_ledger_unfit){.from = from};
}

uint32_t phx_ledger_idle_for(const struct phx_ledger *l, int64_t from, int64_t to)
{
	uint32_t idle = from >= 0 ? phx_ledger_idle(re_at(l, (uint32_t)from)) : l->free;

	return idle - re_min(idle, unfit(l, from, to).idle);
}

static void add_to_pair(const struct re *re, struct phx_ledger_pair *pair)
{
	const struct phx_agreement *a = &re->r.agreement;
	uint32_t upper = phx_agreement_upper(a);

	pair->net += (uint64_t)phx_ledger_owned(re) + re->r.coming + re->r.owed_in;
	pair->net -= re->r.owed;
	if (re->r.state != RE_ACTIVE)
		return;
	pair->lower += a->lower;
	pair->entitled += upper ? upper : a->lower;
	pair->cap = upper || re->policy->same_bounds ? pair->cap + upper : UINT32_MAX;
}

struct phx_ledger_pair phx_ledger_pair(const struct phx_ledger *l, uint32_t i)
{
	const struct re *re = re_at(l, i);
	struct phx_ledger_pair pair = {0};

	add_to_pair(re, &pair);
	if (re->r.partner)
		add_to_pair(re_at(l, re->r.partner - 1), &pair);
	return pair;
}

static bool same_pair(const struct phx_ledger *l, uint32_t i, uint32_t j)
{
	return i == j || re_at(l, i)->r.partner == j + 1;
}

/* Is `j` the first RE of an active pair other than that of `i`? Each pair is counted once. */
static bool is_other_pair(const struct phx_ledger *l, uint32_t i, uint32_t j)
{
	const struct re *re = re_at(l, j);
	bool counted = re->r.partner && re->r.partner - 1 < j;
	return re->r.state == RE_ACTIVE && !counted && !same_pair(l, i, j);
}

/* Nodes that the pair lacks of its lower bounds. */
static uint64_t lacks(const struct phx_ledger_pair *pair)
{
	return pair->lower > pair->net ? pair->lower - pair->net : 0;
}

/* Nodes that the other pairs lack of their lower bounds. */
static uint64_t reserved_from(const struct phx_ledger *l, uint32_t i)
{
	uint64_t sum = 0;

	for (uint32_t j = 0; j < l->res.n; j++) {
		if (!is_other_pair(l, i, j))
			continue;
		struct phx_ledger_pair other = phx_ledger_pair(l, j);
		sum += lacks(&other);
	}
	return sum;
}

/* Free nodes that may go to the pair of `i` while `reserved` of them are kept for other pairs. */
static uint32_t beyond(const struct phx_ledger *l, uint32_t i, uint32_t free, uint64_t reserved)
{
	struct phx_ledger_pair pair = phx_ledger_pair(l, i);
	uint64_t room = pair.cap > pair.net ? pair.cap - pair.net : 0;
	uint32_t can = free - re_min(free, unfit(l, PHX_LEDGER_FREE, i).idle);

	if (l->unlimited)
		return re_min(UINT32_MAX, room);
	return re_min(re_min(free - re_min(free, reserved), can), room);
}

/* Nodes that other pairs lack of their lower bounds are kept for them, unless this pair lacks some
 * too. When too few nodes are left for all, a free node that each pair left to the other would
 * serve nobody; the pairs are then served in their order. */
uint32_t phx_ledger_available(const struct phx_ledger *l, uint32_t i, uint32_t free)
{
	struct phx_ledger_pair pair = phx_ledger_pair(l, i);
	uint32_t rest = beyond(l, i, free, reserved_from(l, i));
	uint32_t lower = re_min(beyond(l, i, free, 0), lacks(&pair));

	return rest > lower ? rest : lower;
}

uint32_t phx_ledger_returning(const struct phx_ledger *l)
{
	uint32_t sum = l->returning;

	for (uint32_t i = 0; i < l->res.n; i++) {
		const struct re *re = re_at(l, i);
		if (re->r.state == RE_LEAVING)
			sum += phx_ledger_free_to_owe(re);
		PHX_LIST_EACH(struct phx_ledger_debt, d, &re->r.debts)
			sum += d->to < 0 ? d->nodes : 0;
	}
	return sum;
}

/* ---- moving ---- */

void phx_ledger_act(struct phx_ledger *l, struct phx_ledger_action a)
{
	struct phx_ledger_action *slot = phx_ledger_push(l, l->out, sizeof(a));

	if (slot)
		*slot = a;
}

static void take_idle(struct re *re, uint32_t n)
{
	struct phx_batch_counts c;

	if (!re->batch) {
		re->r.idle -= n;
		return;
	}
	phx_batch_counts(re->batch, &c);
	if (n > c.idle)
		phx_ledger_lease_unkeep(re, n - c.idle);
	phx_batch_take(re->batch, re_min(n, c.idle));
}

void phx_ledger_move(struct phx_ledger *l, int64_t from, int64_t to, uint32_t n, int reason)
{
	struct re *giver = from >= 0 ? re_at(l, (uint32_t)from) : NULL;
	struct re *taker = to >= 0 ? re_at(l, (uint32_t)to) : NULL;

	if (!n)
		return;
	if (giver)
		take_idle(giver, n);
	else if (!l->unlimited)
		l->free -= n;
	*(taker ? &taker->r.coming : &l->returning) += n;
	if (giver)
		giver->r.meter.nodes_moved += n;
	if (taker)
		taker->r.meter.nodes_moved += n;
	l->total.nodes_moved += (giver ? n : 0) + (taker ? n : 0);
	phx_ledger_act(l,
		       (struct phx_ledger_action){.kind = PHX_LEDGER_MOVE,
						  .re = (int)from,
						  .to = (int)to,
						  .nodes = n,
						  .reason = reason});
}

void phx_ledger_move_back(struct phx_ledger *l, int64_t from, uint32_t to, uint32_t n)
{
	struct re *giver = from >= 0 ? re_at(l, (uint32_t)from) : NULL, *taker = re_at(l, to);

	taker->r.coming -= n;
	taker->r.meter.nodes_moved -= n;
	l->total.nodes_moved -= (giver ? n : 0) + n;
	if (giver)
		giver->r.meter.nodes_moved -= n;
	if (giver && giver->batch)
		phx_batch_give(giver->batch, n);
	else if (giver)
		giver->r.idle += n;
	else if (!l->unlimited)
		l->free += n;
}

/* ---- debts ---- */

static void owe_less(struct phx_ledger *l, struct re *re, struct phx_ledger_debt *d, uint32_t n)
{
	d->nodes -= n;
	re->r.owed -= n;
	if (d->to >= 0)
		re_at(l, (uint32_t)d->to)->r.owed_in -= n;
}

static void pay(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);

	for (uint32_t k = 0; k < re->r.debts.n;) {
		struct phx_ledger_debt *d = PHX_LIST_AT(&re->r.debts, struct phx_ledger_debt, k);
		uint32_t n = re_min(d->nodes, phx_ledger_idle_for(l, i, d->to));
		int64_t to = d->to;
		int reason = d->reason;
		owe_less(l, re, d, n);
		if (d->nodes)
			k++;
		else
			phx_list_remove(&re->r.debts, sizeof(*d), k);
		phx_ledger_move(l, i, to, n, reason);
	}
}

/* Kills jobs until `nodes` more nodes are about to come free, or no job runs. */
static void kill_jobs(struct phx_ledger *l, uint32_t i, uint32_t nodes, int reason)
{
	struct re *re = re_at(l, i);

	l->ids.n = 0;
	if (phx_batch_victims(re->batch, nodes, &l->ids) < 0)
		l->error = -ENOMEM;
	PHX_LIST_EACH(uint64_t, id, &l->ids) {
		const struct phx_batch_job *job = phx_batch_job(re->batch, *id);
		uint32_t size = job->size - job->lost;
		if (phx_batch_kill(re->batch, *id) < 0)
			continue;
		phx_ledger_act(l,
			       (struct phx_ledger_action){.kind = PHX_LEDGER_KILL,
							  .re = (int)i,
							  .to = PHX_LEDGER_FREE,
							  .job = *id,
							  .nodes = size,
							  .reason = reason});
	}
}

static uint32_t about_to_come(const struct re *re)
{
	struct phx_batch_counts c = {0};

	if (re->batch)
		phx_batch_counts(re->batch, &c);
	return c.killing + re->r.coming;
}

void phx_ledger_settle(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);

	if (!re->r.debts.n)
		return;
	pay(l, i);
	uint32_t soon = about_to_come(re);
	if (re->r.owed > soon && re->batch) {
		kill_jobs(l, i, re->r.owed - soon,
			  PHX_LIST_AT(&re->r.debts, struct phx_ledger_debt, re->r.debts.n - 1)
				  ->reason);
		soon = about_to_come(re);
	}
	if (re->r.owed > soon) /* nodes were lost, and none is left to pay with */
		phx_ledger_cancel_debts(l, i, RE_ANYBODY, re->r.owed - soon);
}

static bool cancels(const struct phx_ledger *l, uint32_t i, const struct phx_ledger_debt *d,
		    int64_t to)
{
	if (to == RE_OUTSIDE)
		return d->to < 0 || !same_pair(l, i, (uint32_t)d->to);
	return to == RE_ANYBODY || d->to == to;
}

uint32_t phx_ledger_cancel_debts(struct phx_ledger *l, uint32_t i, int64_t to, uint32_t n)
{
	struct re *re = re_at(l, i);
	uint32_t left = n;

	for (uint32_t k = re->r.debts.n; k-- > 0 && left;) {
		struct phx_ledger_debt *d = PHX_LIST_AT(&re->r.debts, struct phx_ledger_debt, k);
		if (!cancels(l, i, d, to))
			continue;
		uint32_t less = re_min(left, d->nodes);
		owe_less(l, re, d, less);
		left -= less;
		if (!d->nodes)
			phx_list_remove(&re->r.debts, sizeof(*d), k);
	}
	return n - left;
}

uint32_t phx_ledger_redirect_debts(struct phx_ledger *l, uint32_t i, int64_t to, uint32_t n)
{
	struct re *re = re_at(l, i);
	uint32_t left = n;

	for (uint32_t k = re->r.debts.n; k-- > 0 && left;) {
		struct phx_ledger_debt *d = PHX_LIST_AT(&re->r.debts, struct phx_ledger_debt, k);
		uint32_t part = re_min(left, d->nodes);
		if (d->to != to)
			continue;
		struct phx_ledger_debt free_debt = {PHX_LEDGER_FREE, part, d->reason};
		if (part < d->nodes) {
			struct phx_ledger_debt *slot =
				phx_ledger_push(l, &re->r.debts, sizeof(*slot));
			if (!slot)
				return n - left;
			*slot = free_debt;
			PHX_LIST_AT(&re->r.debts, struct phx_ledger_debt, k)->nodes -= part;
		} else {
			*d = free_debt;
		}
		if (to >= 0)
			re_at(l, (uint32_t)to)->r.owed_in -= part;
		left -= part;
	}
	return n - left;
}

/* How many nodes `from` may owe to `to` beyond those that it owes already. */
static uint32_t may_owe(const struct phx_ledger *l, uint32_t from, int64_t to)
{
	const struct re *re = re_at(l, from);
	uint32_t has = phx_ledger_owned(re) - re->r.away + re->r.coming,
		 never = unfit(l, from, to).nodes;

	PHX_LIST_EACH(struct phx_ledger_debt, d, &re->r.debts)
		never += d->to == to ? d->nodes : 0;
	return re_min(has - re_min(has, never), phx_ledger_free_to_owe(re));
}

uint32_t phx_ledger_reclaim(struct phx_ledger *l, uint32_t from, int64_t to, uint32_t n, int reason)
{
	struct re *re = re_at(l, from);
	struct phx_ledger_debt *d = NULL;

	n = re_min(n, may_owe(l, from, to));
	if (!n)
		return 0;
	if (re->r.debts.n)
		d = PHX_LIST_AT(&re->r.debts, struct phx_ledger_debt, re->r.debts.n - 1);
	if (!d || d->to != to || d->reason != reason)
		d = phx_ledger_push(l, &re->r.debts, sizeof(*d));
	if (!d)
		return 0;
	d->to = to;
	d->reason = reason;
	d->nodes += n;
	re->r.owed += n;
	if (to >= 0)
		re_at(l, (uint32_t)to)->r.owed_in += n;
	phx_ledger_settle(l, from);
	return n;
}

/* ---- grants and claims ---- */

/* How many nodes an RE may be asked for, in three rounds: a batch RE without kills, a batch RE by
 * kills, a web RE. */
static uint32_t round_limit(const struct re *re, int round)
{
	uint32_t can = phx_ledger_free_to_owe(re);
	uint32_t at_once = phx_ledger_idle(re) + re->r.coming;

	if (re->kind->has_demand)
		return round == 2 ? can : 0;
	return round == 0 ? re_min(can, at_once) : can;
}

/* Claims up to n nodes for RE i from pairs that hold too many: more than their lower bounds when
 * the claim is rigid (for a lower bound), more than they are entitled to when it is not. The RE
 * with the highest number is asked first. */
static uint32_t claim(struct phx_ledger *l, uint32_t i, uint32_t n, bool rigid)
{
	uint32_t left = n;

	for (int round = 0; round < 3 && left; round++)
		for (uint32_t j = l->res.n; j-- > 0 && left;) {
			struct re *lender = re_at(l, j);
			if (lender->r.state != RE_ACTIVE || same_pair(l, i, j))
				continue;
			struct phx_ledger_pair pair = phx_ledger_pair(l, j);
			uint64_t floor = rigid ? pair.lower : pair.entitled;
			uint64_t over = pair.net > floor ? pair.net - floor : 0;
			uint32_t got = re_min(re_min(left, over), round_limit(lender, round));
			got = phx_ledger_reclaim(l, j, i, got, PHX_REASON_claim);
			lender->r.meter.n_adjusted += got > 0;
			left -= got;
		}
	return n - left;
}

/* How many nodes claim() would find. */
static uint64_t claimable(const struct phx_ledger *l, uint32_t i, bool rigid)
{
	uint64_t sum = 0;

	for (uint32_t j = 0; j < l->res.n; j++) {
		if (!is_other_pair(l, i, j))
			continue;
		struct phx_ledger_pair pair = phx_ledger_pair(l, j);
		uint64_t floor = rigid ? pair.lower : pair.entitled;
		sum += pair.net > floor ? pair.net - floor : 0;
	}
	return sum;
}

uint32_t phx_ledger_lent(const struct phx_ledger *l, uint32_t i)
{
	struct phx_ledger_pair pair = phx_ledger_pair(l, i);
	uint64_t after = pair.net + phx_ledger_available(l, i, l->free);
	uint32_t rigid = 0, lent = 0;

	if (l->unlimited)
		return 0;
	if (pair.lower > after)
		rigid = re_min((uint32_t)(pair.lower - after), claimable(l, i, true));
	if (pair.entitled > after)
		lent = re_min((uint32_t)(pair.entitled - after), claimable(l, i, false));
	return rigid > lent ? rigid : lent;
}

/* Lent nodes come back on demand (000 4.2 (5), Fig. 2). A web service gets them at once; batch jobs
 * can wait for nodes that are on their way to the free pool. */
static uint32_t claim_lent(struct phx_ledger *l, uint32_t i, uint32_t n)
{
	struct phx_ledger_pair pair = phx_ledger_pair(l, i);
	uint32_t later = 0, got = 0;

	if (!re_at(l, i)->kind->has_demand)
		later = phx_ledger_available(l, i, l->free + phx_ledger_returning(l)) -
			phx_ledger_available(l, i, l->free);
	if (n <= later)
		return 0;
	n -= later;
	if (pair.lower > pair.net)
		got = claim(l, i, re_min(n, pair.lower - pair.net), true);
	pair = phx_ledger_pair(l, i);
	if (pair.entitled > pair.net)
		got += claim(l, i, re_min(n - got, pair.entitled - pair.net), false);
	return got;
}

uint32_t phx_ledger_obtain(struct phx_ledger *l, uint32_t i, uint32_t n, int reason, bool lease)
{
	uint32_t granted = re_min(n, phx_ledger_available(l, i, l->free));

	phx_ledger_move(l, PHX_LEDGER_FREE, i, granted, reason);
	if (granted < n && !l->unlimited)
		granted += claim_lent(l, i, n - granted);
	if (!granted)
		return 0;
	if (lease)
		phx_ledger_lease_open(l, i, granted);
	re_at(l, i)->r.meter.n_adjusted++;
	l->total.n_adjusted++;
	return granted;
}

int64_t phx_ledger_spare(const struct phx_ledger *l, uint32_t i)
{
	struct phx_ledger_pair pair = phx_ledger_pair(l, i);
	uint32_t covered =
		beyond(l, i, re_min(UINT32_MAX, (uint64_t)l->free + phx_ledger_returning(l)),
		       reserved_from(l, i));

	return (int64_t)covered + (int64_t)pair.net - (int64_t)pair.lower;
}

void phx_ledger_obtain_lower(struct phx_ledger *l, uint32_t i)
{
	int64_t spare = phx_ledger_spare(l, i);
	uint32_t lower = re_at(l, i)->r.agreement.lower, claimed = 0;

	if (!l->unlimited && spare < 0)
		claimed = claim(l, i, re_min(lower, (uint64_t)-spare), true);
	phx_ledger_move(l, PHX_LEDGER_FREE, i,
			re_min(lower - claimed, phx_ledger_available(l, i, l->free)),
			PHX_REASON_start);
}
