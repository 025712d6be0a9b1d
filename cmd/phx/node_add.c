/* phx node add: machines are announced before they boot. One, by options; several, by a list of
 * names and options that count up; or those of a file (node_csv.c). Whatever is wrong with one of
 * several is told before the first is announced. */
#include <errno.h>
#include <string.h>

#include "base/ip.h"
#include "base/json.h"
#include "phx/node_add.h"

enum { ADD_TIMEOUT_MS = 30000, AT_ONCE = 500 };

/* ---- several ---- */

/* The address `place` places behind the one that "ADDRESS+" begins with; false: it is not so
 * written, or there is none. */
static bool count_up(const char *text, uint32_t place, char ret[PHX_IPV4_MAX])
{
	size_t n = strlen(text);
	char first[PHX_IPV4_MAX];
	uint32_t address;
	if (n < 2 || n > sizeof(first) || text[n - 1] != '+')
		return false;
	memcpy(first, text, n - 1);
	first[n - 1] = '\0';
	if (!phx_ipv4_parse(first, &address) || address > UINT32_MAX - place)
		return false;
	phx_ipv4_format(address + place, ret);
	return true;
}

/* An address of the node at `place` of the list. */
static int set_address(json_t *j, const char *key, const char *option, uint32_t place)
{
	char address[PHX_IPV4_MAX];
	const char *text = phx_json_str(j, key, "");
	if (!*text)
		return CLI_OK;
	if (!count_up(text, place, address))
		return cli_fail(CLI_USAGE,
				"node add: %s is one address for several nodes: end the first one "
				"with a +, as 10.1.0.11+, and those behind it are counted up",
				option);
	json_object_set_new(j, key, json_string(address));
	return CLI_OK;
}

/* Of the options those that one machine alone can have are refused. */
static int check_several(const struct cli *cli, const struct phx_nodeset *names)
{
	static const enum cli_option_id alone[] = {CLI_OPT_serial, CLI_OPT_uuid,
						   CLI_OPT_token_file};
	unsigned n_macs = cli->args.opt[CLI_OPT_mac].n;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(alone); i++)
		if (cli_has(cli, alone[i]))
			return cli_fail(CLI_USAGE,
					"node add: --%s is that of one machine: give several by a "
					"file (--from)",
					cli_option_info(alone[i])->name);
	if (n_macs != names->n)
		return cli_fail(CLI_USAGE,
				"node add: %zu nodes and %u times --mac: each needs one, in the "
				"order of the list, or give them by a file (--from)",
				(size_t)names->n, n_macs);
	return CLI_OK;
}

static int add_named(const struct cli *cli, const struct phx_nodeset *names, json_t *nodes)
{
	const struct cli_values *bmc = &cli->args.opt[CLI_OPT_bmc];
	int code = check_several(cli, names);
	for (uint32_t i = 0; !code && i < names->n; i++) {
		json_t *j = json_pack("{s:s,s:s,s:{}}", "name", names->names[i], "ip",
				      cli_opt(cli, CLI_OPT_ip, ""), "bmc");
		json_array_append_new(nodes, j);
		cli_mac_add(j, cli->args.opt[CLI_OPT_mac].v[i]);
		code = set_address(j, "ip", "--ip", i);
		code = code ? code : cli_bmc(bmc->v, bmc->n, json_object_get(j, "bmc"));
		code = code
			? code
			: set_address(json_object_get(j, "bmc"), "address", "address of --bmc", i);
	}
	return code;
}

/* What the options say of all nodes of the file, where it says nothing of its own. */
static int add_common(const struct cli *cli, json_t *nodes)
{
	static const enum cli_option_id own[] = {CLI_OPT_mac, CLI_OPT_serial, CLI_OPT_uuid,
						 CLI_OPT_ip, CLI_OPT_token_file};
	const struct cli_values *words = &cli->args.opt[CLI_OPT_bmc];
	PHX_AUTO_JSON json_t *bmc = json_object();
	size_t i;
	json_t *node;
	for (i = 0; i < PHX_ARRAY_SIZE(own); i++)
		if (cli_has(cli, own[i]))
			return cli_fail(CLI_USAGE, "node add: with --from the file says --%s",
					cli_option_info(own[i])->name);
	int code = cli_bmc(words->v, words->n, bmc);
	json_array_foreach(nodes, i, node) {
		if (json_object_get(node, "bmc"))
			json_object_update_missing(json_object_get(node, "bmc"), bmc);
		else if (json_object_size(bmc))
			json_object_set_new(node, "bmc", json_copy(bmc));
	}
	return code;
}

