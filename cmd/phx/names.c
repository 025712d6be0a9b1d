/* Node lists against what phxd knows: groups, unknown names with the nearest one. Every command
 * that takes nodes comes through here. Changes nothing. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "types/node.h"
#include "phx/cli.h"

enum { NAMES_TIMEOUT_MS = 10000, NODES_TIMEOUT_MS = 60000, NAMES_URL_MAX = 4000 };
#define GROUP_FIELDS "name,state,pool,role,up,labels"

static int unknown(const char *what, const char *name, const char *nearest)
{
	if (nearest)
		return cli_fail(CLI_USAGE, "there is no %s '%s'; did you mean '%s'?", what, name,
				nearest);
	return cli_fail(CLI_USAGE, "there is no %s '%s'", what, name);
}

/* phxd may know more of it than that it is not there (a role whose file has a mistake). */
static int tell_unknown(struct cli *cli, const char *what, const char *path, const char *name,
			const char *nearest)
{
	struct phx_err err = {0}, plain = {0};
	PHX_AUTO_FREE char *escaped = cli_url_escape(name);
	PHX_AUTO_FREE char *at = escaped ? phx_path("%s/%s", path, escaped) : NULL;
	phx_err_set(&plain, 0, "there is no %s '%s'", what, name);
	if (at && cli_call_quiet(cli, "GET", at, NULL, NAMES_TIMEOUT_MS, NULL, &err) == CLI_USAGE &&
	    phx_str_starts(err.text, plain.text) && !phx_str_eq(err.text, plain.text))
		return cli_fail(CLI_USAGE, "%s", err.text);
	return unknown(what, name, nearest);
}

int cli_known(struct cli *cli, const char *what, const char *path, const char *list,
	      const char *name)
{
	PHX_AUTO_JSON json_t *all = NULL;
	int code = cli_get(cli, path, &all);
	if (code)
		return code;
	const json_t *items = json_object_get(all, list);
	size_t i;
	json_t *item;
	json_array_foreach((json_t *)items, i, item) {
		if (phx_str_eq(phx_json_str(item, "name", ""), name))
			return CLI_OK;
	}
	return tell_unknown(cli, what, path, name, cli_nearest(items, "name", name));
}

/* ---- node lists ---- */

/* "/v1/nodes" with what is asked for; a list that would be too long for a request is left out: all
 * nodes hold it. */
static char *nodes_path(const struct phx_nodeset *names, const char *fields)
{
	struct phx_buf b = {0};
	PHX_AUTO_FREE char *folded = names ? phx_nodeset_fold(names) : NULL;
	PHX_AUTO_FREE char *escaped = folded ? cli_url_escape(folded) : NULL;
	bool named = escaped && strlen(escaped) <= NAMES_URL_MAX;
	phx_buf_addf(&b, "/v1/nodes");
	if (named)
		phx_buf_addf(&b, "?names=%s", escaped);
	if (fields)
		phx_buf_addf(&b, "%cfields=%s", named ? '&' : '?', fields);
	return phx_buf_take(&b);
}

int cli_nodes_ask(struct cli *cli, const struct phx_nodeset *names, const char *fields,
		  int timeout_ms, json_t **ret_nodes, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *path = nodes_path(names, fields);
	int code = path ? cli_call_quiet(cli, "GET", path, NULL, timeout_ms, &answer, err)
			: CLI_PARTIAL;
	if (code)
		return code;
	json_t *nodes = json_object_get(answer, "nodes");
	if (!json_is_array(nodes)) {
		phx_err_set(err, -EPROTO, "phxd's answer holds no nodes");
		return CLI_UNAVAILABLE;
	}
	*ret_nodes = json_incref(nodes);
	return CLI_OK;
}

int cli_nodes_get(struct cli *cli, const struct phx_nodeset *names, const char *fields,
		  json_t **ret_nodes)
{
	struct phx_err err = {0};
	int code = cli_nodes_ask(cli, names, fields, NODES_TIMEOUT_MS, ret_nodes, &err);
	return code && err.text[0] ? cli_fail(code, "%s", err.text) : code;
}

