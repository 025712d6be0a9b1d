/* Allocation: asks the policies, carries out their wishes, and serves all REs after an event in a
 * fixed order: debts, lost nodes, web services, batch requests by age, idle nodes. Called by
 * ledger.c, node.c and timer.c. Pure. */
#include <string.h>

#include "ledger/internal.h"

static bool active(const struct re *re)
{
	return re->r.state == RE_ACTIVE;
}

/* ---- what a policy sees ---- */

static void view_side(const struct re *re, struct phx_policy_side *ret)
{
	struct phx_batch_counts c = {0};
	const struct phx_agreement *a = &re->r.agreement;

	if (re->batch)
		phx_batch_counts(re->batch, &c);
	*ret = (struct phx_policy_side){
		.there = true,
		.owned = phx_ledger_owned(re),
		.idle = re->batch ? c.idle + re->r.kept
				  : re->r.idle - re_min(re->r.idle, re->r.want),
		.coming = re->r.coming + re->r.owed_in,
		.owed = re->r.owed,
		.lower = a->lower,
		.upper = a->upper ? a->upper : UINT32_MAX,
		.want = re->r.want,
		.waiting_nodes = c.waiting_nodes,
		.waiting_biggest = c.waiting_biggest,
		.n_waiting = c.n_waiting,
	};
}

void phx_ledger_view(const struct phx_ledger *l, uint32_t i, struct phx_policy_view *ret)
{
	const struct re *re = re_at(l, i);

	memset(ret, 0, sizeof(*ret));
	ret->now_ms = l->now_ms;
	ret->unlimited = l->unlimited;
	ret->free = phx_ledger_available(l, i, l->free);
	ret->lent = phx_ledger_lent(l, i);
	view_side(re, &ret->side[re->kind->side]);
	if (!re->r.partner)
		return;
	re = re_at(l, re->r.partner - 1);
	view_side(re, &ret->side[re->kind->side]);
}

/* ---- carrying out wishes ---- */

static int64_t place(const struct phx_ledger *l, uint32_t i, int p)
{
	const struct re *re = re_at(l, i);

	if (p == PHX_PLACE_FREE)
		return PHX_LEDGER_FREE;
	return (int)re->kind->side == p ? (int64_t)i : (int64_t)re->r.partner - 1;
}

static void count(struct phx_ledger *l, struct re *a, struct re *b)
{
	a->r.meter.n_adjusted++;
	if (b)
		b->r.meter.n_adjusted++;
	l->total.n_adjusted++;
}

/* Grants from the free pool. A batch RE keeps asking for the nodes that it did not get. */
static void do_grant(struct phx_ledger *l, uint32_t to, const struct phx_policy_move *m)
{
	struct re *re = re_at(l, to);
	uint32_t got = phx_ledger_obtain(l, to, m->n, m->reason, m->lease);

	if (re->kind->has_demand || m->reason == PHX_REASON_idle_to_batch || got == m->n)
		return;
	re->r.asked = m->n - got;
	re->r.asked_lease = m->lease;
	re->r.asked_reason = m->reason;
}

static void do_move(struct phx_ledger *l, uint32_t i, const struct phx_policy_move *m)
{
	int64_t from = place(l, i, m->from), to = place(l, i, m->to);

	if (from == to || (m->from != PHX_PLACE_FREE && from < 0) ||
	    (m->to != PHX_PLACE_FREE && to < 0))
		return;
	if (from < 0) {
		do_grant(l, (uint32_t)to, m);
		return;
	}
	struct re *giver = re_at(l, (uint32_t)from),
		  *taker = to >= 0 ? re_at(l, (uint32_t)to) : NULL;
	uint32_t n = m->n;
	if (m->forced)
		n = phx_ledger_reclaim(l, (uint32_t)from, to, n, m->reason);
	else
		phx_ledger_move(l, from, to, n = re_min(n, phx_ledger_idle_for(l, from, to)),
				m->reason);
	if (n)
		count(l, giver, taker);
}

