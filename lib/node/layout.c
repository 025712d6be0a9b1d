/* Makes partitions of a layout and the disks of a node: see layout.h. plan_disk.c calls it, for
 * --dry-run too, and handover.c does when the machine is in the deploy environment: what the system
 * of an owner says of its disks decides nothing. Pure. */
#include "node/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/node.h"
#include "node/protect.h"

#define MIB (1ull << 20)
enum { SAID_MAX = 200, EDGES_MIB = 2 /* the tables of partitions, at both ends */ };

/* The disks that fit a volume. */
struct fits {
	const struct phx_disk_facts *disks[PHX_FACTS_DISKS_MAX];
	uint32_t n;
	char but[SAID_MAX]; /* a disk that would fit, and why it does not; "": there is none */
};

/* ---- which disks ---- */

static bool is_kind(const struct phx_layout_volume *v, const struct phx_disk_facts *d)
{
	return v->kind == PHX_LAYOUT_ANY || (v->kind == PHX_LAYOUT_HDD) == d->rotational;
}

static bool is_meant(const struct phx_layout_volume *v, const struct phx_disk_facts *d)
{
	bool meant = !v->disks.n;
	PHX_LIST_EACH(struct phx_word, w, &v->disks)
		meant = meant || phx_disk_selected(w->text, d);
	return meant && is_kind(v, d);
}

/* Can the disk be named and written, and does it stay in the machine? */
static bool is_usable(const struct phx_layout_ask *q, const struct phx_disk_facts *d)
{
	return d->id[0] && phx_facts_disk(&q->node->facts, d->id) == d && !d->removable &&
		!d->read_only;
}

static bool is_free(const struct phx_layout_ask *q, const struct phx_disk_facts *d,
		    struct fits *fits)
{
	char why[PHX_PROTECTED_WHY_MAX];
	enum phx_protection as = phx_protection_of(q->node, q->protect, d->id, why);
	if (!strcmp(d->id, q->system_disk)) {
		snprintf(fits->but, sizeof(fits->but), "%.80s would, and takes the system", d->id);
		return false;
	}
	if (as == PHX_PROTECTION_NONE ||
	    (as == PHX_PROTECTION_DOUBT && q->node->env != PHX_ENV_DEPLOY))
		return true;
	snprintf(fits->but, sizeof(fits->but), "%.80s would, and is protected: %s", d->id, why);
	return false;
}

/* Sorts disks by their ids: which disk comes first must not change from one start to the next. */
static void add_fit(struct fits *fits, const struct phx_disk_facts *d)
{
	uint32_t i = fits->n++;
	for (; i && strcmp(fits->disks[i - 1]->id, d->id) > 0; i--)
		fits->disks[i] = fits->disks[i - 1];
	fits->disks[i] = d;
}

static void find_fits(const struct phx_layout_ask *q, const struct phx_layout_volume *v,
		      struct fits *ret)
{
	*ret = (struct fits){0};
	PHX_LIST_EACH(struct phx_disk_facts, d, &q->node->facts.disks)
		if (ret->n < PHX_FACTS_DISKS_MAX && is_usable(q, d) && is_meant(v, d) &&
		    is_free(q, d, ret))
			add_fit(ret, d);
}

static void say_fits(const struct fits *fits, char ret[SAID_MAX])
{
	size_t n = 0;
	ret[0] = '\0';
	for (uint32_t i = 0; i < fits->n && n < SAID_MAX; i++)
		n += (size_t)snprintf(ret + n, SAID_MAX - n, "%s%s", i ? ", " : "",
				      fits->disks[i]->id);
}

/* Keeps the smallest disk alone, or the largest; of several that are equal the first by id. */
static void take_extreme(struct fits *fits, bool largest)
{
	const struct phx_disk_facts *best = fits->disks[0];
	for (uint32_t i = 1; i < fits->n; i++)
		if (largest ? fits->disks[i]->size_bytes > best->size_bytes
			    : fits->disks[i]->size_bytes < best->size_bytes)
			best = fits->disks[i];
	fits->disks[0] = best;
	fits->n = 1;
}

static int check_number(const struct phx_layout_volume *v, const struct fits *fits,
			struct phx_err *err)
{
	uint32_t least = phx_layout_least_disks((enum phx_layout_join)v->join);
	char said[SAID_MAX];
	say_fits(fits, said);
	if (v->pick == PHX_LAYOUT_ONE && fits->n > 1)
		return phx_err_set(err, -ENOTUNIQ,
				   "%u disks fit (%s), and one is meant: name it by its id, or say "
				   "pick = \"smallest\", \"largest\" or \"all\"",
				   fits->n, said);
	if (v->count && fits->n != v->count)
		return phx_err_set(err, fits->n > v->count ? -ENOTUNIQ : -ENODEV,
				   "%u disks fit (%s), and %u are meant", fits->n, said, v->count);
	if (fits->n < least)
		return phx_err_set(err, -ENODEV, "%u disks fit (%s), and %s needs %u", fits->n,
				   said, phx_enum_name(&phx_layout_join_names, v->join), least);
	return 0;
}

