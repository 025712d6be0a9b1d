/* Labels on the command line: putting them on nodes and printing them; choosing nodes by them is
 * in cli/words.c. They decide nothing at phxd. Called by the commands of nodes. */
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

/* ---- printing ---- */

void cli_put_labels(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	size_t i;
	json_t *label;
	json_array_foreach((json_t *)value, i, label) {
		phx_buf_addf(b, "%s%s=%s", i ? "," : "", phx_json_str(label, "key", ""),
			     phx_json_str(label, "value", ""));
	}
}

static const struct cli_column label_columns[] = {
	{.head = "NODE", .path = "name"},
	{.head = "LABELS", .path = "labels", .put = cli_put_labels},
};

static int show_labels(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL, *rows = json_array();
	int code = cli_nodes_select(cli, cli_arg(cli, 0), "name,labels", &nodes);
	size_t i;
	json_t *node;
	json_array_foreach(nodes, i, node) {
		json_array_append_new(rows,
				      json_pack("{s:O?, s:O?}", "name",
						json_object_get(node, "name"), "labels",
						json_object_get(node, "labels")));
	}
	if (code)
		return code;
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "nodes", rows);
	return cli_print_rows(cli, label_columns, PHX_ARRAY_SIZE(label_columns), rows, whole);
}

/* ---- phx node label ---- */

int cmd_node_label(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = json_pack("{s:{}}", "labels");
	json_t *labels = json_object_get(body, "labels");
	if (cli->args.n_args == 1)
		return show_labels(cli);
	for (unsigned i = 1; i < cli->args.n_args; i++) {
		const char *word = cli_arg(cli, i), *eq = strchr(word, '=');
		PHX_AUTO_FREE char *key =
			strndup(word, eq ? (size_t)(eq - word) : strlen(word) - 1);
		if (!key)
			return cli_fail(CLI_PARTIAL, "out of memory");
		if (json_object_get(labels, key))
			return cli_fail(CLI_USAGE, "node label: '%s' is there twice", key);
		json_object_set_new(labels, key, eq ? json_string(eq + 1) : json_null());
	}
	return cli_act(cli, "label", cli_arg(cli, 0), body, CLI_SAFE, "label");
}
