/* phx node: listing and ordering. What happens to nodes is decided by phxd;
 * here the words of the command line become a request. Lists are in
 * node_list.c, showing one node in full is in node_show.c, announcing machines
 * in node_add.c. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "phx/node_add.h"

/* ---- bmc, edit ---- */

int cmd_node_bmc(struct cli *cli)
{
	bool clear = cli_has(cli, CLI_OPT_clear);
	PHX_AUTO_JSON json_t *body = json_pack("{s:{}, s:b}", "bmc", "keep", !clear);
	int code = cli_bmc(cli->args.arg + 1, cli->args.n_args - 1, json_object_get(body, "bmc"));
	if (!code && !clear && !json_object_size(json_object_get(body, "bmc")))
		return cli_fail(CLI_USAGE, "node bmc: give KEY=VALUE, or --clear");
	return code ? code : cli_act(cli, "bmc", cli_arg(cli, 0), body, CLI_SAFE, "set the BMC of");
}

int cmd_node_edit(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = json_object();
	cli_identity(cli, body);
	if (!json_object_size(body))
		return cli_fail(CLI_USAGE, "node edit: give --mac, --serial or --ip");
	return cli_act(cli, "edit", cli_arg(cli, 0), body, CLI_SAFE, "change");
}

/* ---- orders ---- */

/* --setup MODE[:METHOD] as {mode, method}. */
static void set_setup(const struct cli *cli, json_t *body)
{
	const char *text = cli_opt(cli, CLI_OPT_setup, NULL),
		   *colon = text ? strchr(text, ':') : NULL;
	if (!text)
		return;
	json_t *setup = json_object();
	json_object_set_new(setup, "mode",
			    json_stringn(text, colon ? (size_t)(colon - text) : strlen(text)));
	json_object_set_new(setup, "method", json_string(colon ? colon + 1 : "auto"));
	if (cli_has(cli, CLI_OPT_verify))
		json_object_set_new(setup, "verify", json_string(cli_opt(cli, CLI_OPT_verify, "")));
	json_object_set_new(body, "setup", setup);
}

/* Members of an order that are options of the same meaning. */
static json_t *make_body(const struct cli *cli)
{
	static const struct {
		enum cli_option_id id;
		const char *key;
		bool is_switch;
	} members[] = {
		{CLI_OPT_pool, "pool", false},       {CLI_OPT_method, "method", false},
		{CLI_OPT_verify, "verify", false},   {CLI_OPT_reason, "text", false},
		{CLI_OPT_name, "name", false},       {CLI_OPT_encrypt, "encrypt", true},
		{CLI_OPT_pin, "pin", true},          {CLI_OPT_power_cycle, "power_cycle", true},
		{CLI_OPT_rolling, "rolling", false}, {CLI_OPT_when_idle, "when_idle", true},
	};
	json_t *body = json_object();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(members); i++) {
		if (!cli_has(cli, members[i].id))
			continue;
		json_object_set_new(body, members[i].key,
				    members[i].is_switch
					    ? json_true()
					    : json_string(cli_opt(cli, members[i].id, "")));
	}
	uint64_t seconds = 0;
	if (cli_has(cli, CLI_OPT_grace) &&
	    phx_duration_parse(cli_opt(cli, CLI_OPT_grace, ""), &seconds) == 0)
		json_object_set_new(body, "grace_s", json_integer((json_int_t)seconds));
	set_setup(cli, body);
	return body;
}

static int act(struct cli *cli, const char *action, enum cli_danger danger, const char *verb)
{
	PHX_AUTO_JSON json_t *body = make_body(cli);
	return cli_act(cli, action, cli_arg(cli, 0), body, danger, verb);
}

