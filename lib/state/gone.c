/* Removed nodes. Each keeps its place in the list, without a name and in no set or group, until the
 * list is closed up: once for a whole portion of events, since the list is long and its nodes are
 * large. Called where a node is removed, and by the dispatcher. Pure. */
#include "state/gone.h"

#include <string.h>

#include "state/index.h"

void phx_node_go(struct phx_state *s, struct phx_node *n)
{
	phx_touch(s, n);
	phx_record_fini(&phx_node_record, n);
	s->n_gone++;
}

void phx_nodes_close_up(struct phx_state *s)
{
	struct phx_node *to = s->nodes.items;
	if (!s->n_gone)
		return;
	PHX_LIST_EACH(struct phx_node, n, &s->nodes) {
		if (phx_node_is_gone(n))
			continue;
		if (to != n)
			memcpy(to, n, sizeof(*to));
		to++;
	}
	s->nodes.n -= s->n_gone;
	s->n_gone = 0;
	phx_index_renew(s);
}
