/* The ledger's timers: web windows, leases, lease units, cycles; and the
 * scheduling pass. At one instant they run in this order (policies.md section 0).
 * Called by lib/core and the simulator. Pure. */
#include <errno.h>

#include "ledger/internal.h"

static bool active(const struct re *re)
{
	return re->r.state == RE_ACTIVE;
}

/* ---- web windows ---- */

/* An upper bound that equals the lower one limits what the pair is granted, not what its web RE
 * wants. */
static struct phx_web_params web_params(const struct re *re)
{
	const struct phx_agreement *a = &re->r.agreement;

	return (struct phx_web_params){
		.window_ms = (int64_t)a->window_s * 1000,
		.threshold_milli = a->threshold_milli,
		.lower = phx_agreement_least(a),
		.upper = a->upper && a->upper != a->lower ? a->upper : UINT32_MAX,
	};
}

static int64_t window_ends(const struct re *re)
{
	return re->r.window.n_samples
		? re->r.window.began_ms + (int64_t)re->r.agreement.window_s * 1000
		: INT64_MAX;
}

int phx_ledger_sample(struct phx_ledger *l, int re, uint32_t use_ppm, int64_t now_ms)
{
	struct re *it = phx_ledger_get(l, re);
	uint32_t none;

	if (!it || !active(it))
		return -ENOENT;
	if (it->batch)
		return -EINVAL;
	struct phx_web_params params = web_params(it);
	phx_ledger_advance(l, now_ms);
	if (!it->r.window.n_samples) /* no sample came in the windows before this one */
		phx_web_window_end(&it->r.window, &params, l->now_ms, &none);
	phx_web_sample(&it->r.window, use_ppm);
	return 0;
}

const struct phx_list *phx_ledger_decisions(const struct phx_ledger *l, int re)
{
	const struct re *it = phx_ledger_get(l, re);

	return it ? &it->r.decisions : NULL;
}

static void end_windows(struct phx_ledger *l)
{
	bool changed = false;

	for (uint32_t i = 0; i < l->res.n; i++) {
		struct re *re = re_at(l, i);
		uint32_t use_ppm;
		if (!active(re) || re->batch || window_ends(re) > l->now_ms)
			continue;
		struct phx_web_params params = web_params(re);
		if (phx_web_window_end(&re->r.window, &params, l->now_ms, &use_ppm) != 1)
			continue;
		re->r.want = phx_web_adjust(&params, re->r.idle, use_ppm);
		const struct phx_web_decision d = {l->now_ms, re->r.idle, use_ppm, re->r.want};
		if (phx_web_decided(&re->r.decisions, &d) < 0)
			l->error = -ENOMEM;
		changed = true;
	}
	if (changed)
		phx_ledger_allocate(l);
}

/* ---- leases, lease units, cycles ---- */

static struct phx_ledger_lease *first_lease(const struct re *re)
{
	return PHX_LIST_AT(&re->r.leases, struct phx_ledger_lease, 0);
}

static int64_t first_lease_ends(const struct re *re)
{
	return re->r.leases.n ? first_lease(re)->end_ms : INT64_MAX;
}

/* The first lease ends: releases as many nodes as the policy says, leases the rest on. */
static void renew(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	struct phx_ledger_lease lease = *first_lease(re);
	struct phx_policy_view view;

	phx_ledger_lease_drop_first(re);
	phx_ledger_view(l, i, &view);
	uint32_t n = re->policy->lease_end(&re->params, &view, lease.size, lease.idle);
	n = re_min(n, phx_ledger_idle(re));
	if (n) {
		re->r.meter.n_adjusted++;
		l->total.n_adjusted++;
		phx_ledger_move(l, i, PHX_LEDGER_FREE, n, PHX_REASON_lease_end);
	}
	lease.size -= n;
	lease.idle -= re_min(lease.idle, n);
	lease.end_ms += re->params.lease_ms;
	if (lease.size)
		phx_ledger_lease_push(l, re, lease);
}

