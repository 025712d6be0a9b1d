/* Declarations that the policies share: one symbol a policy, and moves that several of them wish.
 * Used within lib/policy only. */
#ifndef PHX_POLICY_INTERNAL_H
#define PHX_POLICY_INTERNAL_H

#include "policy/policy.h"

#define POLICY(name, ...) extern const struct phx_policy phx_policy_##name;
#include "policy/policy.def"
#undef POLICY

/** Adds a wish to move n nodes, unless n is 0. A move from batch to web is a forced return. */
void phx_policy_wish(struct phx_policy_moves *moves, enum phx_policy_place from,
		     enum phx_policy_place to, uint64_t n, enum phx_policy_reason reason);

/** Nodes that the side has or will have: held or coming, less those promised to others. */
uint32_t phx_policy_holdings(const struct phx_policy_side *s);

/** web_request under a provider that grants: all k nodes come from the free pool (000 5.2,
 * 6.6.2). */
void phx_policy_web_take(const struct phx_policy_params *p, const struct phx_policy_view *v,
			 uint32_t k, struct phx_policy_moves *ret);
/** web_request in a private cluster (000 5.1, 001 II-B): free nodes, then idle nodes of the batch
 * partner, then lent nodes; the partner must return the shortfall. */
void phx_policy_web_force(const struct phx_policy_params *p, const struct phx_policy_view *v,
			  uint32_t k, struct phx_policy_moves *ret);
/** web_release: k nodes go to the free pool. */
void phx_policy_web_give(const struct phx_policy_params *p, const struct phx_policy_view *v,
			 uint32_t k, struct phx_policy_moves *ret);
/** All free nodes go to the batch RE. */
void phx_policy_all_to_batch(const struct phx_policy_params *p, const struct phx_policy_view *v,
			     struct phx_policy_moves *ret);

#endif
