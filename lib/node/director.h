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
/** The director that has the virtual addresses; other directors have empty tables. It keeps the
 * addresses as long as it is up: a director that comes back does not take them from its successor.
 * NULL: none is up, or the last one must be seen off first. */
const struct phx_node *phx_director_acting(const struct phx_state *s);
/** The table that the balancers should have: every virtual address of a role or an active web RE,
 * with the instances that serve or are leaving (web/table.h). The caller frees it by
 * phx_web_table_fini(). -ENOMEM. */
int phx_director_table(const struct phx_state *s, struct phx_web_table *ret);
/** The address by which a balancer reaches the node; borrowed, may be "". */
const char *phx_director_address(const struct phx_node *n);
/** Lets another director take over if the acting one is not up any more; the latter is switched off
 * first if its role says so. Called at the end of an event that changed something. */
void phx_director_settle(struct phx_apply *a);

#endif
