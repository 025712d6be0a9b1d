/* What counts for one node: see effective.h. Called by check.c, render.c, and those who show it.
 * Pure. */
#include "site/effective.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "site/internal.h"

/* ---- which sets ---- */

static int add_set(struct phx_site_effective *e, const struct phx_site_set *set, uint32_t place)
{
	struct phx_site_from *to;
	PHX_LIST_EACH(struct phx_site_from, f, &e->sets)
		if (f->set == set)
			return 0;
	if (!(to = phx_list_push(&e->sets, sizeof(*to))))
		return -ENOMEM;
	*to = (struct phx_site_from){set, place};
	return 0;
}

/* In the order of the files: a table by hash has them otherwise. */
static int by_group(const void *a, const void *b)
{
	const struct phx_site_row *x = a, *y = b;
	return x->group < y->group ? -1 : x->group > y->group;
}

static int find_groups(const struct phx_site_index *ix, const char *node, struct phx_list *ret)
{
	const struct phx_site_row *row;
	uint32_t at = phx_hash_text(node);
	while ((row = phx_site_row_next(ix, node, &at))) {
		struct phx_site_row *to = phx_list_push(ret, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = *row;
	}
	if (ret->n > 1)
		qsort(ret->items, ret->n, sizeof(struct phx_site_row), by_group);
	return 0;
}

static int find_sets(const struct phx_site_index *ix, const char *node,
		     struct phx_site_effective *e)
{
	const struct phx_list *all = &phx_site_index_of(ix)->nodes;
	PHX_AUTO(phx_list_fini) struct phx_list rows = {0};
	int r = find_groups(ix, node, &rows);
	PHX_LIST_EACH(struct phx_site_row, row, &rows) {
		const struct phx_site_set *g = PHX_LIST_AT(all, struct phx_site_set, row->group);
		PHX_LIST_EACH(struct phx_site_value, v, &g->profiles) {
			const struct phx_site_set *p = phx_site_profile(ix, v->text);
			r = r || !p ? r : add_set(e, p, 0);
		}
	}
	PHX_LIST_EACH(struct phx_site_row, row, &rows)
		r = r ? r
		      : add_set(e, PHX_LIST_AT(all, struct phx_site_set, row->group), row->place);
	return r;
}

/* ---- what they say ---- */

/* What has no name is what it says. */
static struct phx_site_found *find_same(const struct phx_list *l, const struct phx_site_value *v)
{
	PHX_LIST_EACH(struct phx_site_found, f, l)
		if (!strcmp(f->value->name, v->name) &&
		    (v->name[0] || !strcmp(f->value->text, v->text)))
			return f;
	return NULL;
}

static struct phx_site_found *find(const struct phx_list *l, const char *name)
{
	PHX_LIST_EACH(struct phx_site_found, f, l)
		if (!strcmp(f->value->name, name))
			return f;
	return NULL;
}

static int put(struct phx_list *l, struct phx_site_found *there, struct phx_site_found what)
{
	struct phx_site_found *to = there ? there : phx_list_push(l, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = what;
	return 0;
}

static int merge_values(struct phx_site_effective *e, const struct phx_site_set *set,
			enum phx_site_value_kind kind)
{
	const struct phx_list *from = phx_site_values(set, kind);
	struct phx_list *to = &e->values[kind];
	bool whole = phx_site_value_form(kind) == PHX_SITE_LIST;
	int r = 0;
	if (whole && from->n)
		phx_list_fini(to);
	PHX_LIST_EACH(struct phx_site_value, v, from)
		r = r ? r : put(to, find_same(to, v), (struct phx_site_found){set, {v}});
	return r;
}

static int merge_mounts(struct phx_site_effective *e, const struct phx_site_set *set)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_site_mount, m, &set->mounts) {
		struct phx_site_found *there = NULL;
		PHX_LIST_EACH(struct phx_site_found, f, &e->mounts)
			if (!strcmp(f->mount->where, m->where))
				there = f;
		r = r ? r : put(&e->mounts, there, (struct phx_site_found){set, {.mount = m}});
	}
	return r;
}

static struct phx_site_found_nic *nic_of(const struct phx_site_effective *e, const char *name)
{
	PHX_LIST_EACH(struct phx_site_found_nic, f, &e->nics)
		if (!strcmp(f->nic.name, name))
			return f;
	return NULL;
}

static void take_text(char *to, size_t size, const char *from)
{
	if (*from)
		phx_str_copy(to, size, from);
}
#define TAKE(to, from, member) take_text((to)->member, sizeof((to)->member), (from)->member)

static void take_list(struct phx_list *to, const struct phx_list *from)
{
	if (from->n)
		*to = *from;
}

static void merge_nic(struct phx_site_nic *to, const struct phx_site_nic *from)
{
	TAKE(to, from, mac);
	TAKE(to, from, path);
	TAKE(to, from, network);
	TAKE(to, from, address);
	TAKE(to, from, first);
	TAKE(to, from, address6);
	TAKE(to, from, mode);
	TAKE(to, from, parent);
	take_list(&to->members, &from->members);
	take_list(&to->ports, &from->ports);
	to->monitor_ms = from->monitor_ms ? from->monitor_ms : to->monitor_ms;
	to->default_route = to->default_route || from->default_route;
	to->line = from->line;
}

