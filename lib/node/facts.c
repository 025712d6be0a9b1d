/* Checks a machine's facts: another machine under the node's name, or two machines with one UUID.
 * Called where facts are taken in, and where a node is let in again. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

#include "state/known.h"

struct phx_node *phx_facts_twin(const struct phx_state *s, const struct phx_node *n)
{
	const char *uuid = n->facts.uuid;
	struct phx_node *o = phx_known_next(s, PHX_KNOWN_UUID, uuid, 0);
	while (o && (o == n || o->state == PHX_NODE_NEW))
		o = phx_known_next(s, PHX_KNOWN_UUID, uuid, phx_index_place(s, o) + 1);
	return o;
}

bool phx_facts_of_another(const struct phx_node *n, const struct phx_facts *facts)
{
	return n->state != PHX_NODE_QUARANTINED && n->facts.uuid[0] && facts->uuid[0] &&
		strcmp(n->facts.uuid, facts->uuid) != 0;
}

int phx_facts_take(struct phx_node *n, const struct phx_facts *facts)
{
	struct phx_facts copy;
	int r = phx_record_copy(&phx_facts_record, &copy, facts);
	if (r < 0)
		return r;
	phx_record_fini(&phx_facts_record, &n->facts);
	n->facts = copy;
	return 0;
}

bool phx_facts_unsound(struct phx_apply *a, const struct phx_node *n, struct phx_err *ret_why)
{
	const struct phx_node *twin = phx_facts_twin(a->s, n);
	if (phx_facts_check(&n->facts, ret_why) < 0)
		return true;
	if (twin)
		phx_err_set(ret_why, -ENOTUNIQ, "%s reports the same system UUID", twin->name);
	return twin;
}
