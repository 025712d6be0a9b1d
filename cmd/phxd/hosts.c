/* The folded hostlists of pools and REs, as the API shows them. They are read often and change
 * seldom, so a text is made again only when the nodes have changed. All under the engine's lock.
 * Called by the files that show pools and REs (view.c, view_re.c). */
#include <string.h>

#include "base/nodeset.h"
#include "phxd/daemon.h"

struct kept {
	enum phx_members_kind kind;
	char key[PHX_NAME_MAX];
	uint64_t changed; /* the change of the members for which the text is valid */
	char *text;
};

void hosts_fini(struct phx_list *h)
{
	PHX_LIST_EACH(struct kept, k, h)
		free(k->text);
	phx_list_fini(h);
}

/* NULL on ENOMEM. */
static char *fold(const struct phx_state *s, enum phx_members_kind kind, const char *key)
{
	struct phx_nodeset set = {0};
	uint32_t at = 0;
	PHX_AUTO_FREE char **names = calloc(phx_members_count(s, kind, key) + 1, sizeof(*names));
	for (const struct phx_node *n; names && (n = phx_members_next(s, kind, key, &at));)
		names[set.n++] = (char *)(uintptr_t)n->name; /* read alone */
	set.names = names;
	return names ? phx_nodeset_fold(&set) : NULL;
}

/* The entry of a group, else a new one or that of an empty group; NULL on ENOMEM. */
static struct kept *find(struct phx_list *h, const struct phx_state *s, enum phx_members_kind kind,
			 const char *key)
{
	struct kept *to = NULL;
	PHX_LIST_EACH(struct kept, k, h) {
		if (k->kind == kind && !strcmp(k->key, key))
			return k;
		to = !to && !phx_members_count(s, k->kind, k->key) ? k : to;
	}
	to = to ? to : phx_list_push(h, sizeof(*to));
	if (!to)
		return NULL;
	free(to->text);
	*to = (struct kept){.kind = kind};
	PHX_STR_SET(to->key, key);
	return to;
}

json_t *hosts_json(struct phx_list *h, const struct phx_state *s, enum phx_members_kind kind,
		   const char *key)
{
	uint64_t changed = phx_members_changed(s, kind, key);
	struct kept *k = phx_members_count(s, kind, key) ? find(h, s, kind, key) : NULL;
	if (k && (!k->text || !changed || k->changed != changed)) {
		free(k->text);
		k->text = fold(s, kind, key);
		k->changed = changed;
	}
	return json_string(k && k->text ? k->text : "");
}
