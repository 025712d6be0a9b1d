/* See plan_disk.h. */
#include "node/plan_disk.h"

#include <errno.h>
#include <string.h>

#include "node/layout.h"
#include "node/plan_setup.h"
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

bool phx_plan_layout_fits(const struct phx_plan_request *q)
{
	return !q->to || phx_layout_same(&q->to->layout, &q->node->layout.volumes);
}

/* A layout that is on the disks, and stays there. */
static bool is_there(const struct phx_plan_request *q)
{
	return q->node->layout.volumes.n && !phx_plan_erases(q);
}

bool phx_plan_has_layout(const struct phx_plan_request *q)
{
	return q->to->layout.n || is_there(q);
}

/* The disk that has the system once the steps so far are done. */
static const char *system_disk(const struct phx_plan_request *q, const struct phx_plan *plan)
{
	const char *disk = q->node->system_disk;
	PHX_LIST_EACH(struct phx_step, s, &plan->steps)
		if (s->kind == PHX_STEP_image)
			disk = s->disk;
	return disk;
}

/* What is on the disks stays as it is, or is erased first: nothing is made over it. */
int phx_plan_layout(const struct phx_plan_request *q, struct phx_plan *plan, struct phx_err *err)
{
	const struct phx_layout_ask ask = {q->node, q->protect, system_disk(q, plan),
					   &q->to->layout};
	if (is_there(q) && !phx_plan_layout_fits(q))
		return phx_err_set(err, -EPERM,
				   "its disks hold another layout than that of role %s: only "
				   "after an erase (--setup wipe) another one is made",
				   q->to->name);
	plan->keeps_layout = is_there(q);
	return plan->keeps_layout
		? phx_record_copy(&phx_layout_record, &plan->layout, &q->node->layout)
		: phx_layout_decide(&ask, &plan->layout, err);
}
