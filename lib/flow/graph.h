/* Pictures of workflows and their dependencies. The same workflow gives the same bytes. Used by
 * `phx workflow show --graph`. Pure. */
#ifndef PHX_FLOW_GRAPH_H
#define PHX_FLOW_GRAPH_H

#include "flow/flow.h"

enum phx_flow_graph {
	PHX_FLOW_DOT,   /* the language of Graphviz */
	PHX_FLOW_SVG,   /* a row a level, tasks near their parents */
	PHX_FLOW_ASCII, /* a line a task, level by level */
};
extern const struct phx_enum phx_flow_graph_names;

/** Appends the picture. Out of memory: ret->failed. */
void phx_flow_draw(const struct phx_flow *f, enum phx_flow_graph graph, struct phx_buf *ret);

#endif
