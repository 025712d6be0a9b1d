/* Hostlists, resolved by the nodes that phxd knows: see names.h. */
#include "phxd/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "phxd/people.h"

/* Who asks, and, once a label is looked for, of which nodes he sees the hardware. */
struct asker {
	struct daemon *d;
	const struct phx_http_peer *peer;
	bool known;
	struct person person;
	enum phx_scope hardware;
	const struct phx_state *s; /* while it is looked at */
};

struct group {
	const char *prefix;
	bool (*holds)(const struct asker *a, const struct phx_node *n, const char *value);
	bool (*exists)(const struct asker *a, const char *value); /* NULL: any value does */
};

static bool any(const struct asker *a, const struct phx_node *n, const char *value)
{
	(void)a, (void)n;
	return !*value;
}

static bool of_role(const struct asker *a, const struct phx_node *n, const char *value)
{
	(void)a;
	return !strcmp(n->role, value);
}

static bool of_pool(const struct asker *a, const struct phx_node *n, const char *value)
{
	(void)a;
	return !strcmp(n->pool, value);
}

static bool of_state(const struct asker *a, const struct phx_node *n, const char *value)
{
	(void)a;
	return !strcmp(phx_enum_name(&phx_node_state_names, n->state), value);
}

static bool is_up(const struct asker *a, const struct phx_node *n, const char *value)
{
	(void)a;
	return !*value && n->up;
}

static bool is_missing(const struct asker *a, const struct phx_node *n, const char *value)
{
	(void)a;
	return !*value && !n->up;
}

/* ---- labels: "rack=3"; and where a switch says that a node is plugged in ---- */

static bool is_key(const char *key, const char *value)
{
	size_t n = strcspn(value, "=");
	return strlen(key) == n && !memcmp(key, value, n);
}

static const char *switch_of(const struct phx_nic_facts *nic)
{
	return nic->neighbor;
}
static const char *port_of(const struct phx_nic_facts *nic)
{
	return nic->neighbor_port;
}

/* Keys that no label needs: a node has them by what the switches say to its cards (LLDP), for who
 * sees its hardware. */
static const struct {
	const char *key;
	const char *(*of)(const struct phx_nic_facts *nic);
} places[] = {{"switch", switch_of}, {"port", port_of}};

static bool sees_hardware(const struct asker *a, const struct phx_node *n)
{
	return a->hardware == PHX_SCOPE_ALL ||
		(a->hardware == PHX_SCOPE_OWN && person_holds(a->s, &a->person, n));
}

/* Is the node plugged in there? `value` "switch=": anywhere. */
static bool is_plugged_in(const struct asker *a, const struct phx_node *n, const char *value)
{
	const char *wanted = strchr(value, '=') + 1;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++) {
		if (!is_key(places[i].key, value) || !sees_hardware(a, n))
			continue;
		PHX_LIST_EACH(struct phx_nic_facts, nic, &n->facts.nics)
			if (*wanted ? !strcmp(places[i].of(nic), wanted) : *places[i].of(nic))
				return true;
	}
	return false;
}

static bool has_label(const struct asker *a, const struct phx_node *n, const char *value)
{
	PHX_LIST_EACH(struct phx_label, l, &n->labels)
		if (is_key(l->key, value) && !strcmp(l->value, strchr(value, '=') + 1))
			return true;
	return is_plugged_in(a, n, value);
}

static bool has_key(const struct asker *a, const struct phx_node *n, const char *value)
{
	char anywhere[PHX_NAME_MAX];
	PHX_LIST_EACH(struct phx_label, l, &n->labels)
		if (is_key(l->key, value))
			return true;
	snprintf(anywhere, sizeof(anywhere), "%.*s=", (int)strcspn(value, "="), value);
	return is_plugged_in(a, n, anywhere);
}

/* Does any node have the label's key? If not it is misspelt; a value that no node has just matches
 * none. */
static bool is_label(const struct asker *a, const char *value)
{
	PHX_NODES_EACH(n, a->s)
		if (has_key(a, n, value))
			return true;
	return false;
}

static bool is_role(const struct asker *a, const char *value)
{
	return phx_state_role(a->s, value);
}

static bool is_pool(const struct asker *a, const char *value)
{
	return phx_state_pool(a->s, value);
}

static bool is_state(const struct asker *a, const char *value)
{
	int state;
	(void)a;
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

/* It asks the user database: not where nobody wants to know. */
static void know(struct asker *a)
{
	a->known = true;
	a->hardware = person_scope(a->d, a->peer, PHX_RIGHT_hardware);
	person_of(a->d, a->peer, &a->person);
}

static int expand(void *arg, const char *name, struct phx_nodeset *ret)
{
	struct asker *a = arg;
	if (!a->known && strchr(name, '='))
		know(a);
	a->s = engine_lock(a->d->engine);
	const struct group *g = find_group(a->s, name);
	const char *value = g ? name + strlen(g->prefix) : "";
	/* "@all!@role:web-sever" must not mean all */
	int r = g && (!g->exists || g->exists(a, value)) ? 0 : -ENOENT;
	PHX_NODES_EACH(n, a->s)
		if (r == 0 && g->holds(a, n, value))
			r = phx_nodeset_add(ret, n->name);
	engine_unlock(a->d->engine);
	return r < 0 ? r : 0;
}

int names_parse(struct daemon *d, const struct phx_http_peer *peer, const char *text,
		struct phx_nodeset *ret, struct phx_err *err)
{
	struct asker a = {.d = d, .peer = peer, .hardware = PHX_SCOPE_NONE};
	return phx_nodeset_parse(text, expand, &a, ret, err);
}