json_t *cli_nodes_by_name(const json_t *nodes)
{
	json_t *by_name = json_object(), *node;
	size_t i;
	json_array_foreach((json_t *)nodes, i, node)
		json_object_set(by_name, phx_json_str(node, "name", ""), node);
	return by_name;
}

json_t *cli_node_find(const json_t *nodes, const char *name)
{
	size_t i;
	json_t *node;
	json_array_foreach((json_t *)nodes, i, node) {
		if (phx_str_eq(phx_json_str(node, "name", ""), name))
			return node;
	}
	return NULL;
}

/* Value of a node's label, NULL without it; the key is `n_key` bytes long. Borrowed. */
static const char *label_of(const json_t *node, const char *key, size_t n_key)
{
	size_t i;
	json_t *label;
	json_array_foreach(json_object_get(node, "labels"), i, label) {
		const char *have = phx_json_str(label, "key", "");
		if (strlen(have) == n_key && !memcmp(have, key, n_key))
			return phx_json_str(label, "value", "");
	}
	return NULL;
}

/* Does a node belong to the group? `value` is what stands behind the colon; a label is "KEY=VALUE"
 * in `key`. */
static bool in_group(const json_t *node, const char *key, const char *value)
{
	size_t n_key = strcspn(key, "=");
	if (key[n_key])
		return phx_str_eq(label_of(node, key, n_key), key + n_key + 1);
	if (value)
		return phx_str_eq(phx_json_str(node, key, ""), value);
	if (phx_str_eq(key, "all"))
		return true;
	return phx_json_bool(node, "up", false) == phx_str_eq(key, "up");
}

/* What a list is read against. */
struct known {
	struct cli *cli;
	json_t *nodes;
	json_t *pools, *roles; /* asked for when a group wants it */
};

static bool has_name(struct known *k, json_t **all, const char *path, const char *list,
		     const char *name)
{
	struct phx_err err = {0};
	size_t i;
	json_t *item;
	if (!*all)
		cli_call_quiet(k->cli, "GET", path, NULL, NAMES_TIMEOUT_MS, all, &err);
	json_array_foreach(json_object_get(*all, list), i, item) {
		if (phx_str_eq(phx_json_str(item, "name", ""), name))
			return true;
	}
	return false;
}

static int add_group(const struct known *k, const char *key, const char *value,
		     struct phx_nodeset *ret)
{
	int r = 0;
	size_t i;
	json_t *node;
	json_array_foreach(k->nodes, i, node) {
		if (r == 0 && in_group(node, key, value))
			r = phx_nodeset_add(ret, phx_json_str(node, "name", ""));
	}
	return r;
}

static bool is_pool(struct known *k, const char *name)
{
	return has_name(k, &k->pools, "/v1/status", "pools", name);
}

static bool is_role(struct known *k, const char *name)
{
	return has_name(k, &k->roles, "/v1/roles", "roles", name);
}

static bool is_state(struct known *k, const char *name)
{
	(void)k;
	int state;
	return phx_enum_parse(&phx_node_state_names, name, &state, NULL) == 0;
}

/* A value that no node has names nobody; a key that no node has is misspelt. */
static bool is_label(const struct known *k, const char *group)
{
	size_t i, n_key = strcspn(group, "=");
	json_t *node;
	json_array_foreach(k->nodes, i, node) {
		if (label_of(node, group, n_key))
			return true;
	}
	return false;
}

/* "@all", "@up", "@missing", "@role:NAME", "@pool:NAME", "@state:NAME", "@KEY=VALUE"; "@NAME" is
 * the pool of that name, or else the role. A NAME that does not exist is none:
 * "@all!@role:web-sever" must not mean all. */