static int choose(const struct phx_layout_ask *q, const struct phx_layout_volume *v,
		  struct fits *ret, struct phx_err *err)
{
	find_fits(q, v, ret);
	if (!ret->n)
		return phx_err_set(err, -ENODEV, "no disk fits%s%s", ret->but[0] ? ": " : "",
				   ret->but);
	if (v->pick == PHX_LAYOUT_SMALLEST || v->pick == PHX_LAYOUT_LARGEST)
		take_extreme(ret, v->pick == PHX_LAYOUT_LARGEST);
	return check_number(v, ret, err);
}

/* ---- partitions ---- */

static uint64_t left_on(const struct phx_layout *l, const struct phx_disk_facts *d)
{
	uint64_t mib = d->size_bytes / MIB, left = mib > EDGES_MIB ? (mib - EDGES_MIB) * MIB : 0;
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts)
		if (!strcmp(p->disk, d->id))
			left -= p->size_bytes < left ? p->size_bytes : left;
	return left;
}

static int add_part(const struct phx_layout_volume *v, const struct phx_disk_facts *d,
		    struct phx_layout *l, struct phx_err *err)
{
	uint64_t left = left_on(l, d), size, least;
	char said[2][32];
	int r = phx_layout_size(v->size, left, &size, err);
	if (r < 0)
		return r;
	least = phx_layout_least_bytes((enum phx_layout_type)v->type);
	least = v->size[0] && size > least ? size : least;
	if (size < least || size > left)
		return phx_err_set(err, -ENOSPC, "disk %s has %s left, and %s are needed", d->id,
				   phx_size_format(left, said[0], sizeof(said[0])),
				   phx_size_format(least, said[1], sizeof(said[1])));
	struct phx_layout_part *p = phx_list_push(&l->parts, sizeof(*p));
	if (!p || l->parts.n > PHX_LAYOUT_PARTS_MAX)
		return phx_err_set(err, -ENOMEM, "there are more than %d partitions",
				   PHX_LAYOUT_PARTS_MAX);
	PHX_STR_SET(p->volume, v->name);
	PHX_STR_SET(p->disk, d->id);
	p->size_bytes = size;
	return 0;
}

static int place(const struct phx_layout_ask *q, const struct phx_layout_volume *v,
		 struct fits *fits, struct phx_layout *l, struct phx_err *err)
{
	int r = choose(q, v, fits, err);
	for (uint32_t i = 0; r == 0 && i < fits->n; i++)
		r = add_part(v, fits->disks[i], l, err);
	return r < 0 ? phx_err_prefix(err, r, "layout: volume '%s'", v->name) : 0;
}

int phx_layout_decide(const struct phx_layout_ask *q, struct phx_layout *ret, struct phx_err *err)
{
	const struct phx_layout of = {.volumes = *q->volumes};
	struct phx_layout l;
	struct fits *fits = calloc(1, sizeof(*fits));
	int r = fits ? phx_record_copy(&phx_layout_record, &l, &of) : -ENOMEM;
	if (r < 0) {
		free(fits);
		return r;
	}
	PHX_LIST_EACH(struct phx_layout_volume, v, &l.volumes)
		r = r ? r : place(q, v, fits, &l, err);
	free(fits);
	if (r < 0)
		phx_record_fini(&phx_layout_record, &l);
	else
		*ret = l;
	return r;
}

/* ---- in a hand-over ---- */

void phx_layout_forget(struct phx_node *n)
{
	phx_record_fini(&phx_layout_record, &n->layout);
}

void phx_layout_done(struct phx_apply *a, struct phx_node *n)
{
	phx_layout_forget(n);
	phx_stick(a, phx_record_copy(&phx_layout_record, &n->layout, &n->plan.layout));
}

/* Refuses a layout that is kept if one of its disks is protected by now. A disk that is not there
 * any more may be part of a RAID, which the machine itself sees. */
static int check_kept(const struct phx_layout_ask *q, const struct phx_layout *l,
		      struct phx_err *err)
{
	char why[PHX_PROTECTED_WHY_MAX];
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts)
		if (phx_protection_of(q->node, q->protect, p->disk, why) != PHX_PROTECTION_NONE)
			return phx_err_set(err, -EPERM,
					   "layout: disk %.100s is protected, or may be: %s",
					   p->disk, why);
	return 0;
}

static int settle(struct phx_apply *a, struct phx_node *n, struct phx_err *err)
{
	struct phx_protect protect;
	struct phx_layout now;
	const struct phx_layout_ask q = {n, phx_protect_of(a->s, n, &protect), n->system_disk,
					 &n->plan.layout.volumes};
	if (!n->layouts)
		return phx_err_set(err, -EOPNOTSUPP,
				   "its agent knows of no layouts: build the deploy image anew");
	if (n->plan.keeps_layout)
		return check_kept(&q, &n->plan.layout, err);
	int r = phx_layout_decide(&q, &now, err);
	if (r < 0)
		return r;
	phx_record_fini(&phx_layout_record, &n->plan.layout);
	n->plan.layout = now;
	return 0;
}

bool phx_layout_settle(struct phx_apply *a, struct phx_node *n, const struct phx_step *step,
		       char *ret_why, size_t size)
{
	struct phx_err err = {0};
	int r = step->kind == PHX_STEP_layout ? settle(a, n, &err) : 0;
	if (r < 0)
		snprintf(ret_why, size, "%s", err.text[0] ? err.text : "out of memory");
	phx_stick(a, r == -ENOMEM ? r : 0);
	return r == 0;
}