/* Ends all leases of RE `i` that are due. */
static void end_leases_of(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);

	while (re->r.leases.n && first_lease(re)->end_ms <= l->now_ms && !l->error) {
		if (!re->policy->per_job_lease) {
			renew(l, i);
			continue;
		}
		uint32_t size = first_lease(re)->size;
		struct phx_batch_counts c;
		phx_batch_counts(re->batch, &c);
		phx_batch_give(re->batch, size);
		re->r.kept -= size;
		phx_ledger_lease_drop_first(re);
		phx_ledger_move(l, i, PHX_LEDGER_FREE, size, PHX_REASON_job_lease_end);
	}
}

static void end_leases(struct phx_ledger *l)
{
	bool changed = false;

	for (uint32_t i = 0; i < l->res.n; i++)
		if (active(re_at(l, i)) && first_lease_ends(re_at(l, i)) <= l->now_ms) {
			end_leases_of(l, i);
			changed = true;
		}
	if (changed)
		phx_ledger_allocate(l);
}

static void lease_units(struct phx_ledger *l)
{
	for (uint32_t i = 0; i < l->res.n; i++) {
		struct re *re = re_at(l, i);
		if (!active(re) || re->r.next_unit_ms > l->now_ms)
			continue;
		int64_t unit = re->params.lease_ms;
		re->r.next_unit_ms += ((l->now_ms - re->r.next_unit_ms) / unit + 1) * unit;
		phx_ledger_lease_unit(l, i);
	}
}

static void cycles(struct phx_ledger *l)
{
	for (uint32_t i = 0; i < l->res.n; i++) {
		struct re *re = re_at(l, i);
		if (!active(re) || re->r.next_cycle_ms > l->now_ms)
			continue;
		re->r.last_cycle_ms = l->now_ms;
		re->r.next_cycle_ms = INT64_MAX; /* set anew while jobs wait */
		re->r.cycle_open = true;
		phx_ledger_cycle(l, i);
	}
}

int phx_ledger_tick(struct phx_ledger *l, int64_t now_ms, struct phx_list *ret_actions)
{
	phx_ledger_begin(l, now_ms, ret_actions);
	end_windows(l);
	end_leases(l);
	lease_units(l);
	cycles(l);
	return phx_ledger_finish(l);
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t phx_ledger_next_ms(const struct phx_ledger *l)
{
	int64_t next = INT64_MAX;

	for (uint32_t i = 0; i < l->res.n; i++) {
		const struct re *re = re_at(l, i);
		if (!active(re))
			continue;
		if (!re->batch) {
			next = sooner(next, window_ends(re));
			continue;
		}
		next = sooner(next, first_lease_ends(re));
		next = sooner(next, re->r.next_unit_ms);
		next = sooner(next, re->r.next_cycle_ms);
	}
	return next;
}

/* ---- the scheduling pass ---- */

static void started(struct phx_ledger *l, uint32_t i, uint64_t id, uint32_t *idle)
{
	struct re *re = re_at(l, i);
	uint32_t size = phx_batch_job(re->batch, id)->size;

	if (re->r.asks.n)
		phx_ledger_unask(re, id);
	if (re->scoped)
		phx_ledger_parts_take(l, re, id, size, *idle);
	*idle -= size;
	phx_ledger_act(l,
		       (struct phx_ledger_action){.kind = PHX_LEDGER_START,
						  .re = (int)i,
						  .to = PHX_LEDGER_FREE,
						  .job = id,
						  .nodes = size});
}

static void pass(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	struct phx_batch_counts c;

	if (re->params.cycle_ms && !re->r.cycle_open)
		return;
	re->r.cycle_open = false;
	if (!phx_batch_pass_due(re->batch))
		return;
	phx_batch_counts(re->batch, &c);
	l->ids.n = 0;
	if (phx_batch_pass(re->batch, l->now_ms, &l->ids) < 0)
		l->error = -ENOMEM;
	for (uint32_t k = 0; k < l->ids.n; k++)
		started(l, i, *PHX_LIST_AT(&l->ids, uint64_t, k), &c.idle);
}

int phx_ledger_pass(struct phx_ledger *l, int64_t now_ms, struct phx_list *ret_actions)
{
	phx_ledger_begin(l, now_ms, ret_actions);
	for (uint32_t i = 0; i < l->res.n && !l->error; i++)
		if (active(re_at(l, i)) && re_at(l, i)->batch)
			pass(l, i);
	return phx_ledger_finish(l);
}
