/* Predicates of nodes, whose results the index keeps (node_sets.def), and the times at which nodes
 * and jobs want a tick. Pure. */
#ifndef PHX_STATE_NODE_SETS_H
#define PHX_STATE_NODE_SETS_H

#include "state/state.h"

/** Does the ledger count the node as free? */
bool phx_node_counts_free(const struct phx_state *s, const struct phx_node *n);
/** Is the node counted as free though it is not available, or was it given up by an RE that is
 * gone? */
bool phx_node_is_stray(const struct phx_state *s, const struct phx_node *n);
/** Does an RE hold the node, without a job of the RE on it? */
bool phx_node_is_idle(const struct phx_state *s, const struct phx_node *n);
/** Is the node counted as free or idle, but in another pool than the one it is in? */
bool phx_node_is_odd(const struct phx_state *s, const struct phx_node *n);
/** Is there an RE for which the node is marked as unfit? */
bool phx_node_is_unfit(const struct phx_state *s, const struct phx_node *n);
/** Would the node start a job of no RE now? */
bool phx_node_takes_jobs(const struct phx_state *s, const struct phx_node *n);
/** Could the node, with its present role, start a job of no RE some day? */
bool phx_node_could_take_jobs(const struct phx_state *s, const struct phx_node *n);
/** Does the node run a role that is behind a balancer? */
bool phx_node_is_instance(const struct phx_state *s, const struct phx_node *n);
/** Is its assigned role that of a director? */
bool phx_node_is_to_direct(const struct phx_state *s, const struct phx_node *n);
/** Does its step wait for a director to take the node out of the balancer's table? */
bool phx_node_waits_for_director(const struct phx_state *s, const struct phx_node *n);
/** Is the machine neither announced nor accepted yet? */
bool phx_node_is_stranger(const struct phx_state *s, const struct phx_node *n);

/** Is the node in the free pool, and can an RE get it? */
bool phx_node_is_available(const struct phx_node *n);
/** Did an RE that is gone give the node up, and is the node still in that RE's pool? No RE counts
 * on the node then. */
bool phx_node_is_given_up(const struct phx_state *s, const struct phx_node *n);
/** Does no RE count on nodes in this pool, because its RE was deactivated or is gone? */
bool phx_pool_is_deserted(const struct phx_state *s, const char *pool);

/** Would the node, with its assigned role, get requests through a balancer? */
bool phx_node_is_balanced(const struct phx_state *s, const struct phx_node *n);

/** Does the pool hold the node, or is the node on its way to it? */
bool phx_node_is_of(const struct phx_node *n, const char *pool);

/** When the node wants a tick; INT64_MAX: never. */
int64_t phx_node_due(const struct phx_node *n);
/** How long a worker keeps its node without a task: the next level of a workflow soon follows. */
enum { PHX_WORKER_IDLE_MS = 5000 };
/** When the job's run reaches its time limit, or when a worker has had no task for long enough;
 * INT64_MAX: never. */
int64_t phx_job_limit_due(const struct phx_job *j);
/** When the job wants a tick, for its time limit or for the heartbeat timeout of a part; INT64_MAX:
 * never. */
int64_t phx_job_due(const struct phx_job *j);

/** The web entry of `role` on nodes of `pool`. It has the address of the pool's web RE if `role` is
 * the role of that RE. */
struct phx_role_web phx_web_of_pool(const struct phx_state *s, const char *pool,
				    const struct phx_role *role);

/** The web entry of `role` on node `n`: phx_web_of_pool() of its pool. */
struct phx_role_web phx_node_web_of(const struct phx_state *s, const struct phx_node *n,
				    const struct phx_role *role);

/** Does an agent in the deploy environment that has no order enter the installed system? */
bool phx_node_boots_local(const struct phx_state *s, const struct phx_node *n);
/** The role whose services the agent of an installed system starts when it registers, if it had
 * started them before: that of an active node, or of one whose step `start` is done. NULL: none.
 * Borrowed from the state, or *store: see phx_state_role_in(). */
const struct phx_role *phx_core_role_wanted(const struct phx_state *s, const struct phx_node *n,
					    struct phx_role *store);

#endif
