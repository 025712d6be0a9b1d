/* Nodes that were removed within a portion of events and still have their places in the list. */
#ifndef PHX_STATE_GONE_H
#define PHX_STATE_GONE_H

#include "state/state.h"

/** Was the node of this place removed? */
static inline bool phx_node_is_gone(const struct phx_node *n)
{
	return !n->name[0];
}
/** Remove the node: it is no longer found, and what it owns is freed; its place stays. Needs an
 * index. */
void phx_node_go(struct phx_state *s, struct phx_node *n);
/** Close the gaps of removed nodes in the list: places and pointers of nodes from before are
 * invalid afterwards. Does nothing if none was removed. */
void phx_nodes_close_up(struct phx_state *s);

#endif
