/* phx inventory: the nodes as other tools want them. An Ansible inventory
 * (--list, --host) and the upcalls of ClusterShell's groups (--groups). Reads
 * only; groups are the pools, roles, states and labels that phxd knows. */
#include <ctype.h>

#include "base/json.h"
#include "phx/cli.h"

/* ---- groups of one kind ---- */

static const struct kind {
	const char *name;        /* also the node's member, save for labels */
	const char *path, *list; /* where phxd tells those that hold no node; NULL: nowhere */
} kinds[] = {
	{"pool", "/v1/status", "pools"},
	{"role", "/v1/roles", "roles"},
	{"label", NULL, NULL},
	{"state", NULL, NULL},
};

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++)
		if (phx_str_eq(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static void put_in(json_t *groups, const char *group, const char *node)
{
	if (!*group)
		return;
	if (!json_object_get(groups, group))
		json_object_set_new(groups, group, json_array());
	if (node)
		json_array_append_new(json_object_get(groups, group), json_string(node));
}

static void put_labels(json_t *groups, const json_t *node)
{
	size_t i;
	json_t *label;
	json_array_foreach(json_object_get(node, "labels"), i, label) {
		char group[2 * PHX_NAME_MAX];
		snprintf(group, sizeof(group), "%s=%s", phx_json_str(label, "key", ""),
			 phx_json_str(label, "value", ""));
		put_in(groups, group, phx_json_str(node, "name", ""));
	}
}

/* {GROUP: [NODE, ...]}, with the empty ones that phxd names. */
static int read_groups(struct cli *cli, const struct kind *k, const json_t *nodes, json_t *ret)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = k->path ? cli_get(cli, k->path, &answer) : CLI_OK;
	size_t i;
	json_t *item;
	json_array_foreach(json_object_get(answer, k->list ? k->list : ""), i, item)
		put_in(ret, phx_json_str(item, "name", ""), NULL);
	json_array_foreach((json_t *)nodes, i, item) {
		if (phx_str_eq(k->name, "label"))
			put_labels(ret, item);
		else
			put_in(ret, phx_json_str(item, k->name, ""),
			       phx_json_str(item, "name", ""));
	}
	return code;
}

/* ---- Ansible ---- */

/* Group names are letters, digits and '_' there. */
static void ansible_name(const char *kind, const char *group, char *ret, size_t ret_size)
{
	snprintf(ret, ret_size, "%s_%s", kind, group);
	for (char *p = ret; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
}

static json_t *host_vars(const json_t *node)
{
	static const char *const members[] = {"state", "pool", "role", "up", "serial"};
	json_t *vars = json_object(), *labels = json_object();
	const char *address = phx_json_str(node, "address", "");
	if (!*address)
		address = phx_json_str(node, "ip", "");
	if (*address)
		json_object_set_new(vars, "ansible_host", json_string(address));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(members); i++) {
		char key[32];
		snprintf(key, sizeof(key), "phx_%s", members[i]);
		if (json_object_get(node, members[i]))
			json_object_set(vars, key, json_object_get(node, members[i]));
	}
	size_t i;
	json_t *label;
	json_array_foreach(json_object_get(node, "labels"), i, label)
		json_object_set(labels, phx_json_str(label, "key", ""),
				json_object_get(label, "value"));
	json_object_set_new(vars, "phx_labels", labels);
	return vars;
}

static void put_ansible_groups(json_t *ret, const char *kind, json_t *groups)
{
	const char *group;
	json_t *hosts;
	json_object_foreach(groups, group, hosts) {
		char name[3 * PHX_NAME_MAX];
		ansible_name(kind, group, name, sizeof(name));
		json_t *same = json_object_get(json_object_get(ret, name), "hosts");
		if (same) /* "a-b" and "a_b" are one there */
			json_array_extend(same, hosts);
		else
			json_object_set_new(ret, name, json_pack("{s:O}", "hosts", hosts));
	}
}

static int print_json(const json_t *j)
{
	PHX_AUTO_FREE char *text = json_dumps(j, JSON_INDENT(2) | JSON_SORT_KEYS);
	if (!text)
		return cli_fail(CLI_PARTIAL, "out of memory");
	puts(text);
	return CLI_OK;
}

static int print_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL, *vars = json_object(), *hosts = json_array(),
			     *all = json_object();
	int code = cli_nodes_select(cli, NULL, NULL, &nodes);
	size_t i;
	json_t *node;
	json_array_foreach(nodes, i, node) {
		json_object_set_new(vars, phx_json_str(node, "name", ""), host_vars(node));
		json_array_append(hosts, json_object_get(node, "name"));
	}
	for (size_t k = 0; !code && k < PHX_ARRAY_SIZE(kinds); k++) {
		PHX_AUTO_JSON json_t *groups = json_object();
		code = read_groups(cli, &kinds[k], nodes, groups);
		put_ansible_groups(all, kinds[k].name, groups);
	}
	json_object_set_new(all, "all", json_pack("{s:O}", "hosts", hosts));
	json_object_set_new(all, "_meta", json_pack("{s:O}", "hostvars", vars));
	return code ? code : print_json(all);
}

