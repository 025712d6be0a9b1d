/* Directors: nodes that balance requests to the web nodes. Which node is a director, which director
 * has the virtual addresses, and the wanted table. Called by the dispatcher, and by the daemon
 * between two events. Pure. */
#ifndef PHX_NODE_DIRECTOR_H
#define PHX_NODE_DIRECTOR_H

#include "state/apply.h"
#include "web/table.h"

/** Can the node balance now: is its role a director's, and is it in service? */
bool phx_director_is(const struct phx_state *s, const struct phx_node *n);
/** The next director in order of place: the first one behind `after`, or of all if `after` is NULL;
 * NULL at the end. */
const struct phx_node *phx_director_next(const struct phx_state *s, const struct phx_node *after);
/** In the same way, the next node whose step a director has to confirm. */
const struct phx_node *phx_director_next_leaving(const struct phx_state *s,
						 const struct phx_node *after);
/** The director that has the virtual addresses; the tables of others are empty. It keeps the
 * addresses as long as it is heard: a director that comes back does not take them from its
 * successor. NULL: none is heard. */
const struct phx_node *phx_director_acting(const struct phx_state *s);
/** The wanted table of the balancers: every virtual address of a role or an active web RE, with the
 * instances that serve or are leaving (web/table.h). The caller calls phx_web_table_fini(). */
int phx_director_table(const struct phx_state *s, struct phx_web_table *ret);
/** The address by which a balancer reaches the node; borrowed, may be "". */
const char *phx_director_address(const struct phx_node *n);
/** Lets another director take over if the acting director is not heard any more; the latter is
 * switched off first if its role says so. At the end of an event that changed something. */
void phx_director_settle(struct phx_apply *a);

#endif