static void do_wishes(struct phx_ledger *l, uint32_t i, const struct phx_policy_moves *moves)
{
	for (uint32_t k = 0; k < moves->n; k++)
		do_move(l, i, &moves->move[k]);
}

typedef void (*occasion_fn)(const struct phx_policy_params *, const struct phx_policy_view *,
			    struct phx_policy_moves *);
typedef void (*web_fn)(const struct phx_policy_params *, const struct phx_policy_view *, uint32_t,
		       struct phx_policy_moves *);

/* In a pair, the parameters of the batch RE apply to both. */
static const struct phx_policy_params *pair_params(const struct phx_ledger *l, const struct re *re)
{
	return re->kind->has_demand && re->r.partner ? &re_at(l, re->r.partner - 1)->params
						     : &re->params;
}

static void consult(struct phx_ledger *l, uint32_t i, occasion_fn occasion)
{
	struct phx_policy_moves moves = {.n = 0};
	struct phx_policy_view view;

	if (!occasion)
		return;
	phx_ledger_view(l, i, &view);
	occasion(pair_params(l, re_at(l, i)), &view, &moves);
	do_wishes(l, i, &moves);
}

static void consult_web(struct phx_ledger *l, uint32_t i, web_fn occasion, uint32_t k)
{
	struct phx_policy_moves moves = {.n = 0};
	struct phx_policy_view view;

	if (!occasion || !k)
		return;
	phx_ledger_view(l, i, &view);
	occasion(pair_params(l, re_at(l, i)), &view, k, &moves);
	do_wishes(l, i, &moves);
}

/* The manager asks anew. Its earlier request lapses, but the RE keeps its place (asked_seq) among
 * the REs that ask. */
static void ask_anew(struct phx_ledger *l, uint32_t i, occasion_fn occasion)
{
	struct re *re = re_at(l, i);

	re->r.asked = 0;
	consult(l, i, occasion);
	if (!re->r.asked)
		re->r.asked_seq = 0;
	else if (!re->r.asked_seq)
		re->r.asked_seq = ++l->seq;
}

void phx_ledger_lease_unit(struct phx_ledger *l, uint32_t i)
{
	ask_anew(l, i, re_at(l, i)->policy->lease_unit);
}

void phx_ledger_cycle(struct phx_ledger *l, uint32_t i)
{
	ask_anew(l, i, re_at(l, i)->policy->cycle);
}

void phx_ledger_start(struct phx_ledger *l, uint32_t i)
{
	consult(l, i, re_at(l, i)->policy->start);
}

/* ---- serving ---- */

/* Instances that the web RE wants and that are neither held nor on the way. */
static uint32_t web_lacks(const struct re *re)
{
	uint64_t has = (uint64_t)re->r.idle + re->r.away + re->r.coming + re->r.owed_in;

	return re->r.want > has ? re->r.want - (uint32_t)has : 0;
}

/* RE j owes nodes to RE i. Up to `n` of them are cancelled; where the lower bounds of i's pair need
 * them, they go to the free pool instead. Returns how many. */
static uint32_t let_go(struct phx_ledger *l, uint32_t j, uint32_t i, uint32_t n)
{
	int64_t spare = phx_ledger_spare(l, i);
	uint32_t cancelled =
		phx_ledger_cancel_debts(l, j, i, spare > 0 ? re_min(n, (uint64_t)spare) : 0);

	return cancelled + phx_ledger_redirect_debts(l, j, i, n - cancelled);
}

/* The web RE wants fewer nodes than it is promised. Debts to it are cancelled, those of its lenders
 * before those of its partner. Jobs that are being killed for it end all the same; their nodes stay
 * with their RE. */