static int print_host(struct cli *cli, const char *name)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	int code = cli_nodes_select(cli, name, NULL, &nodes);
	if (code)
		return code;
	PHX_AUTO_JSON json_t *vars = host_vars(json_array_get(nodes, 0));
	return print_json(vars);
}

/* ---- ClusterShell ---- */

static int print_nodes(struct cli *cli, const char *list)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	int code = cli_nodes_select(cli, list, "name", &nodes);
	PHX_AUTO_FREE char *folded = code ? NULL : cli_nodes_fold(nodes);
	if (folded)
		puts(folded);
	return code;
}

static int map_group(struct cli *cli)
{
	PHX_AUTO_FREE char *list = NULL;
	if (!cli_arg(cli, 0))
		return cli_fail(CLI_USAGE, "inventory: --groups map needs the name of a group");
	if (asprintf(&list, "@%s", cli_arg(cli, 0)) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	return print_nodes(cli, list);
}

/* Names of groups, a line each, those that hold `node` (NULL: all); what `said` has already is left
 * out. */
static void print_groups(json_t *groups, const char *node, json_t *said)
{
	const char *group;
	json_t *names;
	json_object_foreach(groups, group, names) {
		bool holds = !node;
		for (size_t i = 0; !holds && i < json_array_size(names); i++)
			holds = phx_str_eq(json_string_value(json_array_get(names, i)), node);
		if (!holds || json_object_get(said, group))
			continue;
		puts(group);
		json_object_set_new(said, group, json_true());
	}
}

/* Of one kind, or all whose bare name is a group: states are not, and a pool goes before the role
 * of its name. */
static int list_groups(struct cli *cli, const char *node, const char *kind)
{
	PHX_AUTO_JSON json_t *nodes = NULL, *said = json_object();
	if (kind && !find_kind(kind))
		return cli_fail(
			CLI_USAGE,
			"inventory: '%s' is no kind of group: these are pool, role, label and "
			"state",
			kind);
	int code = cli_nodes_select(cli, NULL, NULL, &nodes);
	if (!code && node && !cli_node_find(nodes, node))
		return cli_fail(CLI_USAGE, "there is no node '%s'", node);
	for (size_t k = 0; !code && k < PHX_ARRAY_SIZE(kinds); k++) {
		PHX_AUTO_JSON json_t *groups = json_object();
		if (kind ? !phx_str_eq(kind, kinds[k].name) : phx_str_eq(kinds[k].name, "state"))
			continue;
		code = read_groups(cli, &kinds[k], nodes, groups);
		print_groups(groups, node, said);
	}
	return code;
}

static int answer_upcall(struct cli *cli, const char *call)
{
	if (phx_str_eq(call, "map"))
		return map_group(cli);
	if (phx_str_eq(call, "all"))
		return print_nodes(cli, "@all");
	if (phx_str_eq(call, "list"))
		return list_groups(cli, NULL, cli_arg(cli, 0));
	if (!cli_arg(cli, 0))
		return cli_fail(CLI_USAGE, "inventory: --groups reverse needs the name of a node");
	return list_groups(cli, cli_arg(cli, 0), cli_arg(cli, 1));
}

int cmd_inventory(struct cli *cli)
{
	const char *host = cli_opt(cli, CLI_OPT_host, NULL),
		   *call = cli_opt(cli, CLI_OPT_groups, NULL);
	bool list = cli_has(cli, CLI_OPT_list);
	if (list + !!host + !!call != 1)
		return cli_fail(CLI_USAGE, "inventory: give one of --list, --host and --groups");
	if (call)
		return answer_upcall(cli, call);
	return host ? print_host(cli, host) : print_list(cli);
}