static int assign(struct cli *cli)
{
	const char *role = cli_arg(cli, 1);
	int code = cli_known(cli, "role", "/v1/roles", "roles", role);
	if (code)
		return code;
	PHX_AUTO_JSON json_t *body = make_body(cli);
	PHX_AUTO_FREE char *verb = NULL;
	json_object_set_new(body, "role", json_string(role));
	if (asprintf(&verb, "assign %s", role) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	return cli_act(cli, "assign", cli_arg(cli, 0), body, CLI_BY_PLAN, verb);
}

int cmd_node_assign(struct cli *cli)
{
	return assign(cli);
}

/* Orders that name nodes and nothing else: NAME, when it is asked for consent. */
#define ORDER(name, danger) \
	int cmd_node_##name(struct cli *cli) \
	{ \
		return act(cli, #name, danger, #name); \
	}
ORDER(accept, CLI_SAFE)
ORDER(release, CLI_BY_PLAN)
ORDER(rebuild, CLI_ALWAYS)
ORDER(wipe, CLI_ALWAYS)
/* in turn, and without an end of jobs, others go on serving */
ORDER(reboot, cli_has(cli, CLI_OPT_rolling) ? CLI_BY_PLAN : CLI_ALWAYS)
ORDER(cancel, CLI_SAFE)
ORDER(resume, CLI_BY_PLAN)
ORDER(quarantine, CLI_BY_PLAN)
ORDER(inspect, CLI_SAFE)

/* --until as a point in time: "4h" from now, or local time. 0: none. */
static int read_until(const struct cli *cli, int64_t *ret_ms)
{
	const char *text = cli_opt(cli, CLI_OPT_until, NULL);
	uint64_t seconds = 0;
	struct tm tm = {.tm_isdst = -1};
	*ret_ms = 0;
	if (!text)
		return CLI_OK;
	const char *end = strptime(text, "%Y-%m-%dT%H:%M", &tm);
	if (end && !*end)
		*ret_ms = (int64_t)mktime(&tm) * 1000;
	else if (phx_duration_parse(text, &seconds) == 0)
		*ret_ms = phx_wall_ms() + (int64_t)seconds * 1000;
	if (*ret_ms <= phx_wall_ms())
		return cli_fail(CLI_USAGE,
				"--until: '%s' is no time to come, such as 4h or 2026-12-01T08:00",
				text);
	return CLI_OK;
}

int cmd_node_drain(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = make_body(cli);
	int64_t until_ms;
	int code = read_until(cli, &until_ms);
	if (until_ms)
		json_object_set_new(body, "until_ms", json_integer(until_ms));
	/* without a time for them it ends no jobs */
	return code ? code
		    : cli_act(cli, "drain", cli_arg(cli, 0), body,
			      cli_has(cli, CLI_OPT_grace) ? CLI_BY_PLAN : CLI_SAFE, "drain");
}

int cmd_node_forget_disk(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = json_pack("{s:s}", "text", cli_arg(cli, 1));
	return cli_act(cli, "forget-disk", cli_arg(cli, 0), body, CLI_ALWAYS, "forget the disk of");
}

int cmd_node_forget_tpm(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = json_object();
	return cli_act(cli, "forget-tpm", cli_arg(cli, 0), body, CLI_ALWAYS, "forget the TPM of");
}

int cmd_node_rm(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = json_object();
	if (cli_has(cli, CLI_OPT_force))
		json_object_set_new(body, "force", json_true());
	return cli_act(cli, "rm", cli_arg(cli, 0), body, CLI_ALWAYS, "forget");
}

static const struct cli_column power_columns[] = {
	{.head = "NODE", .path = "name"},
	{.head = "POWER", .path = "power"},
};

int cmd_node_power(struct cli *cli)
{
	const char *op = cli_arg(cli, 1);
	bool query = phx_str_eq(op, "status"), on = phx_str_eq(op, "on"),
	     off = phx_str_eq(op, "off"), hard = cli_has(cli, CLI_OPT_hard);
	if (hard && !off)
		return cli_fail(CLI_USAGE,
				"node power: --hard goes with off: %s never waits for "
				"an operating system",
				op);
	PHX_AUTO_JSON json_t *body = json_pack("{s:s}", "op", off && !hard ? "soft" : op),
			     *nodes = NULL;
	PHX_AUTO_FREE char *verb = phx_path("switch %s%s", op, hard ? " hard" : "");
	if (!query && !on) /* a hand-over under way is shown, and asked about */
		json_object_set_new(body, "force", json_true());
	enum cli_format format = cli->format;
	if (query) /* what is printed is the state, not the order */
		cli->format = CLI_TABLE;
	int code = cli_act(cli, "power", cli_arg(cli, 0), body,
			   query || on ? CLI_SAFE : CLI_BY_PLAN, verb ? verb : "switch");
	cli->format = format;
	if (!query || (code && code != CLI_PARTIAL) ||
	    cli_nodes_select(cli, cli_arg(cli, 0), NULL, &nodes) != CLI_OK)
		return code;
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "nodes", nodes);
	cli_print_rows(cli, power_columns, PHX_ARRAY_SIZE(power_columns), nodes, whole);
	return code;
}

/* Plans being followed: the nodes' own. */
static int show_plans(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL, *results = json_array();
	int code = cli_nodes_select(cli, cli_arg(cli, 0), "name,plan", &nodes);
	size_t i;
	json_t *node;
	json_array_foreach(nodes, i, node) {
		json_t *plan = json_object_get(node, "plan");
		json_array_append_new(results,
				      json_pack("{s:O, s:O?}", "node",
						json_object_get(node, "name"), "plan",
						cli_plan_active(plan) ? plan : NULL));
	}
	if (code)
		return code;
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "results", results);
	return cli_structured(cli) ? cli_print_value(cli, whole) : cli_plan_print(cli, results);
}

int cmd_node_plan(struct cli *cli)
{
	if (!cli_arg(cli, 1))
		return show_plans(cli);
	cli->args.opt[CLI_OPT_dry_run].n = 1;
	return assign(cli);
}
