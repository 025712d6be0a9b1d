/* Node lists against what phxd knows: groups are asked of it, an unknown name is told with the
 * nearest one. Every command that takes nodes comes through here. Changes nothing. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"

enum { NAMES_TIMEOUT_MS = 10000, NODES_TIMEOUT_MS = 60000, NAMES_URL_MAX = 2000 };

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

static int ask_for_nodes(struct cli *cli, const char *path, int timeout_ms, json_t **ret_nodes,
			 struct phx_err *err)
{
	PHX_AUTO_JSON json_t *answer = NULL;
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

int cli_nodes_ask(struct cli *cli, const struct phx_nodeset *names, const char *fields,
		  int timeout_ms, json_t **ret_nodes, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = nodes_path(names, fields);
	return ask_for_nodes(cli, path, timeout_ms, ret_nodes, err);
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

/* Who asks phxd for the groups of a list, and what went wrong beside a group that is none. */
struct asking {
	struct cli *cli;
	int code;
	struct phx_err err;
};

/* Which groups there are, and who is in one, phxd alone knows. */
static int ask_for_group(void *arg, const char *group, struct phx_nodeset *ret)
{
	struct asking *a = arg;
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO_FREE char *escaped = cli_url_escape(group);
	PHX_AUTO_FREE char *path =
		escaped ? phx_path("/v1/nodes?names=@%s&fields=name", escaped) : NULL;
	int code = ask_for_nodes(a->cli, path, NODES_TIMEOUT_MS, &nodes, &a->err);
	if (code == CLI_USAGE)
		return -ENOENT;
	a->code = code;
	int r = code ? -EIO : 0;
	size_t i;
	json_t *node;
	json_array_foreach(nodes, i, node) {
		r = r ? r : phx_nodeset_add(ret, phx_json_str(node, "name", ""));
	}
	return r;
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

int cli_nodes_names(struct cli *cli, const char *list, struct phx_nodeset *ret)
{
	struct phx_err err = {0};
	struct asking a = {.cli = cli};
	int r = phx_nodeset_parse(list, ask_for_group, &a, ret, &err);
	if (a.code)
		return a.err.text[0] ? cli_fail(a.code, "%s", a.err.text) : a.code;
	return r < 0 ? cli_fail(CLI_USAGE, "%s", err.text) : CLI_OK;
}

int cli_nodes_select(struct cli *cli, const char *list, const char *fields, json_t **ret_nodes)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	int code = list ? cli_nodes_names(cli, list, &names) : CLI_OK;
	if (!code && list && !names.n)
		nodes = json_array(); /* of an empty group */
	else
		code = code ? code : cli_nodes_get(cli, list ? &names : NULL, fields, &nodes);
	if (code)
		return code;
	if (list)
		return pick(cli, nodes, &names, ret_nodes);
	*ret_nodes = sort_nodes(nodes);
	return *ret_nodes ? CLI_OK : CLI_PARTIAL;
}
