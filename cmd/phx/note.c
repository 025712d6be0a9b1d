/* Notes of nodes on the command line: leaving them and printing them. Called by the commands of
 * nodes. */
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

/* ---- printing ---- */

static const struct cli_column columns[] = {
	{.head = "NODE", .path = "node"},
	{.head = "NOTED", .path = "at_ms", .put = cli_put_when},
	{.head = "BY", .path = "by"},
	{.head = "NOTE", .path = "text"},
};

int cli_print_notes(struct cli *cli, const json_t *notes)
{
	if (!json_array_size(notes))
		return CLI_OK;
	putchar('\n');
	return cli_print_table(cli, columns + 1, PHX_ARRAY_SIZE(columns) - 1, notes, 2);
}

static void add_notes(json_t *rows, const json_t *node)
{
	size_t i;
	json_t *note;
	json_array_foreach(json_object_get(node, "notes"), i, note) {
		json_t *row = json_copy(note);
		json_object_set(row, "node", json_object_get(node, "name"));
		json_array_append_new(rows, row);
	}
}

static int show_notes(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL, *rows = json_array();
	int code = cli_nodes_select(cli, cli_arg(cli, 0), "name,notes", &nodes);
	size_t i;
	json_t *node;
	if (code)
		return code;
	json_array_foreach(nodes, i, node)
		add_notes(rows, node);
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "notes", rows);
	return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, whole);
}

/* ---- phx node note ---- */

/* Words of the command line are one text: quotes may be left out. */
static char *text_of(const struct cli *cli)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (unsigned i = 1; i < cli->args.n_args; i++)
		phx_buf_addf(&b, "%s%s", i > 1 ? " " : "", cli_arg(cli, i));
	phx_buf_addf(&b, "%s", "");
	return phx_buf_take(&b);
}

int cmd_node_note(struct cli *cli)
{
	bool clear = cli_has(cli, CLI_OPT_clear);
	PHX_AUTO_FREE char *text = text_of(cli);
	if (!text)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (clear && text[0])
		return cli_fail(CLI_USAGE, "node note: --clear, or a text");
	if (!clear && cli->args.n_args == 1)
		return show_notes(cli);
	if (!clear && !text[strspn(text, " ")])
		return cli_fail(CLI_USAGE, "node note: the text is empty; --clear takes notes off");
	PHX_AUTO_JSON json_t *body = json_pack("{s:s}", "text", text);
	if (!body)
		return cli_fail(CLI_USAGE, "node note: the text is not UTF-8");
	return cli_act(cli, "note", cli_arg(cli, 0), body, CLI_SAFE, "note");
}
