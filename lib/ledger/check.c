/* The invariants of a ledger: they hold after every event. Called by tests, by the
 * simulator under faults, and when a snapshot is read. Changes nothing. Pure. */
#include <errno.h>

#include "ledger/internal.h"

typedef unsigned long long ull;

static int check_debts(const struct phx_ledger *l, uint32_t i, uint64_t *owed_in,
		       struct phx_err *err)
{
	const struct re *re = re_at(l, i);
	struct phx_batch_counts c = {0};
	uint64_t sum = 0;

	PHX_LIST_EACH(struct phx_ledger_debt, d, &re->r.debts) {
		if (!d->nodes || d->to >= (int64_t)l->res.n || d->to < PHX_LEDGER_FREE ||
		    d->to == (int64_t)i)
			return phx_err_set(err, -EPROTO, "%s owes %u nodes to %lld",
					   re->r.agreement.name, d->nodes, (long long)d->to);
		sum += d->nodes;
		if (d->to >= 0)
			owed_in[d->to] += d->nodes;
	}
	if (sum != re->r.owed)
		return phx_err_set(err, -EPROTO, "%s owes %u nodes, its debts are %llu",
				   re->r.agreement.name, re->r.owed, (ull)sum);
	PHX_LIST_EACH(struct phx_ledger_debt, d, &re->r.debts)
		if (phx_ledger_idle_for(l, i, d->to))
			return phx_err_set(err, -EPROTO, "%s owes %u nodes and has %u idle",
					   re->r.agreement.name, d->nodes,
					   phx_ledger_idle_for(l, i, d->to));
	if (re->batch)
		phx_batch_counts(re->batch, &c);
	if (sum > (uint64_t)c.killing + re->r.coming)
		return phx_err_set(err, -EPROTO,
				   "%s owes %llu nodes, only %u are ending and %u coming",
				   re->r.agreement.name, (ull)sum, c.killing, re->r.coming);
	return 0;
}

static int check_all_debts(const struct phx_ledger *l, struct phx_err *err)
{
	uint64_t *owed_in = calloc(l->res.n ? l->res.n : 1, sizeof(*owed_in));
	int r = owed_in ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < l->res.n && r == 0; i++)
		r = check_debts(l, i, owed_in, err);
	for (uint32_t i = 0; i < l->res.n && r == 0; i++)
		if (re_at(l, i)->r.owed_in != owed_in[i])
			r = phx_err_set(err, -EPROTO, "%u nodes are owed to %s, the debts are %llu",
					re_at(l, i)->r.owed_in, re_at(l, i)->r.agreement.name,
					(ull)owed_in[i]);
	free(owed_in);
	return r;
}

static int check_leases(const struct re *re, struct phx_err *err)
{
	uint64_t sum = 0, asked = 0;

	PHX_LIST_EACH(struct phx_ledger_lease, lease, &re->r.leases) {
		sum += lease->size;
		if (!lease->size || lease->idle > lease->size)
			return phx_err_set(err, -EPROTO,
					   "%s has a lease of %u nodes, %u of them idle",
					   re->r.agreement.name, lease->size, lease->idle);
	}
	PHX_LIST_EACH(struct phx_ledger_ask, ask, &re->r.asks)
		asked += ask->nodes;
	if (sum != re->r.leased || asked != re->r.unleased)
		return phx_err_set(err, -EPROTO,
				   "%s leases %llu nodes and asks for %llu, its sums are %u and %u",
				   re->r.agreement.name, (ull)sum, (ull)asked, re->r.leased,
				   re->r.unleased);
	if (re->policy->per_job_lease ? sum != re->r.kept : re->r.kept != 0)
		return phx_err_set(err, -EPROTO, "%s keeps %u nodes, its leases are %llu",
				   re->r.agreement.name, re->r.kept, (ull)sum);
	uint64_t has = (uint64_t)phx_ledger_owned(re) + re->r.coming + re->r.owed_in;
	if (sum && !re->policy->per_job_lease && sum + re_lower(re) > has)
		return phx_err_set(err, -EPROTO,
				   "%s leases %llu dynamic nodes, it has %llu and %u are its own",
				   re->r.agreement.name, (ull)sum, (ull)has, re_lower(re));
	return 0;
}

static int check_partner(const struct phx_ledger *l, uint32_t i, struct phx_err *err)
{
	const struct re *re = re_at(l, i);
	uint32_t partner = re->r.partner;

	if (!partner)
		return 0;
	if (partner > l->res.n || re->r.state != RE_ACTIVE ||
	    re_at(l, partner - 1)->r.partner != i + 1 ||
	    re->kind->has_demand == re_at(l, partner - 1)->kind->has_demand)
		return phx_err_set(err, -EPROTO, "%s and its partner are not a pair",
				   re->r.agreement.name);
	return 0;
}

/* Every node is counted in one place. The nodes that pairs lack of their lower bounds are free, on
 * their way to the free pool, or missing: no reclaim took them, and no other RE was granted them.
 */
static int check_total(const struct phx_ledger *l, struct phx_err *err)
{
	uint64_t sum = (uint64_t)l->free + l->returning, reserved = 0;

	if (l->unlimited)
		return 0;
	for (uint32_t i = 0; i < l->res.n; i++) {
		const struct re *re = re_at(l, i);
		struct phx_ledger_pair pair = phx_ledger_pair(l, i);
		if (re->r.state == RE_GONE)
			continue;
		sum += (uint64_t)phx_ledger_owned(re) + re->r.coming;
		if (!(re->r.partner && re->r.partner - 1 < i) && pair.lower > pair.net)
			reserved += pair.lower - pair.net;
	}
	if (sum != l->nodes)
		return phx_err_set(err, -EPROTO, "%llu nodes are accounted for, the cluster has %u",
				   (ull)sum, l->nodes);
	if (reserved > (uint64_t)l->free + phx_ledger_returning(l) + l->missing)
		return phx_err_set(
			err, -EPROTO,
			"lower bounds reserve %llu nodes, %u are free, %u on their way, %u missing",
			(ull)reserved, l->free, phx_ledger_returning(l), l->missing);
	return 0;
}

static int check_re(const struct phx_ledger *l, uint32_t i, struct phx_err *err)
{
	const struct re *re = re_at(l, i);

	if (re->r.state == RE_GONE)
		return phx_ledger_owned(re) || re->r.coming || re->r.owed || re->r.owed_in
			? phx_err_set(err, -EPROTO, "%s is deactivated and still has nodes",
				      re->r.agreement.name)
			: 0;
	int r = check_partner(l, i, err);
	return r == 0 ? check_leases(re, err) : r;
}

int phx_ledger_check(const struct phx_ledger *l, struct phx_err *err)
{
	int r = 0;

	for (uint32_t i = 0; i < l->res.n && r == 0; i++)
		r = check_re(l, i, err);
	if (r == 0)
		r = check_all_debts(l, err);
	return r == 0 ? check_total(l, err) : r;
}
