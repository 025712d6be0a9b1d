/* Which disks profiles and groups protect, on which nodes: see effective.h. Called by check.c, and
 * by who applies settings. Pure. */
#include "site/effective.h"

#include <errno.h>
#include <string.h>

#include "base/nodeset.h"
#include "site/internal.h"
#include "types/disk_select.h"

/* Nodes with the same selectors. */
struct same {
	char *selectors; /* owned */
	struct phx_nodeset nodes;
};

struct finding {
	const struct phx_site_index *ix;
	struct phx_list all; /* struct same */
	struct phx_hash by_selectors;
	struct phx_nodeset seen;
	struct phx_err *err;
	int r;
};

static bool protects_any(const struct phx_list *sets)
{
	PHX_LIST_EACH(struct phx_site_set, s, sets)
		if (s->protected_disks.n)
			return true;
	return false;
}

/* The selectors of one node, a line each; NULL: -ENOMEM. */
static char *selectors_of(const struct phx_site_effective *e)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_LIST_EACH(struct phx_site_found, f, &e->values[PHX_SITE_VALUE_protected_disks])
		phx_buf_addf(&b, "%s%s", b.n ? "\n" : "", f->value->text);
	return b.failed ? NULL : b.n ? phx_buf_take(&b) : strdup("");
}

static struct same *find_or_add(struct finding *f, char **selectors)
{
	uint32_t hash = phx_hash_text(*selectors), i;
	for (uint32_t at = hash; phx_hash_next(&f->by_selectors, hash, &at, &i);) {
		struct same *s = PHX_LIST_AT(&f->all, struct same, i);
		if (!strcmp(s->selectors, *selectors))
			return s;
	}
	if (phx_hash_reserve(&f->by_selectors, f->all.n + 1) < 0)
		return NULL;
	struct same *s = phx_list_push(&f->all, sizeof(*s));
	if (!s)
		return NULL;
	s->selectors = PHX_TAKE(*selectors);
	phx_hash_put(&f->by_selectors, hash, f->all.n - 1);
	return s;
}

static int put(struct finding *f, const char *node, char **selectors)
{
	if (!(*selectors)[0])
		return 0;
	if (strlen(*selectors) >= PHX_SELECTORS_TEXT_MAX)
		return phx_err_set(f->err, -E2BIG,
				   "protected_disks of node %s must have less than %d characters "
				   "in all, and have %zu",
				   node, PHX_SELECTORS_TEXT_MAX, strlen(*selectors));
	struct same *s = find_or_add(f, selectors);
	return s ? phx_nodeset_add(&s->nodes, node) : -ENOMEM;
}

static void find_of(void *arg, const struct phx_site_set *group, const char *node)
{
	struct finding *f = arg;
	struct phx_site_effective e;
	(void)group;
	if (f->r < 0 || phx_nodeset_has(&f->seen, node))
		return;
	f->r = phx_nodeset_add(&f->seen, node);
	f->r = f->r ? f->r : phx_site_effective(f->ix, node, &e);
	if (f->r < 0)
		return;
	PHX_AUTO_FREE char *selectors = selectors_of(&e);
	phx_site_effective_fini(&e);
	f->r = selectors ? put(f, node, &selectors) : -ENOMEM;
}

static int give(struct finding *f, struct phx_list *ret)
{
	int r = f->r;
	PHX_LIST_EACH(struct same, s, &f->all) {
		struct phx_protect_group *g = r < 0 ? NULL : phx_list_push(ret, sizeof(*g));
		if (r == 0 && g)
			*g = (struct phx_protect_group){phx_nodeset_fold(&s->nodes),
							PHX_TAKE(s->selectors)};
		if (r == 0 && (!g || !g->nodes))
			r = -ENOMEM;
		free(s->selectors);
		phx_nodeset_fini(&s->nodes);
	}
	return r;
}

int phx_site_protected(const struct phx_site_index *ix, struct phx_list *ret, struct phx_err *err)
{
	const struct phx_site *s = phx_site_index_of(ix);
	struct finding f = {.ix = ix, .err = err};
	*ret = (struct phx_list){0};
	if (!protects_any(&s->profiles) && !protects_any(&s->nodes))
		return 0;
	phx_site_each_name(ix, find_of, &f);
	int r = give(&f, ret);
	if (r < 0)
		phx_site_protected_fini(ret);
	phx_list_fini(&f.all);
	phx_hash_fini(&f.by_selectors);
	phx_nodeset_fini(&f.seen);
	return r;
}

void phx_site_protected_fini(struct phx_list *groups)
{
	PHX_LIST_EACH(struct phx_protect_group, g, groups)
		phx_record_fini(&phx_protect_group_record, g);
	phx_list_fini(groups);
}
