/* The leased nodes of the IaaS model: which are booting, idle or busy, in which
 * pool, and what they have cost. Used by iaas.c alone. */
#ifndef PHX_IAAS_FLEET_H
#define PHX_IAAS_FLEET_H

#include "policy/iaas.h"

enum phx_fleet_state { PHX_FLEET_GONE, PHX_FLEET_BOOTING, PHX_FLEET_IDLE, PHX_FLEET_BUSY };

struct phx_fleet_node {
	int state; /* enum phx_fleet_state */
	int class; /* pool: enum phx_iaas_class */
	/* number of the lease: a boot that was cancelled is told from the next one */
	uint32_t lease;
	int64_t asked_ms, ready_ms, idle_ms; /* since when it is booting, ready, idle */
	/* among the idle ones of its pool, longest idle first; UINT32_MAX: none */
	uint32_t next, prev;
};

struct phx_fleet_pool {
	uint32_t booting, busy, idle;
	uint32_t first, last; /* idle nodes */
	uint64_t *idle_bits;  /* a bit a node: is it idle in this pool? */
};

struct phx_fleet {
	struct phx_fleet_node *node;
	uint32_t max;
	uint32_t lowest_gone; /* no node below it is gone */
	int64_t charge_ms;
	struct phx_fleet_pool pool[PHX_IAAS_CLASS_COUNT_];
	uint32_t leased, peak, n_leases, n_cancelled;
	int64_t used_ms;    /* of released leases, ready to release */
	uint64_t n_charged; /* charge units of released leases */
};

int phx_fleet_init(struct phx_fleet *f, uint32_t max, int64_t charge_ms); /* -ENOMEM */
void phx_fleet_fini(struct phx_fleet *f);

/** Lease the node with the lowest free number; there must be one. Returns its number. */
uint32_t phx_fleet_lease(struct phx_fleet *f, int class, int64_t now_ms);
/** A boot is over. False when that lease is not the node's any more. */
bool phx_fleet_ready(struct phx_fleet *f, uint32_t node, uint32_t lease, int64_t now_ms);
/** The idle node of a pool with the lowest number becomes busy; there must be one. */
uint32_t phx_fleet_occupy(struct phx_fleet *f, int class);
/** An idle node becomes busy. */
void phx_fleet_occupy_node(struct phx_fleet *f, uint32_t node);
/** A busy node becomes idle. */
void phx_fleet_vacate(struct phx_fleet *f, uint32_t node, int64_t now_ms);
/** Release the node of a pool that is idle longest; there must be one. */
uint32_t phx_fleet_release_idle(struct phx_fleet *f, int class, int64_t now_ms);
/** Cancel the boot of a pool that was asked for last; there must be one. */
void phx_fleet_cancel(struct phx_fleet *f, int class, int64_t now_ms);
/** The end: release all that is leased. */
void phx_fleet_release_all(struct phx_fleet *f, int64_t now_ms);

/** Idle nodes of a pool that are idle since `since_ms` or longer. */
uint32_t phx_fleet_idle_since(const struct phx_fleet *f, int class, int64_t since_ms);
/** Since when the node idle longest is idle; INT64_MAX: none is. */
int64_t phx_fleet_first_idle_ms(const struct phx_fleet *f, int class);

#endif
