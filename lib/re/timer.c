/* The ledger's timers: web windows, leases, lease units, cycles; and the
 * scheduling pass. Within one instant in this order (policies.md section 0).
 * Called by lib/core and the simulator. Pure. */
#include <errno.h>

#include "re/internal.h"

static bool active(const struct re *re)
{
	return re->r.state == RE_ACTIVE;
}

/* ---- web windows ---- */

/* Instances of a pair share what the pair may have: its bounds limit the grants, not the wish. */
static struct phx_web_params web_params(const struct re *re)
{
	const struct phx_agreement *a = &re->r.agreement;

	return (struct phx_web_params){
		.window_ms = (int64_t)a->window_s * 1000,
		.threshold_milli = a->threshold_milli,
		.lower = re_least_instances(re),
		.upper = a->upper && a->upper != a->lower ? a->upper : UINT32_MAX,
	};
}

static int64_t window_ends(const struct re *re)
{
	return re->r.window.n_samples ? re->r.window.began_ms + (int64_t)re->r.agreement.window_s * 1000 : INT64_MAX;
}

int phx_ledger_sample(struct phx_ledger *l, int re, uint32_t use_ppm, int64_t now_ms)
{
	struct re *it = phx_re_get(l, re);
	uint32_t none;

	if (!it || !active(it))
		return -ENOENT;
	if (it->batch)
		return -EINVAL;
	struct phx_web_params params = web_params(it);
	phx_re_advance(l, now_ms);
	if (!it->r.window.n_samples) /* windows without samples have passed */
		phx_web_window_end(&it->r.window, &params, l->now_ms, &none);
	phx_web_sample(&it->r.window, use_ppm);
	return 0;
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
		changed = true;
	}
	if (changed)
		phx_re_balance(l);
}

/* ---- leases, lease units, cycles ---- */

static int64_t first_lease_ends(const struct re *re)
{
	return re->r.leases.n ? PHX_LIST_AT(&re->r.leases, struct phx_ledger_lease, 0)->end_ms : INT64_MAX;
}

static void end_leases(struct phx_ledger *l)
{
	bool changed = false;

	for (uint32_t i = 0; i < l->res.n; i++)
		if (active(re_at(l, i)) && first_lease_ends(re_at(l, i)) <= l->now_ms) {
			phx_re_lease_ends(l, i);
			changed = true;
		}
	if (changed)
		phx_re_balance(l);
}

static void lease_units(struct phx_ledger *l)
{
	for (uint32_t i = 0; i < l->res.n; i++) {
		struct re *re = re_at(l, i);
		if (!active(re) || re->r.next_unit_ms > l->now_ms)
			continue;
		int64_t unit = re->params.lease_ms;
		re->r.next_unit_ms += ((l->now_ms - re->r.next_unit_ms) / unit + 1) * unit;
		phx_re_lease_unit(l, i);
	}
}

/* The first instant of the cycle, from now on, that was not used yet. */
static int64_t instant_of_cycle(const struct phx_ledger *l, const struct re *re)
{
	int64_t cycle = re->params.cycle_ms;
	int64_t at = re->r.began_ms + (l->now_ms - re->r.began_ms + cycle - 1) / cycle * cycle;

	return at > re->r.last_cycle_ms ? at : at + cycle;
}

void phx_re_set_cycle(const struct phx_ledger *l, struct re *re)
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

static void cycles(struct phx_ledger *l)
{
	for (uint32_t i = 0; i < l->res.n; i++) {
		struct re *re = re_at(l, i);
		if (!active(re) || re->r.next_cycle_ms > l->now_ms)
			continue;
		re->r.last_cycle_ms = l->now_ms;
		re->r.next_cycle_ms = INT64_MAX; /* set anew while jobs wait */
		re->r.cycle_open = true;
		phx_re_cycle(l, i);
	}
}

int phx_ledger_tick(struct phx_ledger *l, int64_t now_ms, struct phx_list *ret_actions)
{
	phx_re_begin(l, now_ms, ret_actions);
	end_windows(l);
	end_leases(l);
	lease_units(l);
	cycles(l);
	return phx_re_finish(l);
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
		phx_re_unask(re, id);
	if (re->scoped)
		phx_re_parts_take(l, re, id, size, *idle);
	*idle -= size;
	phx_re_act(l, (struct phx_ledger_action){
			      .kind = PHX_LEDGER_START, .re = (int)i, .to = PHX_LEDGER_FREE, .job = id, .nodes = size});
}

static int pass(struct phx_ledger *l, uint32_t i)
{
	struct re *re = re_at(l, i);
	struct phx_batch_counts c;

	if (re->params.cycle_ms && !re->r.cycle_open)
		return 0;
	re->r.cycle_open = false;
	if (!phx_batch_pass_due(re->batch))
		return 0;
	phx_batch_counts(re->batch, &c);
	l->ids.n = 0;
	int r = phx_batch_pass(re->batch, l->now_ms, &l->ids);
	if (r < 0)
		return r;
	for (uint32_t k = 0; k < l->ids.n; k++)
		started(l, i, *PHX_LIST_AT(&l->ids, uint64_t, k), &c.idle);
	return 0;
}

int phx_ledger_pass(struct phx_ledger *l, int64_t now_ms, struct phx_list *ret_actions)
{
	int r = 0;

	phx_re_begin(l, now_ms, ret_actions);
	for (uint32_t i = 0; i < l->res.n && r == 0; i++)
		if (active(re_at(l, i)) && re_at(l, i)->batch)
			r = pass(l, i);
	int finished = phx_re_finish(l);
	return r < 0 ? r : finished;
}