static void cancel_promises(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	uint32_t needs = re->r.want - re_min(re->r.want, re->r.idle);
	uint64_t promised = (uint64_t)re->r.coming + re->r.owed_in;
	uint32_t over = promised > needs ? re_min(re->r.owed_in, promised - needs) : 0;

	for (uint32_t j = l->res.n; j-- > 0 && over;)
		if (j + 1 != re->r.partner)
			over -= let_go(l, j, i, over);
	if (over && re->r.partner)
		phx_ledger_cancel_debts(l, re->r.partner - 1, i, over);
}

static void release_web(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);

	if (re->policy->fixed)
		return;
	if (re->r.owed_in)
		cancel_promises(l, i);
	if (re->r.idle > re->r.want)
		consult_web(l, i, re->policy->web_release, re->r.idle - re->r.want);
}

/* Replaces nodes that RE i lost of the lower bounds of its pair, without waiting for a timer. */
static void replace_lost(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	struct phx_ledger_pair pair = phx_ledger_pair(l, i);
	uint64_t lacks = pair.lower > pair.net ? pair.lower - pair.net : 0;

	if (!re->r.lack)
		return;
	re->r.lack = re_min(re->r.lack, lacks);
	uint32_t wanted = re->kind->has_demand ? re_min(re->r.lack, web_lacks(re)) : re->r.lack;
	re->r.lack -= phx_ledger_obtain(l, i, wanted, PHX_REASON_replace, false);
}

/* Replaces nodes that RE i lacks of its own lower bound, if its policy keeps one. */
static void replace(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	uint64_t has = (uint64_t)phx_ledger_owned(re) + re->r.coming + re->r.owed_in;

	if (!re->policy->keeps_lower)
		replace_lost(l, i);
	else if (has < re->r.agreement.lower)
		phx_ledger_obtain(l, i, re->r.agreement.lower - (uint32_t)has, PHX_REASON_replace,
				  false);
}

/* Serves jobs that lease their own nodes: in order, each job gets all its nodes or none. */
static void serve_asks(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	struct phx_batch_counts c;

	if (!re->policy->per_job_lease)
		return;
	phx_batch_counts(re->batch, &c);
	/* jobs with a lease may lack nodes (which were lost) or leave some over (jobs were
	 * cancelled) */
	uint64_t has = (uint64_t)c.idle + re->r.coming + re->r.owed_in;
	uint64_t needs = c.waiting_nodes > re->r.unleased ? c.waiting_nodes - re->r.unleased : 0;
	if (has < needs)
		phx_ledger_obtain(l, i, re_min(UINT32_MAX, needs - has), PHX_REASON_job_lease,
				  false);
	else if (c.idle && has > needs)
		phx_ledger_move(l, i, PHX_LEDGER_FREE, re_min(c.idle, has - needs),
				PHX_REASON_job_lease_end);
	while (re->r.asks.n && !l->error) {
		struct phx_ledger_ask ask = *PHX_LIST_AT(&re->r.asks, struct phx_ledger_ask, 0);
		if (phx_ledger_available(l, i, l->free) < ask.nodes)
			break;
		phx_ledger_unask(re, ask.job);
		phx_ledger_obtain(l, i, ask.nodes, PHX_REASON_job_lease, false);
	}
}

static void serve_batch(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);

	if (re->r.asked)
		re->r.asked -=
			phx_ledger_obtain(l, i, re->r.asked, re->r.asked_reason, re->r.asked_lease);
	serve_asks(l, i);
	if (!re->r.asked && !re->r.asks.n)
		re->r.asked_seq = 0;
}

/* The active RE of this kind with the oldest request after `seq`; -1: none. */
static int64_t next_asking(const struct phx_ledger *l, bool web, uint64_t seq)
{
	int64_t best = -1;

	for (uint32_t i = 0; i < l->res.n; i++) {
		const struct re *re = re_at(l, i);
		if (!active(re) || re->kind->has_demand != web || re->r.asked_seq <= seq)
			continue;
		if (best < 0 || re->r.asked_seq < re_at(l, (uint32_t)best)->r.asked_seq)
			best = i;
	}
	return best;
}

