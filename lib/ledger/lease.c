/* Leases of dynamic nodes (003 3.5) and of the nodes of single jobs (000 6.6.1), kept in one heap
 * for each RE. Called by the ledger's events, by grants and by the timers. Moves no node. Pure. */
#include <errno.h>

#include "base/heap.h"
#include "ledger/internal.h"

static bool sooner(const struct phx_ledger_lease *a, const struct phx_ledger_lease *b)
{
	return a->end_ms < b->end_ms || (a->end_ms == b->end_ms && a->seq < b->seq);
}

PHX_HEAP(lease, struct phx_ledger_lease, sooner)

static struct phx_ledger_lease *lease_at(const struct re *re, uint32_t k)
{
	return PHX_LIST_AT(&re->r.leases, struct phx_ledger_lease, k);
}

void phx_ledger_lease_drop_first(struct re *re)
{
	re->r.leased -= lease_pop(&re->r.leases).size;
}

void phx_ledger_lease_push(struct phx_ledger *l, struct re *re, struct phx_ledger_lease lease)
{
	if (lease_push(&re->r.leases, lease) < 0)
		l->error = -ENOMEM;
	else
		re->r.leased += lease.size;
}

void phx_ledger_lease_open(struct phx_ledger *l, uint32_t i, uint32_t size)
{
	struct re *re = re_at(l, i);

	phx_ledger_lease_push(
		l, re,
		(struct phx_ledger_lease){l->now_ms + re->params.lease_ms, ++l->seq, size, size});
}

/* ---- leases of jobs ---- */

bool phx_ledger_lease_keep(struct phx_ledger *l, uint32_t i, uint32_t size, int64_t start_ms)
{
	struct re *re = re_at(l, i);
	int64_t unit = re->params.lease_ms, run = l->now_ms - start_ms;
	int64_t end = unit > 0 && run > 0 ? start_ms + (run + unit - 1) / unit * unit : l->now_ms;

	if (!size)
		return true;
	re->r.meter.n_adjusted++;
	l->total.n_adjusted++;
	if (end <= l->now_ms) /* also a job without run time: it leases no node (reading 15) */
		return false;
	if (phx_batch_take(re->batch, size) < 0)
		return true;
	re->r.kept += size;
	phx_ledger_lease_push(l, re, (struct phx_ledger_lease){end, ++l->seq, size, 0});
	return true;
}

void phx_ledger_lease_unkeep(struct re *re, uint32_t n)
{
	re->r.kept -= n;
	while (n) {
		struct phx_ledger_lease *first = lease_at(re, 0);
		uint32_t less = re_min(n, first->size);
		first->size -= less;
		re->r.leased -= less;
		n -= less;
		if (!first->size)
			phx_ledger_lease_drop_first(re);
	}
}

void phx_ledger_ask(struct phx_ledger *l, uint32_t i, uint64_t job, uint32_t nodes)
{
	struct re *re = re_at(l, i);
	struct phx_ledger_ask *ask = phx_ledger_push(l, &re->r.asks, sizeof(*ask));

	if (!ask)
		return;
	*ask = (struct phx_ledger_ask){job, nodes};
	re->r.unleased += nodes;
	if (!re->r.asked_seq)
		re->r.asked_seq = ++l->seq;
}

void phx_ledger_unask(struct re *re, uint64_t job)
{
	for (uint32_t k = 0; k < re->r.asks.n; k++) {
		struct phx_ledger_ask *ask = PHX_LIST_AT(&re->r.asks, struct phx_ledger_ask, k);
		if (ask->job != job)
			continue;
		re->r.unleased -= ask->nodes;
		phx_list_remove(&re->r.asks, sizeof(*ask), k);
		return;
	}
}

/* ---- leases of dynamic nodes ---- */

/* The newest lease, by its seq; the number of leases is small. */
static struct phx_ledger_lease *newest(const struct re *re)
{
	struct phx_ledger_lease *best = lease_at(re, 0);

	PHX_LIST_EACH(struct phx_ledger_lease, lease, &re->r.leases)
		if (lease->seq > best->seq)
			best = lease;
	return best;
}

void phx_ledger_lease_trim(struct re *re)
{
	uint32_t has = phx_ledger_owned(re) + re->r.coming + re->r.owed_in,
		 lower = re->r.agreement.lower;
	uint32_t dynamic = has > lower ? has - lower : 0;

	while (re->r.leased > dynamic) {
		struct phx_ledger_lease *lease = newest(re);
		uint32_t less = re_min(lease->size, re->r.leased - dynamic);
		lease->size -= less;
		re->r.leased -= less;
		lease->idle = re_min(lease->idle, lease->size);
		if (!lease->size)
			lease_drop(&re->r.leases, (uint32_t)(lease - lease_at(re, 0)));
	}
}

/* ---- nodes of jobs by lease, where a lease releases its own nodes only ---- */

static uint32_t idle_of_leases(const struct re *re)
{
	uint32_t sum = 0;

	PHX_LIST_EACH(struct phx_ledger_lease, lease, &re->r.leases)
		sum += lease->idle;
	return sum;
}

/* The oldest lease that has an idle node: nodes are taken in the order in which they came. */
static struct phx_ledger_lease *oldest_idle(const struct re *re)
{
	struct phx_ledger_lease *best = NULL;

	PHX_LIST_EACH(struct phx_ledger_lease, lease, &re->r.leases)
		if (lease->idle && (!best || lease->seq < best->seq))
			best = lease;
	return best;
}

void phx_ledger_parts_take(struct phx_ledger *l, struct re *re, uint64_t job, uint32_t nodes,
			   uint32_t idle_before)
{
	uint32_t dynamic = idle_of_leases(re);
	uint32_t initial = idle_before > dynamic ? idle_before - dynamic : 0;

	nodes -= re_min(nodes, initial);
	while (nodes) {
		struct phx_ledger_lease *lease = oldest_idle(re);
		struct phx_ledger_part *part =
			lease ? phx_ledger_push(l, &re->r.parts, sizeof(*part)) : NULL;
		if (!part)
			return;
		*part = (struct phx_ledger_part){job, lease->seq, re_min(nodes, lease->idle)};
		lease->idle -= part->nodes;
		nodes -= part->nodes;
	}
}

static void give_back(struct re *re, const struct phx_ledger_part *part)
{
	PHX_LIST_EACH(struct phx_ledger_lease, lease, &re->r.leases)
		if (lease->seq == part->lease)
			lease->idle = re_min(lease->size, (uint64_t)lease->idle + part->nodes);
}

void phx_ledger_parts_give(struct re *re, uint64_t job)
{
	struct phx_ledger_part *parts = re->r.parts.items;
	uint32_t kept = 0;

	for (uint32_t k = 0; k < re->r.parts.n; k++) {
		if (parts[k].job == job)
			give_back(re, &parts[k]);
		else
			parts[kept++] = parts[k];
	}
	re->r.parts.n = kept;
}
