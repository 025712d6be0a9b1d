/* Protected disks of a node. The node's owner is root on it: his system may say of a local disk
 * that it is on a storage network, or change the disk's model, to have the disk left unerased. So
 * the head goes by what the disk was when a deploy environment first saw it after a start that the
 * head ordered: by then the head knows the disk (wipes.c). A disk that says something else later,
 * so that its protection would be another, is in doubt, and so is a disk of which nothing is
 * proven. plan.c, wipes.c and handover.c call this file. Pure. */
#include "node/protect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_node(const void *name, const void *row)
{
	return strcmp(name, ((const struct phx_protect_node *)row)->node);
}

const struct phx_protect *phx_protect_of(const struct phx_state *s, const struct phx_node *n,
					 struct phx_protect *ret)
{
	const struct phx_list *l = &s->site_protects;
	const struct phx_protect_node *more = l->n
		? bsearch(n->name, l->items, l->n, sizeof(struct phx_protect_node), by_node)
		: NULL;
	if (!s->settings.protects)
		return NULL;
	*ret = s->settings.protect;
	if (more)
		phx_protect_add(ret, phx_text(more->selectors)); /* each has half its size */
	return ret;
}

bool phx_facts_proven(const struct phx_node *n)
{
	return n->fresh && !n->by_kexec;
}

/* The disk as it was when the head had a proof of what it is. */
static struct phx_disk_facts as_proven(const struct phx_known_disk *k)
{
	struct phx_disk_facts d = {.size_bytes = k->size_bytes, .remote = k->remote};
	PHX_STR_SET(d.id, k->id);
	PHX_STR_SET(d.serial, k->serial);
	PHX_STR_SET(d.model, k->model);
	PHX_STR_SET(d.transport, k->transport);
	PHX_STR_SET(d.path, phx_text(k->path));
	return d;
}

enum phx_protection phx_protection_of(const struct phx_node *n, const struct phx_protect *p,
				      const char *id, char ret_why[PHX_PROTECTED_WHY_MAX])
{
	const struct phx_known_disk *k = phx_known_disk(n, id);
	const struct phx_disk_facts *d = phx_facts_disk(&n->facts, id);
	if (!p || !id[0])
		return PHX_PROTECTION_NONE;
	bool proven = k && k->proven, counts = d && phx_facts_proven(n);
	bool says = d && phx_disk_protected(p, d, ret_why), said = false;
	if (proven) {
		const struct phx_disk_facts was = as_proven(k);
		said = phx_disk_protected(p, &was, ret_why);
	}
	if (proven && counts && said != says)
		return PHX_PROTECTION_DOUBT;
	if (proven || counts)
		return said || (counts && says) ? PHX_PROTECTION_HOLDS : PHX_PROTECTION_NONE;
	return says ? PHX_PROTECTION_DOUBT : PHX_PROTECTION_NONE;
}

bool phx_protection_doubted(const struct phx_node *n, const struct phx_protect *p)
{
	char why[PHX_PROTECTED_WHY_MAX];
	PHX_LIST_EACH(struct phx_disk_facts, d, &n->facts.disks)
		if (phx_protection_of(n, p, d->id, why) == PHX_PROTECTION_DOUBT)
			return true;
	return false;
}

int phx_plan_leave(struct phx_plan *plan, const char *id, const char *why)
{
	PHX_LIST_EACH(struct phx_left_disk, l, &plan->left)
		if (!strcmp(l->id, id))
			return 0;
	struct phx_left_disk *l = phx_list_push(&plan->left, sizeof(*l));
	if (!l)
		return -ENOMEM;
	PHX_STR_SET(l->id, id);
	PHX_STR_SET(l->why, why);
	return 0;
}

bool phx_may_write(const struct phx_apply *a, const struct phx_node *n, const struct phx_step *step,
		   char *ret_why, size_t size)
{
	char by[PHX_PROTECTED_WHY_MAX];
	struct phx_protect p;
	if (step->kind != PHX_STEP_wipe && step->kind != PHX_STEP_image)
		return true;
	if (!phx_facts_disk(&n->facts, step->disk)) {
		snprintf(ret_why, size,
			 "disk %.100s is not on it, or there twice: nothing is erased", step->disk);
		return false;
	}
	if (phx_protection_of(n, phx_protect_of(a->s, n, &p), step->disk, by) ==
	    PHX_PROTECTION_NONE)
		return true;
	snprintf(ret_why, size, "disk %.100s is protected, or may be: %s: nothing is written to it",
		 step->disk, by);
	return false;
}
