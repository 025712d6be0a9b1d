/* Directors: nodes that balance what comes to the web nodes. Who is one, who of them has the virtual
 * addresses, and the table that they are told. Called by the dispatcher; asked by the daemon between
 * two events. Pure. */
#ifndef PHX_NODE_DIRECTOR_H
#define PHX_NODE_DIRECTOR_H

#include "state/apply.h"
#include "web/table.h"

/** Is it a node that can balance now: its role says so, and it is there to do it. */
bool phx_director_is(const struct phx_state *s, const struct phx_node *n);
/** All of them, by their place: the first one behind `after`, or of all; NULL at the end. */
const struct phx_node *phx_director_next(const struct phx_state *s, const struct phx_node *after);
/** In the same way, nodes whose step waits for a director to confirm it. */
const struct phx_node *phx_director_next_leaving(const struct phx_state *s,
						 const struct phx_node *after);
/** The one of them that has the virtual addresses; the others' table is empty. It keeps them for as
 * long as it is heard: one that comes back does not take them from its successor. NULL: none is
 * heard. */
const struct phx_node *phx_director_acting(const struct phx_state *s);
/** The wanted table of the balancers: every virtual address of a role or an active web RE and its
 * instances, those that serve and those that are leaving (web/table.h says which). Caller:
 * phx_web_table_fini(). */
int phx_director_table(const struct phx_state *s, struct phx_web_table *ret);
/** The address by which a balancer reaches the node; borrowed, may be "". */
const char *phx_director_address(const struct phx_node *n);
/** Another director takes over where the acting one is not heard any more; that one is switched off
 * first if its role says so. At the end of an event that changed something. */
void phx_director_settle(struct phx_apply *a);

#endif
