/* Hostlists, resolved by the nodes that phxd knows: see names.h. */
#include "phxd/names.h"

#include <errno.h>
#include <string.h>

struct group {
	const char *prefix;
	bool (*holds)(const struct phx_node *n, const char *value);
	bool (*exists)(const struct phx_state *s, const char *value); /* NULL: any value does */
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

/* `value`: "rack=3" */
static bool has_label(const struct phx_node *n, const char *value)
{
	size_t n_key = strcspn(value, "=");
	PHX_LIST_EACH(struct phx_label, l, &n->labels)
		if (strlen(l->key) == n_key && !memcmp(l->key, value, n_key) &&
		    !strcmp(l->value, value + n_key + 1))
			return true;
	return false;
}

/* Does any node have the label's key? If not it is misspelt; a value that no node has just matches
 * none. */
static bool is_label(const struct phx_state *s, const char *value)
{
	size_t n_key = strcspn(value, "=");
	PHX_NODES_EACH(n, s)
		PHX_LIST_EACH(struct phx_label, l, &n->labels)
			if (strlen(l->key) == n_key && !memcmp(l->key, value, n_key))
				return true;
	return false;
}

static bool is_role(const struct phx_state *s, const char *value)
{
	return phx_state_role(s, value);
}

static bool is_pool(const struct phx_state *s, const char *value)
{
	return phx_state_pool(s, value);
}

static bool is_state(const struct phx_state *s, const char *value)
{
	int state;
	(void)s;
	return phx_enum_parse(&phx_node_state_names, value, &state, NULL) == 0;
}

static const struct group groups[] = {
	{"all", any, NULL},          {"role:", of_role, is_role},
	{"pool:", of_pool, is_pool}, {"state:", of_state, is_state},
	{"up", is_up, NULL},         {"missing", is_missing, NULL},
};

static const struct group of_label = {"", has_label, is_label}, of_bare_pool = {"", of_pool, NULL},
			  of_bare_role = {"", of_role, NULL};

/* The group that a name means: one of the list, a label, else the pool, else the role of that name.
 */
static const struct group *find_group(const struct phx_state *s, const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(groups); i++) {
		size_t n = strlen(groups[i].prefix);
		if (phx_str_starts(name, groups[i].prefix) &&
		    (groups[i].prefix[n - 1] == ':' || !name[n]))
			return &groups[i];
	}
	if (strchr(name, '='))
		return &of_label;
	if (phx_state_pool(s, name))
		return &of_bare_pool;
	return phx_state_role(s, name) ? &of_bare_role : NULL;
}

static int expand(void *arg, const char *name, struct phx_nodeset *ret)
{
	struct daemon *d = arg;
	const struct phx_state *s = engine_lock(d->engine);
	const struct group *g = find_group(s, name);
	const char *value = g ? name + strlen(g->prefix) : "";
	/* "@all!@role:web-sever" must not mean all */
	int r = g && (!g->exists || g->exists(s, value)) ? 0 : -ENOENT;
	PHX_NODES_EACH(n, s)
		if (r == 0 && g->holds(n, value))
			r = phx_nodeset_add(ret, n->name);
	engine_unlock(d->engine);
	return r < 0 ? r : 0;
}

int names_parse(struct daemon *d, const char *text, struct phx_nodeset *ret, struct phx_err *err)
{
	return phx_nodeset_parse(text, expand, d, ret, err);
}