static int find_group(void *arg, const char *group, struct phx_nodeset *ret)
{
	static const struct {
		const char *key;
		bool (*exists)(struct known *k, const char *value);
	} groups[] = {{"all", NULL},     {"up", NULL},      {"missing", NULL},
		      {"role", is_role}, {"pool", is_pool}, {"state", is_state}};
	struct known *k = arg;
	const char *colon = strchr(group, ':');
	size_t n = colon ? (size_t)(colon - group) : strlen(group);
	for (size_t at = 0; at < PHX_ARRAY_SIZE(groups); at++) {
		if (strlen(groups[at].key) != n || memcmp(group, groups[at].key, n) != 0 ||
		    !groups[at].exists != !colon)
			continue;
		if (colon && !groups[at].exists(k, colon + 1))
			return -ENOENT;
		return add_group(k, groups[at].key, colon ? colon + 1 : NULL, ret);
	}
	if (colon)
		return -ENOENT;
	if (strchr(group, '='))
		return is_label(k, group) ? add_group(k, group, NULL, ret) : -ENOENT;
	if (is_pool(k, group))
		return add_group(k, "pool", group, ret);
	return is_role(k, group) ? add_group(k, "role", group, ret) : -ENOENT;
}

static int compare_names(const void *a, const void *b)
{
	const json_t *const *x = a, *const *y = b;
	return strverscmp(phx_json_str(*x, "name", ""), phx_json_str(*y, "name", ""));
}

/* The same nodes sorted by name, in a new array. */
static json_t *sort_nodes(const json_t *nodes)
{
	size_t n = json_array_size(nodes);
	PHX_AUTO_FREE json_t **items = calloc(n ? n : 1, sizeof(json_t *));
	json_t *sorted = json_array();
	if (!items || !sorted) {
		json_decref(sorted);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		items[i] = json_array_get(nodes, i);
	qsort(items, n, sizeof(json_t *), compare_names);
	for (size_t i = 0; i < n; i++)
		json_array_append(sorted, items[i]);
	return sorted;
}

/* `nodes` holds those of `names` that there are, and maybe more. */
static int pick(struct cli *cli, const json_t *nodes, const struct phx_nodeset *names, json_t **ret)
{
	PHX_AUTO_JSON json_t *picked = json_array(), *by_name = cli_nodes_by_name(nodes),
			     *all = NULL;
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset missing = {0};
	for (uint32_t i = 0; i < names->n; i++) {
		json_t *node = json_object_get(by_name, names->names[i]);
		if (node)
			json_array_append(picked, node);
		else
			phx_nodeset_add(&missing, names->names[i]);
	}
	if (!missing.n) {
		*ret = sort_nodes(picked);
		return *ret ? CLI_OK : CLI_PARTIAL;
	}
	PHX_AUTO_FREE char *folded = phx_nodeset_fold(&missing);
	int code = cli_nodes_get(cli, NULL, "name", &all);
	return code ? code : unknown("node", folded, cli_nearest(all, "name", missing.names[0]));
}

/* The names in a list, whether there are such nodes or not. */
static int parse_list(struct cli *cli, const char *list, json_t *nodes, struct phx_nodeset *ret)
{
	struct phx_err err = {0};
	struct known known = {.cli = cli, .nodes = nodes};
	int r = phx_nodeset_parse(list, find_group, &known, ret, &err);
	json_decref(known.pools);
	json_decref(known.roles);
	return r < 0 ? cli_fail(CLI_USAGE, "%s", err.text) : CLI_OK;
}

/* Who is in a group is seen on the nodes themselves. */
static bool has_groups(const char *list)
{
	return strchr(list, '@');
}

int cli_nodes_names(struct cli *cli, const char *list, struct phx_nodeset *ret)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	int code = has_groups(list) ? cli_nodes_get(cli, NULL, GROUP_FIELDS, &nodes) : CLI_OK;
	return code ? code : parse_list(cli, list, nodes, ret);
}

int cli_nodes_select(struct cli *cli, const char *list, const char *fields, json_t **ret_nodes)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	bool all = !list || has_groups(list);
	PHX_AUTO_FREE char *with_groups =
		list && all && fields ? phx_path(GROUP_FIELDS ",%s", fields) : NULL;
	int code = all ? CLI_OK : parse_list(cli, list, NULL, &names);
	code = code ? code
		    : cli_nodes_get(cli, all ? NULL : &names, with_groups ? with_groups : fields,
				    &nodes);
	if (code)
		return code;
	if (!list) {
		*ret_nodes = sort_nodes(nodes);
		return *ret_nodes ? CLI_OK : CLI_PARTIAL;
	}
	code = all ? parse_list(cli, list, nodes, &names) : CLI_OK;
	return code ? code : pick(cli, nodes, &names, ret_nodes);
}
