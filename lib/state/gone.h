/* Nodes that were removed, within a portion of events. */
#ifndef PHX_STATE_GONE_H
#define PHX_STATE_GONE_H

#include "state/state.h"

/** Is it a place in the list whose node was removed? */
static inline bool phx_node_is_gone(const struct phx_node *n)
{
	return !n->name[0];
}
/** Remove the node: it is not found any more, and what it owned is freed. There is an index. */
void phx_node_go(struct phx_state *s, struct phx_node *n);
/** The places of nodes that went are taken by those behind them: places and pointers to nodes of
 * before mean nothing any more. Nothing, where none went. */
void phx_nodes_close_up(struct phx_state *s);

#endif