/* ---- sending ---- */

static bool by_mac_alone(const json_t *node)
{
	return !*phx_json_str(node, "serial", "") && !json_object_get(node, "token") &&
		!*phx_json_str(node, "ip", "");
}

static void warn_of(const json_t *nodes)
{
	PHX_AUTO_JSON json_t *alone = json_array();
	size_t i;
	json_t *node;
	json_array_foreach((json_t *)nodes, i, node) {
		if (by_mac_alone(node))
			json_array_append(alone, json_object_get(node, "name"));
	}
	PHX_AUTO_FREE char *folded = cli_nodes_fold(alone);
	if (json_array_size(alone))
		cli_warn_by_mac(folded ? folded : "?");
}

/* Adds the results of a portion to those of all. */
static int post_portion(struct cli *cli, const json_t *nodes, size_t at, json_t *results)
{
	PHX_AUTO_JSON json_t *portion = json_array(), *answer = NULL;
	struct phx_err err = {0};
	for (size_t i = at; i < at + AT_ONCE && i < json_array_size(nodes); i++)
		json_array_append(portion, json_array_get(nodes, i));
	PHX_AUTO_JSON json_t *body = json_pack("{s:O}", "nodes", portion);
	int code = cli_call_quiet(cli, "POST", "/v1/nodes", body, ADD_TIMEOUT_MS, &answer, &err);
	if (code)
		return cli_fail(code, "%s: %s",
				json_array_size(nodes) == 1
					? phx_json_str(json_array_get(nodes, 0), "name", "?")
					: "node add",
				err.text);
	json_array_extend(results, json_object_get(answer, "results"));
	return CLI_OK;
}

static int send_all(struct cli *cli, const json_t *nodes)
{
	PHX_AUTO_JSON json_t *results = json_array();
	int code = CLI_OK;
	for (size_t at = 0; !code && at < json_array_size(nodes); at += AT_ONCE)
		code = post_portion(cli, nodes, at, results);
	if (cli_structured(cli) && json_array_size(results)) {
		PHX_AUTO_JSON json_t *all = json_pack("{s:O}", "results", results);
		cli_print_value(cli, all);
	}
	int told = cli_results(results);
	warn_of(nodes);
	return code ? code : told;
}

/* ---- the command ---- */

static void say_node(void *nodes, size_t i, const char *text)
{
	fprintf(stderr, "phx: node add: %s: %s\n",
		phx_json_str(json_array_get(nodes, i), "name", "?"), text);
}

static int add_one(const struct cli *cli, json_t *nodes)
{
	const struct cli_values *bmc = &cli->args.opt[CLI_OPT_bmc];
	const char *token = cli_opt(cli, CLI_OPT_token_file, NULL);
	struct phx_err err = {0};
	json_t *j = json_pack("{s:s, s:{}}", "name", cli_arg(cli, 0), "bmc");
	json_array_append_new(nodes, j);
	cli_identity(cli, j);
	if (token && cli_token(token, j, &err) < 0)
		return cli_fail(CLI_USAGE, "--token-file: %s", err.text);
	int code = cli_bmc(bmc->v, bmc->n, json_object_get(j, "bmc"));
	if (!bmc->n)
		json_object_del(j, "bmc");
	return code;
}

/* The bodies of what is to be announced. */
static int gather(struct cli *cli, json_t *nodes)
{
	PHX_AUTO(phx_nodeset_fini) struct phx_nodeset names = {0};
	const char *from = cli_opt(cli, CLI_OPT_from, NULL);
	struct phx_err err = {0};
	if (!from == !cli->args.n_args)
		return cli_fail(CLI_USAGE, "node add: give the names of nodes, or --from FILE");
	if (from) {
		int code = cli_nodes_csv(from, nodes);
		return code ? code : add_common(cli, nodes);
	}
	if (phx_nodeset_parse(cli_arg(cli, 0), NULL, NULL, &names, &err) < 0)
		return cli_fail(CLI_USAGE, "node add: %s", err.text);
	int code = names.n > 1 ? add_named(cli, &names, nodes) : add_one(cli, nodes);
	if (!code && cli_nodes_check(nodes, say_node, nodes))
		return CLI_USAGE;
	return code;
}

int cmd_node_add(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = json_array();
	size_t i;
	json_t *node;
	int code = gather(cli, nodes);
	json_array_foreach(nodes, i, node) {
		if (cli_has(cli, CLI_OPT_hold))
			json_object_set_new(node, "hold", json_true());
	}
	return code ? code : send_all(cli, nodes);
}
