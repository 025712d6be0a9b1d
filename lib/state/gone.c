/* Removed nodes. Each keeps its place in the list, without a name and in no set or group, until the
 * list is closed up: the list is long, its nodes are large, and the index is by their places. It is
 * closed up when one place of sixteen is that of a removed node, so that each removal pays for the
 * moves of some sixteen nodes, however many there are. What follows from the state does not depend
 * on places: nodes are in the order of their numbers with or without the gaps. Called where a node
 * is removed, and by the dispatcher. Pure. */
#include "state/gone.h"

#include <string.h>

#include "state/index.h"

enum {
	PLACES_OF_ONE = 16, /* places for one that may be that of a removed node */
	ALWAYS = 4,         /* so many may be, however short the list is */
};

void phx_node_go(struct phx_state *s, struct phx_node *n)
{
	uint32_t number = n->number;
	phx_index_forget(s, n);
	phx_record_fini(&phx_node_record, n);
	n->number = number; /* the list is searched by number */
	s->n_gone++;
}

void phx_nodes_close_up(struct phx_state *s)
{
	struct phx_node *to = s->nodes.items;
	if (s->n_gone <= ALWAYS + s->nodes.n / PLACES_OF_ONE)
		return;
	PHX_NODES_EACH(n, s) {
		if (to != n)
			memcpy(to, n, sizeof(*to));
		to++;
	}
	s->nodes.n -= s->n_gone;
	s->n_gone = 0;
	phx_index_renew(s);
}
