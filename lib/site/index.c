/* Which groups name which nodes: see effective.h. Pure. */
#include "site/effective.h"

#include <errno.h>
#include <string.h>

#include "base/nodeset.h"
#include "site/internal.h"

struct phx_site_index {
	const struct phx_site *s;
	struct phx_nodeset *sets; /* of each group */
	struct phx_list rows;     /* struct phx_site_row, of one group behind one another */
	struct phx_hash nodes;    /* name of a node to rows */
	struct phx_hash profiles; /* name to place in s->profiles */
};

static int add_names(struct phx_site_index *ix, uint32_t group)
{
	const struct phx_nodeset *set = &ix->sets[group];
	int r = phx_hash_reserve(&ix->nodes, ix->rows.n + set->n);
	for (uint32_t i = 0; r == 0 && i < set->n; i++) {
		struct phx_site_row *row = phx_list_push(&ix->rows, sizeof(*row));
		if (!row)
			return -ENOMEM;
		*row = (struct phx_site_row){set->names[i], group, i};
		r = phx_hash_put(&ix->nodes, phx_hash_text(row->node), ix->rows.n - 1);
	}
	return r;
}

static int add_group(struct phx_site_index *ix, uint32_t group)
{
	const struct phx_site_set *g = PHX_LIST_AT(&ix->s->nodes, struct phx_site_set, group);
	int r = phx_nodeset_parse(g->nodes, NULL, NULL, &ix->sets[group], NULL);
	return r == -ENOMEM ? r : r < 0 ? 0 : add_names(ix, group);
}

static int add_profiles(struct phx_site_index *ix)
{
	const struct phx_list *l = &ix->s->profiles;
	int r = phx_hash_reserve(&ix->profiles, l->n);
	for (uint32_t i = 0; r == 0 && i < l->n; i++) {
		const char *name = PHX_LIST_AT(l, struct phx_site_set, i)->name;
		if (!phx_site_profile(ix, name))
			r = phx_hash_put(&ix->profiles, phx_hash_text(name), i);
	}
	return r;
}

int phx_site_index_new(const struct phx_site *s, struct phx_site_index **ret)
{
	struct phx_site_index *ix = calloc(1, sizeof(*ix));
	int r = ix ? 0 : -ENOMEM;
	if (r < 0)
		return r;
	ix->s = s;
	ix->sets = calloc(s->nodes.n + 1, sizeof(*ix->sets));
	r = ix->sets ? add_profiles(ix) : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < s->nodes.n; i++)
		r = add_group(ix, i);
	if (r < 0) {
		phx_site_index_free(ix);
		return r;
	}
	*ret = ix;
	return 0;
}

void phx_site_index_free(struct phx_site_index *ix)
{
	if (!ix)
		return;
	for (uint32_t i = 0; ix->sets && i < ix->s->nodes.n; i++)
		phx_nodeset_fini(&ix->sets[i]);
	free(ix->sets);
	phx_list_fini(&ix->rows);
	phx_hash_fini(&ix->nodes);
	phx_hash_fini(&ix->profiles);
	free(ix);
}

const struct phx_site *phx_site_index_of(const struct phx_site_index *ix)
{
	return ix->s;
}

const struct phx_site_set *phx_site_profile(const struct phx_site_index *ix, const char *name)
{
	uint32_t hash = phx_hash_text(name), i;
	for (uint32_t at = hash; phx_hash_next(&ix->profiles, hash, &at, &i);) {
		const struct phx_site_set *p =
			PHX_LIST_AT(&ix->s->profiles, struct phx_site_set, i);
		if (!strcmp(p->name, name))
			return p;
	}
	return NULL;
}

const struct phx_site_row *phx_site_row_next(const struct phx_site_index *ix, const char *node,
					     uint32_t *at)
{
	uint32_t hash = phx_hash_text(node), i;
	while (phx_hash_next(&ix->nodes, hash, at, &i)) {
		const struct phx_site_row *row = PHX_LIST_AT(&ix->rows, struct phx_site_row, i);
		if (!strcmp(row->node, node))
			return row;
	}
	return NULL;
}

void phx_site_each_name(const struct phx_site_index *ix,
			void (*fn)(void *arg, const struct phx_site_set *group, const char *name),
			void *arg)
{
	PHX_LIST_EACH(struct phx_site_row, row, &ix->rows)
		fn(arg, PHX_LIST_AT(&ix->s->nodes, struct phx_site_set, row->group), row->node);
}
