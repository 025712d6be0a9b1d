/* What a node counts as, and when a node or job wants a tick: predicates of the state, of which the
 * index keeps the results (sets.def). Pure. */
#ifndef PHX_STATE_COUNTS_H
#define PHX_STATE_COUNTS_H

#include "state/state.h"

/** Counted free by the ledger. */
bool phx_node_counts_free(const struct phx_state *s, const struct phx_node *n);
/** Counted free, and yet not in the free pool or not to be given away; or given up by an RE that is
 * no more. */
bool phx_node_is_stray(const struct phx_state *s, const struct phx_node *n);
/** Held by an RE, without a job of it. */
bool phx_node_is_idle(const struct phx_state *s, const struct phx_node *n);
/** Counted free or idle, and in another pool than that. */
bool phx_node_is_odd(const struct phx_state *s, const struct phx_node *n);
/** Cannot go to some RE. */
bool phx_node_is_unfit(const struct phx_state *s, const struct phx_node *n);
/** Would start a job that belongs to no RE. */
bool phx_node_takes_jobs(const struct phx_state *s, const struct phx_node *n);
/** Could start one, some day, as it is assigned now. */
bool phx_node_could_take_jobs(const struct phx_state *s, const struct phx_node *n);
/** Runs a role that is behind a balancer. */
bool phx_node_is_instance(const struct phx_state *s, const struct phx_node *n);
/** Its role is that of a balancer. */
bool phx_node_is_to_direct(const struct phx_state *s, const struct phx_node *n);
/** Its step waits for a director to take it out of the balancers' tables. */
bool phx_node_waits_for_director(const struct phx_state *s, const struct phx_node *n);

/** In the free pool, and to be given away. */
bool phx_node_is_available(const struct phx_node *n);
/** An RE that is no more gave it up, and it is in that pool still: nobody counts on it, whatever is
 * done with it there. */
bool phx_node_is_given_up(const struct phx_state *s, const struct phx_node *n);
/** Nobody counts on what stays in this pool: its RE was deactivated, and may be no more. */
bool phx_pool_is_deserted(const struct phx_state *s, const char *pool);

/** Would anything come to it through a balancer, as it is assigned? */
bool phx_node_is_balanced(const struct phx_state *s, const struct phx_node *n);

/** When the node wants a tick; INT64_MAX: never. */
int64_t phx_node_due(const struct phx_node *n);
/** When the run of the job has lasted for as long as it may; INT64_MAX: never. */
int64_t phx_job_limit_due(const struct phx_job *j);
/** When the job wants a tick, for its time or for the lease of a part; INT64_MAX: never. */
int64_t phx_job_due(const struct phx_job *j);

/** The web entry of `role` on nodes of `pool`: with the address of the pool's web RE, if the role
 * is that RE's. */
struct phx_role_web phx_web_of_pool(const struct phx_state *s, const char *pool,
				    const struct phx_role *role);

/** What `n` is as an instance of `role`: the role's words, with the address of the web RE in whose
 * pool it is. */
struct phx_role_web phx_core_web_of(const struct phx_state *s, const struct phx_node *n,
				    const struct phx_role *role);

/** What an agent in the deploy environment does when it has no order: 'local' = enter the installed
 * system. */
bool phx_core_boot_local(const struct phx_state *s, const struct phx_node *n);

#endif
