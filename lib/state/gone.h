/* Removed nodes, which still have their places in the list. Readers of the list pass them by:
 * PHX_NODES_EACH() of state.h; no record has them (base/record.h, is_gone). */
#ifndef PHX_STATE_GONE_H
#define PHX_STATE_GONE_H

#include "state/state.h"

/** Remove the node: it is no longer found, and what it owns is freed; its place and its number
 * stay. Needs an index. */
void phx_node_go(struct phx_state *s, struct phx_node *n);
/** Close the gaps of removed nodes in the list, once they are many: places and pointers of nodes
 * from before are invalid afterwards. Between events alone. */
void phx_nodes_close_up(struct phx_state *s);

#endif
