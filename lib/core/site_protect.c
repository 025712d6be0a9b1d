/* Which disks of which nodes the settings of the site protect: see site.h. site.c calls this file.
 * Pure. */
#include "core/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nodeset.h"
#include "node/protect.h"

static int by_node(const void *a, const void *b)
{
	return strcmp(((const struct phx_protect_node *)a)->node,
		      ((const struct phx_protect_node *)b)->node);
}

static int protect_group(struct phx_apply *a, const struct phx_protect_group *g,
			 struct phx_list *ret)
{
	struct phx_nodeset set = {0};
	struct phx_protect p = {0};
	int r = phx_protect_add(&p, phx_text(g->selectors));
	r = r ? r : phx_protect_check(&p, a->err);
	r = r ? r : phx_nodeset_parse(phx_text(g->nodes), NULL, NULL, &set, a->err);
	for (uint32_t i = 0; r == 0 && i < set.n; i++) {
		struct phx_protect_node *n = phx_list_push(ret, sizeof(*n));
		if (!n || !(n->selectors = strdup(phx_text(g->selectors)))) {
			r = -ENOMEM;
			break;
		}
		PHX_STR_SET(n->node, set.names[i]);
	}
	phx_nodeset_fini(&set);
	return r;
}

static void free_protects(struct phx_list *protects)
{
	PHX_LIST_EACH(struct phx_protect_node, n, protects)
		phx_record_fini(&phx_protect_node_record, n);
	phx_list_fini(protects);
}

int phx_site_protect_nodes(struct phx_apply *a, const struct phx_list *groups)
{
	struct phx_list protects = {0};
	int r = 0;
	PHX_LIST_EACH(struct phx_protect_group, g, groups)
		r = r ? r : protect_group(a, g, &protects);
	if (r < 0) {
		free_protects(&protects);
		return r;
	}
	if (protects.n)
		qsort(protects.items, protects.n, sizeof(struct phx_protect_node), by_node);
	free_protects(&a->s->site_protects);
	a->s->site_protects = protects;
	return 0;
}
