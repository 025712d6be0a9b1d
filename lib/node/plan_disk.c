/* See plan_disk.h. */
#include "node/plan_disk.h"

#include <string.h>

#include "node/protect.h"

/* Does the disk take a system, but for its protection, which is `as`? */
static bool takes_system(const struct phx_plan_request *q, const struct phx_disk_facts *d,
			 enum phx_protection as)
{
	char why[PHX_PROTECTED_WHY_MAX];
	return d->id[0] && !d->removable && !d->read_only && d->size_bytes >= PHX_SYSTEM_DISK_MIN &&
		phx_protection_of(q->node, q->protect, d->id, why) == as;
}

/* The smallest fixed, writable disk of at least PHX_SYSTEM_DISK_MIN; among equals the first by
 * id. */
static const struct phx_disk_facts *smallest(const struct phx_plan_request *q,
					     enum phx_protection as)
{
	const struct phx_disk_facts *best = NULL;
	PHX_LIST_EACH(struct phx_disk_facts, d, &q->node->facts.disks) {
		if (!takes_system(q, d, as))
			continue;
		if (!best || d->size_bytes < best->size_bytes ||
		    (d->size_bytes == best->size_bytes && strcmp(d->id, best->id) < 0))
			best = d;
	}
	return best;
}

const struct phx_disk_facts *phx_plan_system_disk(const struct phx_plan_request *q)
{
	const struct phx_node *n = q->node;
	const struct phx_disk_facts *best = NULL;
	if (n->system_disk[0])
		best = phx_facts_disk(&n->facts, n->system_disk);
	if (!best)
		best = smallest(q, PHX_PROTECTION_NONE);
	if (!best && n->env != PHX_ENV_DEPLOY)
		best = smallest(q, PHX_PROTECTION_DOUBT);
	return best;
}
