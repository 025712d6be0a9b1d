/* Declarations that the provisioning rules share. Used within lib/policy only. */
#ifndef PHX_POLICY_IAAS_RULES_H
#define PHX_POLICY_IAAS_RULES_H

#include "policy/iaas.h"

/* The rules of each iaas_ID.c, gathered by iaas.c. */
#define PROVISIONING(id, ...) extern const struct phx_iaas_rules phx_iaas_rules_##id;
#include "policy/provisioning.def"
#undef PROVISIONING

/** Nodes that may still be leased. */
uint32_t phx_iaas_room(const struct phx_iaas_view *v);
/** Waiting tasks of a pool beyond its booting nodes: pending boots count as capacity (policies.md,
 * reading 19). */
uint32_t phx_iaas_uncovered(const struct phx_iaas_pool_view *pool);
/** Wishes the releases of od-s for a pool: idle nodes whose time is over and, where the idle time
 * is 0, booting nodes that no task waits for any more. */
void phx_iaas_let_go(const struct phx_iaas_params *p, const struct phx_iaas_view *v, int class,
		     struct phx_iaas_wish *ret);

/** What one queued task adds to the sum, in milliseconds. */
typedef int64_t (*phx_iaas_weigh_fn)(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
				     const struct phx_iaas_state *s,
				     const struct phx_iaas_task *task);
/** The rule of od-exectime, od-execavg, od-execkn and od-wait: leases one node when the queued
 * tasks together weigh more than `factor` mean boots, or when there is no node at all. When no task
 * waits, it releases nodes that were idle for long. */
void phx_iaas_threshold(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
			const struct phx_iaas_state *s, phx_iaas_weigh_fn weigh,
			struct phx_iaas_wish *ret);

/** Records an ended task in s->groups. -ENOMEM. */
int phx_iaas_remember(struct phx_iaas_state *s, uint64_t input, int64_t run_ms);

#endif
