/* The figures of an RE and of the cluster: node·milliseconds, peaks, present
 * counts. Called by every event before it changes anything, and by all readers.
 * Pure. */
#include <string.h>

#include "ledger/internal.h"

struct level {
	uint64_t held, busy, unmet;
};

static struct level level_of(const struct re *re)
{
	struct phx_batch_counts c;
	uint32_t want = re->r.want, idle = re->r.idle;

	if (re->r.state == RE_GONE)
		return (struct level){0};
	if (!re->batch)
		return (struct level){(uint64_t)idle + re->r.away + re->r.coming,
				      re_min(idle, want), want > idle ? want - idle : 0};
	phx_batch_counts(re->batch, &c);
	return (struct level){(uint64_t)c.idle + c.busy + re->r.kept + re->r.away + re->r.coming,
			      c.busy, (uint64_t)re->r.asked + re->r.unleased};
}

static void add_up(struct phx_ledger_meter *m, struct level level, int64_t now_ms)
{
	uint64_t passed = (uint64_t)(now_ms - m->at_ms);

	if (now_ms <= m->at_ms)
		return;
	m->at_ms = now_ms;
	m->held_node_ms += level.held * passed;
	m->busy_node_ms += level.busy * passed;
	m->unmet_node_ms += level.unmet * passed;
	if (level.held > m->peak)
		m->peak = re_min(UINT32_MAX, level.held);
}

/* All REs together; nodes that a pair's lower bounds reserve count as held (000 6.6: idle
 * coordinated nodes). */
static struct level level_of_all(const struct phx_ledger *l)
{
	struct level sum = {0};

	for (uint32_t i = 0; i < l->res.n; i++) {
		const struct re *re = re_at(l, i);
		if (re->r.partner && re->r.partner - 1 < i)
			continue; /* counted with its partner */
		struct level level = level_of(re);
		uint64_t lower = re_lower(re);
		if (re->r.partner) {
			const struct re *partner = re_at(l, re->r.partner - 1);
			struct level more = level_of(partner);
			lower += re_lower(partner);
			level = (struct level){level.held + more.held, level.busy + more.busy,
					       level.unmet + more.unmet};
		}
		sum.held += level.held > lower ? level.held : lower;
		sum.busy += level.busy;
		sum.unmet += level.unmet;
	}
	return sum;
}

void phx_ledger_advance(struct phx_ledger *l, int64_t now_ms)
{
	if (now_ms <= l->now_ms)
		return;
	if (l->now_ms == INT64_MIN) /* the first event ever */
		l->total.at_ms = now_ms;
	l->now_ms = now_ms;
	if (!l->res.n) {
		l->total.at_ms = now_ms;
		return;
	}
	add_up(&l->total, level_of_all(l), now_ms);
	for (uint32_t i = 0; i < l->res.n; i++)
		if (re_at(l, i)->r.state != RE_GONE)
			add_up(&re_at(l, i)->r.meter, level_of(re_at(l, i)), now_ms);
}

/* ---- looking ---- */

static const struct re *at(const struct phx_ledger *l, int i)
{
	return i >= 0 && (uint32_t)i < l->res.n ? re_at(l, (uint32_t)i) : NULL;
}

void phx_ledger_counts(const struct phx_ledger *l, int re, struct phx_ledger_counts *ret)
{
	const struct re *it = at(l, re);

	memset(ret, 0, sizeof(*ret));
	if (!it || it->r.state == RE_GONE)
		return;
	ret->coming = it->r.coming;
	ret->owed = it->r.owed;
	ret->away = it->r.away;
	if (!it->batch) {
		ret->busy = re_min(it->r.idle, it->r.want);
		ret->idle = it->r.idle - ret->busy;
		ret->want = it->r.want;
		return;
	}
	phx_batch_counts(it->batch, &ret->batch);
	ret->idle = ret->batch.idle + it->r.kept;
	ret->busy = ret->batch.busy;
	ret->want = it->r.asked + it->r.unleased;
}

uint32_t phx_ledger_free_nodes(const struct phx_ledger *l)
{
	return l->free;
}

void phx_ledger_meter(const struct phx_ledger *l, int re, int64_t now_ms,
		      struct phx_ledger_meter *ret)
{
	const struct re *it = at(l, re);

	memset(ret, 0, sizeof(*ret));
	if (!it)
		return;
	*ret = it->r.meter;
	add_up(ret, level_of(it), now_ms);
}

void phx_ledger_total(const struct phx_ledger *l, int64_t now_ms, struct phx_ledger_meter *ret)
{
	*ret = l->total;
	add_up(ret, level_of_all(l), now_ms);
}

int phx_ledger_partner(const struct phx_ledger *l, int re)
{
	const struct re *it = at(l, re);

	return it && it->r.state != RE_GONE ? (int)it->r.partner - 1 : -1;
}

const struct phx_batch *phx_ledger_batch(const struct phx_ledger *l, int re)
{
	const struct re *it = at(l, re);

	return it ? it->batch : NULL;
}