static int merge_nics(struct phx_site_effective *e, const struct phx_site_from *from)
{
	PHX_LIST_EACH(struct phx_site_nic, nic, &from->set->nics) {
		struct phx_site_found_nic *to = nic_of(e, nic->name);
		if (!to && !(to = phx_list_push(&e->nics, sizeof(*to))))
			return -ENOMEM;
		PHX_STR_SET(to->nic.name, nic->name);
		merge_nic(&to->nic, nic);
		to->set = from->set;
		if (!nic->address[0] && !nic->first[0])
			continue;
		to->address_set = from->set;
		to->address_line = nic->line;
		to->place = from->place;
	}
	return 0;
}

int phx_site_effective(const struct phx_site_index *ix, const char *node,
		       struct phx_site_effective *ret)
{
	struct phx_site_effective e = {0};
	int r = find_sets(ix, node, &e);
	PHX_LIST_EACH(struct phx_site_from, f, &e.sets) {
		for (int kind = 0; r == 0 && kind < PHX_SITE_VALUE_COUNT_; kind++)
			r = merge_values(&e, f->set, (enum phx_site_value_kind)kind);
		r = r ? r : merge_mounts(&e, f->set);
		r = r ? r : merge_nics(&e, f);
	}
	if (r < 0)
		phx_site_effective_fini(&e);
	else
		*ret = e;
	return r;
}

void phx_site_effective_fini(struct phx_site_effective *e)
{
	phx_list_fini(&e->sets);
	phx_list_fini(&e->mounts);
	phx_list_fini(&e->nics);
	for (int kind = 0; kind < PHX_SITE_VALUE_COUNT_; kind++)
		phx_list_fini(&e->values[kind]);
}

bool phx_site_has_profile(const struct phx_site_effective *e, const char *name)
{
	PHX_LIST_EACH(struct phx_site_from, f, &e->sets)
		if (!strcmp(f->set->name, name))
			return true;
	return false;
}

const char *phx_site_value_of(const struct phx_site_effective *e, enum phx_site_value_kind kind,
			      const char *name)
{
	const struct phx_site_found *f = find(&e->values[kind], name);
	return f ? f->value->text : NULL;
}

const struct phx_site_found_nic *phx_site_nic_of(const struct phx_site_effective *e,
						 const char *name)
{
	return nic_of(e, name);
}

int phx_site_nic_address(const struct phx_site_found_nic *f, uint32_t *ret)
{
	const char *text = f->nic.address;
	bool pool = !strcmp(text, "pool");
	uint32_t first;
	if (!*text || !strcmp(text, "dhcp"))
		return 0;
	if (!phx_ipv4_parse(pool ? f->nic.first : text, &first))
		return -EINVAL;
	if (pool && f->place > UINT32_MAX - first)
		return -ERANGE;
	*ret = first + (pool ? f->place : 0);
	return 1;
}

/* ---- for people, and for the boot ---- */

static void tell_nics(const struct phx_site_effective *e, phx_site_origin_fn fn, void *arg)
{
	char place[PHX_SITE_PLACE_MAX], text[PHX_NAME_MAX + PHX_IPV4_MAX + 8];
	PHX_LIST_EACH(struct phx_site_found_nic, f, &e->nics) {
		char address[PHX_IPV4_MAX];
		uint32_t number;
		phx_str_copy(address, sizeof(address), f->nic.address);
		if (phx_site_nic_address(f, &number) == 1)
			phx_ipv4_format(number, address);
		snprintf(text, sizeof(text), "%s%s%s", f->nic.network,
			 f->nic.network[0] && address[0] ? " " : "", address);
		phx_site_place(f->set, f->nic.line, place);
		fn(arg, "nics", f->nic.name, text, place);
	}
}

static void tell_mounts(const struct phx_site_effective *e, phx_site_origin_fn fn, void *arg)
{
	char place[PHX_SITE_PLACE_MAX];
	PHX_LIST_EACH(struct phx_site_found, f, &e->mounts) {
		phx_site_place(f->set, f->mount->line, place);
		fn(arg, "mounts", f->mount->where, f->mount->what, place);
	}
}

int phx_site_origins(const struct phx_site_index *ix, const char *node, phx_site_origin_fn fn,
		     void *arg)
{
	struct phx_site_effective e;
	char place[PHX_SITE_PLACE_MAX];
	int r = phx_site_effective(ix, node, &e);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_site_from, f, &e.sets)
		fn(arg, f->set->name[0] ? "profile" : "nodes",
		   f->set->name[0] ? f->set->name : f->set->nodes, "", f->set->place);
	for (int kind = 0; kind < PHX_SITE_VALUE_COUNT_; kind++)
		PHX_LIST_EACH(struct phx_site_found, f, &e.values[kind]) {
			phx_site_place(f->set, f->value->line, place);
			fn(arg, phx_site_value_key((enum phx_site_value_kind)kind), f->value->name,
			   f->value->text, place);
		}
	tell_mounts(&e, fn, arg);
	tell_nics(&e, fn, arg);
	phx_site_effective_fini(&e);
	return 0;
}

char *phx_site_kernel_args(const struct phx_site_index *ix, const char *node)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct phx_site_effective e;
	if (phx_site_effective(ix, node, &e) < 0)
		return NULL;
	PHX_LIST_EACH(struct phx_site_found, f, &e.values[PHX_SITE_VALUE_kernel_args])
		phx_buf_addf(&b, "%s%s", b.n ? " " : "", f->value->text);
	phx_site_effective_fini(&e);
	return b.failed ? NULL : b.n ? phx_buf_take(&b) : strdup("");
}
