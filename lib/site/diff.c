/* What changes between two versions of the settings, for people. Of no file, and of no secret, any
 * content is told. Called by phxd. Pure. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "site/diff.h"

struct diff {
	phx_site_say_fn say;
	void *arg;
	uint32_t n;
};

/* A kind of item of a list. */
struct kind {
	const char *what;
	const struct phx_record *record;
	size_t list; /* offset in struct phx_site */
	void (*name)(const void *item, char *ret, size_t size);
};

static void tell(struct diff *d, const char *what, const char *name, const char *how)
{
	char text[PHX_SITE_PLACE_MAX + 300];
	snprintf(text, sizeof(text), "%s %s: %s", what, name, how);
	d->say(d->arg, text);
	d->n++;
}

static void name_of_group(const void *item, char *ret, size_t size)
{
	phx_str_copy(ret, size, ((const struct phx_site_group *)item)->name);
}

static void name_of_user(const void *item, char *ret, size_t size)
{
	phx_str_copy(ret, size, ((const struct phx_site_user *)item)->name);
}

static void name_of_file(const void *item, char *ret, size_t size)
{
	const struct phx_site_file *f = item;
	snprintf(ret, size, "%s (%s%s%s)", f->path, phx_enum_name(&phx_site_scope_names, f->scope),
		 f->of[0] ? " " : "", f->of);
}

static void name_of_network(const void *item, char *ret, size_t size)
{
	phx_str_copy(ret, size, ((const struct phx_site_network *)item)->name);
}

static void name_of_profile(const void *item, char *ret, size_t size)
{
	phx_str_copy(ret, size, ((const struct phx_site_set *)item)->name);
}

static void name_of_group_of_nodes(const void *item, char *ret, size_t size)
{
	phx_str_copy(ret, size, ((const struct phx_site_set *)item)->nodes);
}

static const struct kind kinds[] = {
	{"profile", &phx_site_set_record, offsetof(struct phx_site, profiles), name_of_profile},
	{"nodes", &phx_site_set_record, offsetof(struct phx_site, nodes), name_of_group_of_nodes},
	{"network", &phx_site_network_record, offsetof(struct phx_site, networks), name_of_network},
	{"group", &phx_site_group_record, offsetof(struct phx_site, groups), name_of_group},
	{"user", &phx_site_user_record, offsetof(struct phx_site, users), name_of_user},
	{"file", &phx_site_file_record, offsetof(struct phx_site, files), name_of_file},
};

static const struct phx_list *list_of(const struct phx_site *s, const struct kind *k)
{
	return (const struct phx_list *)(const void *)((const char *)s + k->list);
}

static const void *item_at(const struct phx_list *l, const struct kind *k, uint32_t i)
{
	return (const char *)l->items + i * k->record->size;
}

/* Which items have which names: there may be thousands. -ENOMEM. */
static int index_names(const struct phx_list *l, const struct kind *k, struct phx_hash *ret)
{
	char name[PHX_SITE_PLACE_MAX];
	int r = phx_hash_reserve(ret, l->n);
	for (uint32_t i = 0; r == 0 && i < l->n; i++) {
		k->name(item_at(l, k, i), name, sizeof(name));
		r = phx_hash_put(ret, phx_hash_text(name), i);
	}
	return r;
}

static const void *find(const struct phx_list *l, const struct phx_hash *names,
			const struct kind *k, const char *name)
{
	char other[PHX_SITE_PLACE_MAX];
	uint32_t hash = phx_hash_text(name), i;
	for (uint32_t at = hash; phx_hash_next(names, hash, &at, &i);) {
		k->name(item_at(l, k, i), other, sizeof(other));
		if (!strcmp(other, name))
			return item_at(l, k, i);
	}
	return NULL;
}

/* The names of the members in which two items differ; where they are written does not count. */
static bool differ(const struct phx_record *rec, const void *a, const void *b, char *ret,
		   size_t size)
{
	size_t n = 0;
	for (size_t i = 0; i < rec->n_fields; i++) {
		const struct phx_record one = {
			.size = rec->size, .fields = &rec->fields[i], .n_fields = 1};
		const char *name =
			rec->fields[i].key ? rec->fields[i].key->name : rec->fields[i].name;
		if (!strcmp(name, "place") || phx_record_equal(&one, a, b))
			continue;
		snprintf(ret + n, size - n, "%s%s", n ? ", " : "changed: ", name);
		n += strlen(ret + n);
	}
	return n > 0;
}

static void diff_items(struct diff *d, const struct kind *k, const struct phx_site *from,
		       const struct phx_site *to)
{
	const struct phx_list *old = list_of(from, k), *new = list_of(to, k);
	PHX_AUTO(phx_hash_fini) struct phx_hash old_names = {0}, new_names = {0};
	char name[PHX_SITE_PLACE_MAX], how[256];
	if (index_names(old, k, &old_names) < 0 || index_names(new, k, &new_names) < 0)
		return tell(d, k->what, "all", "out of memory: what changes is not known");
	for (uint32_t i = 0; i < old->n; i++) {
		k->name(item_at(old, k, i), name, sizeof(name));
		if (!find(new, &new_names, k, name))
			tell(d, k->what, name, "removed");
	}
	for (uint32_t i = 0; i < new->n; i++) {
		k->name(item_at(new, k, i), name, sizeof(name));
		const void *before = find(old, &old_names, k, name);
		if (!before)
			tell(d, k->what, name, "added");
		else if (differ(k->record, before, item_at(new, k, i), how, sizeof(how)))
			tell(d, k->what, name, how);
	}
}

uint32_t phx_site_diff(const struct phx_site *from, const struct phx_site *to, phx_site_say_fn say,
		       void *arg)
{
	static const char *const singles[] = {"domain", "ntp", "serve_names", "forward_dns",
					      "root_keys"};
	struct diff d = {say, arg, 0};
	for (size_t i = 0; i < phx_site_record.n_fields; i++) {
		const struct phx_field *f = &phx_site_record.fields[i];
		const struct phx_record one = {.size = sizeof(*from), .fields = f, .n_fields = 1};
		bool single = false;
		for (size_t k = 0; k < PHX_ARRAY_SIZE(singles); k++)
			single = single || !strcmp(f->name, singles[k]);
		if (single && !phx_record_equal(&one, from, to))
			tell(&d, "setting", f->name, "changed");
	}
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++)
		diff_items(&d, &kinds[i], from, to);
	return d.n;
}