static void serve_webs(struct phx_ledger *l)
{
	for (uint32_t i = 0; i < l->res.n; i++) {
		struct re *re = re_at(l, i);
		if (!active(re) || !re->kind->has_demand)
			continue;
		release_web(l, i);
		if (!web_lacks(re))
			re->r.asked_seq = 0;
		else if (!re->r.asked_seq)
			re->r.asked_seq = ++l->seq;
	}
	int64_t i;
	for (uint64_t seq = 0; (i = next_asking(l, true, seq)) >= 0;) {
		struct re *re = re_at(l, (uint32_t)i);
		seq = re->r.asked_seq;
		consult_web(l, (uint32_t)i, re->policy->web_request, web_lacks(re));
	}
}

static void serve_batches(struct phx_ledger *l)
{
	int64_t i;

	for (uint64_t seq = 0; (i = next_asking(l, false, seq)) >= 0;) {
		seq = re_at(l, (uint32_t)i)->r.asked_seq;
		serve_batch(l, (uint32_t)i);
	}
	for (uint32_t k = 0; k < l->res.n; k++)
		if (active(re_at(l, k)) && re_at(l, k)->batch && !re_at(l, k)->r.asked_seq)
			serve_asks(l, k);
}

/* A deactivated RE gives back its idle nodes, and is gone when it holds none. */
static void empty(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);

	phx_ledger_move(l, i, PHX_LEDGER_FREE, phx_ledger_idle(re), PHX_REASON_deactivate);
	if (!phx_ledger_owned(re) && !re->r.coming)
		re->r.state = RE_GONE;
}

/* The first instant of the cycle that is not before now and was not used yet. */
static int64_t instant_of_cycle(const struct phx_ledger *l, const struct re *re)
{
	int64_t cycle = re->params.cycle_ms;
	int64_t at = re->r.began_ms + (l->now_ms - re->r.began_ms + cycle - 1) / cycle * cycle;

	return at > re->r.last_cycle_ms ? at : at + cycle;
}

/* Arm the cycle of a batch RE while jobs wait. */
static void set_cycle(const struct phx_ledger *l, struct re *re)
{
	struct phx_batch_counts c;

	if (!re->params.cycle_ms)
		return;
	phx_batch_counts(re->batch, &c);
	if (!c.n_waiting)
		re->r.next_cycle_ms = INT64_MAX;
	else if (re->r.next_cycle_ms == INT64_MAX)
		re->r.next_cycle_ms = instant_of_cycle(l, re);
}

void phx_ledger_allocate(struct phx_ledger *l)
{
	for (uint32_t i = 0; i < l->res.n; i++) {
		phx_ledger_settle(l, i);
		if (re_at(l, i)->r.state == RE_LEAVING)
			empty(l, i);
	}
	for (int web = 1; web >= 0; web--)
		for (uint32_t i = 0; i < l->res.n; i++)
			if (active(re_at(l, i)) && re_at(l, i)->kind->has_demand == web)
				replace(l, i);
	serve_webs(l);
	serve_batches(l);
	for (uint32_t i = 0; i < l->res.n; i++) {
		struct re *re = re_at(l, i);
		if (!active(re) || !re->batch)
			continue;
		if (l->free && re->policy->freed)
			consult(l, i, re->policy->freed);
		if (re->r.leased && !re->policy->per_job_lease)
			phx_ledger_lease_trim(re);
		set_cycle(l, re);
	}
}

/* ---- how every call begins and ends ---- */

void phx_ledger_begin(struct phx_ledger *l, int64_t now_ms, struct phx_list *out)
{
	phx_ledger_advance(l, now_ms);
	l->out = out;
}

int phx_ledger_finish(struct phx_ledger *l)
{
	phx_ledger_allocate(l);
	l->out = NULL;
	return l->error;
}
