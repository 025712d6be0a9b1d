/* Hostlists against the nodes that phxd knows: see names.h. */
#include "phxd/names.h"

#include <errno.h>
#include <string.h>

struct group {
	const char *prefix;
	bool (*holds)(const struct phx_node *n, const char *value);
};

static bool any(const struct phx_node *n, const char *value)
{
	(void)n;
	return !*value;
}

static bool of_role(const struct phx_node *n, const char *value)
{
	return !strcmp(n->role, value);
}

static bool of_pool(const struct phx_node *n, const char *value)
{
	return !strcmp(n->pool, value);
}

static bool of_state(const struct phx_node *n, const char *value)
{
	return !strcmp(phx_enum_name(&phx_node_state_names, n->state), value);
}

static bool is_up(const struct phx_node *n, const char *value)
{
	return !*value && n->up;
}

static bool is_missing(const struct phx_node *n, const char *value)
{
	return !*value && !n->up;
}

static const struct group groups[] = {
	{ "all", any },	  { "role:", of_role }, { "pool:", of_pool }, { "state:", of_state },
	{ "up", is_up }, { "missing", is_missing },
};

static int expand(void *arg, const char *name, struct phx_nodeset *ret)
{
	struct daemon *d = arg;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(groups); i++) {
		if (!phx_str_starts(name, groups[i].prefix))
			continue;
		const char *value = name + strlen(groups[i].prefix);
		int r = 0;
		const struct phx_state *s = engine_lock(d->engine);
		PHX_LIST_EACH(struct phx_node, n, &s->nodes)
			if (r == 0 && groups[i].holds(n, value))
				r = phx_nodeset_add(ret, n->name);
		engine_unlock(d->engine);
		return r < 0 ? r : 0;
	}
	return -ENOENT;
}

int names_parse(struct daemon *d, const char *text, struct phx_nodeset *ret, struct phx_err *err)
{
	return phx_nodeset_parse(text, expand, d, ret, err);
}
