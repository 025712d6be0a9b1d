/* Directors: nodes that balance requests to instances. Which nodes are directors, which of them has
 * the virtual addresses, and the table that all balancers should have. Called by the dispatcher,
 * and by the daemon between two events. Pure. */
#ifndef PHX_NODE_DIRECTOR_H
#define PHX_NODE_DIRECTOR_H

#include "state/apply.h"
#include "web/table.h"

/** Can the node balance now? Its role must be a director's, and it must be in service; it need not
 * be up. */
bool phx_director_is(const struct phx_state *s, const struct phx_node *n);
/** The next director behind `after` in the list of nodes, the first if `after` is NULL; NULL at the
 * end. */
const struct phx_node *phx_director_next(const struct phx_state *s, const struct phx_node *after);
/** In the same way, the next node with a step that a director has to confirm. */
const struct phx_node *phx_director_next_leaving(const struct phx_state *s,
						 const struct phx_node *after);
/** Has the director virtual addresses now? (Where there are none, the first director that is heard
 * is taken for one that has.) It keeps them as long as it is up: node/share.c. */
bool phx_director_acts(const struct phx_state *s, const struct phx_node *n);
/** The next director behind `after` that acts, the first if `after` is NULL. NULL: none is up, or
 * who had the addresses must be seen off first. */
const struct phx_node *phx_director_next_acting(const struct phx_state *s,
						const struct phx_node *after);
/** The first of them. */
const struct phx_node *phx_director_acting(const struct phx_state *s);
/** The director that has this virtual address now, and since when (0: not known); NULL: none. */
const struct phx_node *phx_director_of(const struct phx_state *s, const char *address,
				       int64_t *ret_since_ms);
/** What director `n` is ordered: its table and its share of the addresses. A node that is no
 * director, or does not act, has none of them. The caller frees both. -ENOMEM. */
int phx_director_order(const struct phx_state *s, const struct phx_node *n,
		       struct phx_web_table *ret_table, struct phx_web_share *ret_share);
/** When addresses are shared anew although nothing happens; INT64_MAX: never. */
int64_t phx_director_due_ms(const struct phx_state *s);
/** Has the RE virtual addresses now? */
bool phx_director_serves_re(const struct phx_re *re);
/** The table that the balancers should have: every virtual address of a role or an active web RE,
 * with the instances that serve or are leaving (web/table.h). The caller frees it by
 * phx_web_table_fini(). -ENOMEM. */
int phx_director_table(const struct phx_state *s, struct phx_web_table *ret);
/** The address by which a balancer reaches the node; borrowed, may be "". */
const char *phx_director_address(const struct phx_node *n);
/** Lets others take over what directors had that are not up any more; these are switched off first
 * if their role says so. Called at the end of an event that changed something, or is a tick for
 * phx_director_due_ms(). */
void phx_director_settle(struct phx_apply *a);

#endif
