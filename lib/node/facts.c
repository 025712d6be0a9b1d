/* Checks a machine's facts: another machine under the node's name, or two machines with one UUID.
 * Whose UUID it is counts by proof: everybody can read it from the network, and say it. Called
 * where facts are taken in, and where a node is let in again. Pure. */
#include "node/internal.h"
#include "node/protect.h"

#include <errno.h>
#include <string.h>

#include "state/known.h"

/* Another node, not a new one, that has the UUID which n reports, as what this kind says. */
static struct phx_node *other_with(const struct phx_state *s, const struct phx_node *n,
				   enum phx_known_kind kind)
{
	const char *uuid = n->facts.uuid;
	struct phx_node *o = phx_known_next(s, kind, uuid, 0);
	while (o && (o == n || o->state == PHX_NODE_NEW))
		o = phx_known_next(s, kind, uuid, phx_index_place(s, o) + 1);
	return o;
}

struct phx_node *phx_facts_twin(const struct phx_state *s, const struct phx_node *n)
{
	struct phx_node *o =
		other_with(s, n, s->settings.doubts_uuids ? PHX_KNOWN_PROVEN : PHX_KNOWN_UUID);
	/* one that says another now is quarantined, or a person has believed it */
	return o && !strcmp(o->facts.uuid, n->facts.uuid) ? o : NULL;
}

struct phx_node *phx_facts_claimant(const struct phx_state *s, const struct phx_node *n)
{
	return s->settings.doubts_uuids ? other_with(s, n, PHX_KNOWN_UUID) : NULL;
}

void phx_facts_prove(struct phx_apply *a, struct phx_node *n)
{
	if (!a->s->settings.doubts_uuids || !phx_facts_proven(n) || !n->facts.uuid[0] ||
	    !strcmp(n->proven_uuid, n->facts.uuid))
		return;
	if (n->state == PHX_NODE_QUARANTINED && !phx_node_step(n))
		return; /* a person is to say first whether this is the machine */
	if (other_with(a->s, n, PHX_KNOWN_PROVEN) || other_with(a->s, n, PHX_KNOWN_UUID))
		return;
	PHX_STR_SET(n->proven_uuid, n->facts.uuid);
	a->out->changed = true;
}

bool phx_facts_of_another(const struct phx_node *n, const struct phx_facts *facts)
{
	/* what it said meanwhile was no more than somebody's word */
	bool returns = n->proven_uuid[0] && !strcmp(n->proven_uuid, facts->uuid);
	return n->state != PHX_NODE_QUARANTINED && n->facts.uuid[0] && facts->uuid[0] &&
		strcmp(n->facts.uuid, facts->uuid) != 0 && !returns;
}

int phx_facts_take(const struct phx_apply *a, struct phx_node *n, const struct phx_facts *facts)
{
	struct phx_facts copy;
	int r = phx_record_copy(&phx_facts_record, &copy, facts);
	if (r < 0)
		return r;
	if (a->s->settings.doubts_uuids && !copy.uuid[0])
		PHX_STR_SET(copy.uuid, n->facts.uuid);
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
