/* Nodes of the IaaS model and their leases. Called by iaas.c; decides nothing.
 *
 *   gone ──lease──▶ booting ──ready──▶ idle ◀──▶ busy
 *     ▲               │ cancel          │ release
 *     └───────────────┴─────────────────┘ */
#include <assert.h>
#include <errno.h>

#include "iaas/fleet.h"

static const uint32_t none = UINT32_MAX;

int phx_fleet_init(struct phx_fleet *f, uint32_t max, int64_t charge_ms)
{
	bool failed;
	*f = (struct phx_fleet){
		.node = calloc(max, sizeof(*f->node)), .max = max, .charge_ms = charge_ms};
	failed = !f->node;
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++) {
		f->pool[c].first = f->pool[c].last = none;
		f->pool[c].idle_bits = calloc(max / 64 + 1, sizeof(uint64_t));
		failed = failed || !f->pool[c].idle_bits;
	}
	if (failed)
		phx_fleet_fini(f);
	return failed ? -ENOMEM : 0;
}

void phx_fleet_fini(struct phx_fleet *f)
{
	free(f->node);
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++)
		free(f->pool[c].idle_bits);
	*f = (struct phx_fleet){0};
}

uint32_t phx_fleet_lease(struct phx_fleet *f, int class, int64_t now_ms)
{
	uint32_t i = f->lowest_gone;
	while (i < f->max && f->node[i].state != PHX_FLEET_GONE)
		i++;
	assert(i < f->max);
	f->lowest_gone = i + 1;
	f->node[i] = (struct phx_fleet_node){
		.state = PHX_FLEET_BOOTING,
		.class = class,
		.lease = ++f->n_leases,
		.asked_ms = now_ms,
		.next = none,
		.prev = none,
	};
	f->pool[class].booting++;
	if (++f->leased > f->peak)
		f->peak = f->leased;
	return i;
}

/* Last among the idle ones: nobody is idle for a shorter time. */
static void link_idle(struct phx_fleet *f, uint32_t i, int64_t now_ms)
{
	struct phx_fleet_node *n = &f->node[i];
	struct phx_fleet_pool *pool = &f->pool[n->class];
	n->state = PHX_FLEET_IDLE;
	n->idle_ms = now_ms;
	n->next = none;
	n->prev = pool->last;
	if (pool->last == none)
		pool->first = i;
	else
		f->node[pool->last].next = i;
	pool->last = i;
	pool->idle++;
	pool->idle_bits[i / 64] |= UINT64_C(1) << i % 64;
}

static void unlink_idle(struct phx_fleet *f, uint32_t i)
{
	const struct phx_fleet_node *n = &f->node[i];
	struct phx_fleet_pool *pool = &f->pool[n->class];
	assert(n->state == PHX_FLEET_IDLE);
	if (n->prev == none)
		pool->first = n->next;
	else
		f->node[n->prev].next = n->next;
	if (n->next == none)
		pool->last = n->prev;
	else
		f->node[n->next].prev = n->prev;
	pool->idle--;
	pool->idle_bits[i / 64] &= ~(UINT64_C(1) << i % 64);
}

bool phx_fleet_ready(struct phx_fleet *f, uint32_t node, uint32_t lease, int64_t now_ms)
{
	struct phx_fleet_node *n = &f->node[node];
	if (n->state != PHX_FLEET_BOOTING || n->lease != lease)
		return false;
	f->pool[n->class].booting--;
	n->ready_ms = now_ms;
	link_idle(f, node, now_ms);
	return true;
}

void phx_fleet_occupy_node(struct phx_fleet *f, uint32_t node)
{
	unlink_idle(f, node);
	f->node[node].state = PHX_FLEET_BUSY;
	f->pool[f->node[node].class].busy++;
}

uint32_t phx_fleet_occupy(struct phx_fleet *f, int class)
{
	const struct phx_fleet_pool *pool = &f->pool[class];
	uint32_t word = 0;
	assert(pool->idle);
	while (!pool->idle_bits[word])
		word++;
	uint32_t lowest = word * 64 + (uint32_t)__builtin_ctzll(pool->idle_bits[word]);
	phx_fleet_occupy_node(f, lowest);
	return lowest;
}

void phx_fleet_vacate(struct phx_fleet *f, uint32_t node, int64_t now_ms)
{
	assert(f->node[node].state == PHX_FLEET_BUSY);
	f->pool[f->node[node].class].busy--;
	link_idle(f, node, now_ms);
}

/* A lease is over; it costs one unit at least, also when the node never became ready. */
static void end_lease(struct phx_fleet *f, struct phx_fleet_node *n, int64_t now_ms)
{
	int64_t used = n->state == PHX_FLEET_BOOTING ? 0 : now_ms - n->ready_ms;
	int64_t units = (used + f->charge_ms - 1) / f->charge_ms;
	f->used_ms += used;
	f->n_charged += units > 0 ? (uint64_t)units : 1;
	f->n_cancelled += n->state == PHX_FLEET_BOOTING;
	n->state = PHX_FLEET_GONE;
	f->leased--;
	if ((uint32_t)(n - f->node) < f->lowest_gone)
		f->lowest_gone = (uint32_t)(n - f->node);
}

uint32_t phx_fleet_release_idle(struct phx_fleet *f, int class, int64_t now_ms)
{
	uint32_t i = f->pool[class].first;
	assert(i != none);
	unlink_idle(f, i);
	end_lease(f, &f->node[i], now_ms);
	return i;
}

void phx_fleet_cancel(struct phx_fleet *f, int class, int64_t now_ms)
{
	uint32_t latest = none;
	for (uint32_t i = 0; i < f->max; i++)
		if (f->node[i].state == PHX_FLEET_BOOTING && f->node[i].class == class &&
		    (latest == none || f->node[i].lease > f->node[latest].lease))
			latest = i;
	assert(latest != none);
	f->pool[class].booting--;
	end_lease(f, &f->node[latest], now_ms);
}

void phx_fleet_release_all(struct phx_fleet *f, int64_t now_ms)
{
	for (uint32_t i = 0; i < f->max; i++) {
		if (f->node[i].state == PHX_FLEET_IDLE)
			unlink_idle(f, i);
		if (f->node[i].state != PHX_FLEET_GONE)
			end_lease(f, &f->node[i], now_ms);
	}
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++)
		f->pool[c].booting = f->pool[c].busy = 0;
}

uint32_t phx_fleet_idle_since(const struct phx_fleet *f, int class, int64_t since_ms)
{
	uint32_t n = 0;
	for (uint32_t i = f->pool[class].first; i != none && f->node[i].idle_ms <= since_ms;
	     i = f->node[i].next)
		n++;
	return n;
}

int64_t phx_fleet_first_idle_ms(const struct phx_fleet *f, int class)
{
	uint32_t first = f->pool[class].first;
	return first == none ? INT64_MAX : f->node[first].idle_ms;
}
