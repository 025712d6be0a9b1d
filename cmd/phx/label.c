/* Labels on the command line: putting them on nodes, printing them, and
 * choosing nodes by them. They decide nothing at phxd. */
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

/* ---- --selector ---- */

/* One "KEY=VALUE" or "KEY!=VALUE" as an operand of a node list; the first of a list stands for itself. */
static int add_term(char *list, size_t size, const char *term, size_t n, bool negative)
{
	const char *bang = memchr(term, '!', n);
	size_t at = strlen(list), n_key = bang ? (size_t)(bang - term) : n;
	if ((bang != NULL) != negative)
		return 0;
	const char *joint = negative ? "!" : at ? "&" : "";
	const char *value = bang ? bang + 1 : term + n;
	int w = snprintf(list + at, size - at, "%s@%.*s%.*s", at || !negative ? joint : "@all!", (int)n_key, term,
			 (int)(term + n - value), value);
	return (size_t)w < size - at ? 0 : -1;
}

int cli_selector_list(const struct cli_values *values, char *ret, size_t ret_size)
{
	ret[0] = '\0';
	for (int negative = 0; negative < 2; negative++)
		for (unsigned i = 0; i < values->n; i++)
			for (const char *p = values->v[i]; *p;) {
				size_t n = strcspn(p, ",");
				if (add_term(ret, ret_size, p, n, negative) < 0)
					return -1;
				p += n + (p[n] == ',');
			}
	return 0;
}

/* ---- printing ---- */

void cli_put_labels(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	size_t i;
	json_t *label;
	json_array_foreach((json_t *)value, i, label)
	{
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
	int code = cli_nodes_select(cli, cli_arg(cli, 0), &nodes);
	size_t i;
	json_t *node;
	json_array_foreach(nodes, i, node)
	{
		json_array_append_new(rows, json_pack("{s:O?, s:O?}", "name", json_object_get(node, "name"), "labels",
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
		PHX_AUTO_FREE char *key = strndup(word, eq ? (size_t)(eq - word) : strlen(word) - 1);
		if (!key)
			return cli_fail(CLI_PARTIAL, "out of memory");
		if (json_object_get(labels, key))
			return cli_fail(CLI_USAGE, "node label: '%s' is there twice", key);
		json_object_set_new(labels, key, eq ? json_string(eq + 1) : json_null());
	}
	return cli_act(cli, "label", cli_arg(cli, 0), body, CLI_SAFE, "label");
}
