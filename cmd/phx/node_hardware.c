/* phx node hardware: the parts of nodes, one a line, as the last system that ran there saw them.
 * Reads only. */
#include "base/json.h"
#include "types/pci.h"
#include "phx/cli.h"

static const char fields[] = "name,facts";

/* ---- rows: {node, kind, where, what, driver, serial} ---- */

static void put_text(json_t *row, const char *key, const json_t *from, const char *member)
{
	json_object_set_new(row, key, json_string(phx_json_str(from, member, "")));
}

static json_t *new_row(json_t *rows, const json_t *node, const char *kind)
{
	json_t *row = json_object();
	put_text(row, "node", node, "name");
	json_object_set_new(row, "kind", json_string(kind));
	json_array_append_new(rows, row);
	return row;
}

static void add_devices(json_t *rows, const json_t *node, bool no_driver)
{
	size_t i;
	json_t *j;
	json_array_foreach(cli_member(node, "facts.pci"), i, j) {
		char id[16];
		struct phx_pci_facts d = {
			.class_code = (uint32_t)phx_json_int(j, "class_code", 0),
			.vendor = (uint32_t)phx_json_int(j, "vendor", 0),
			.device = (uint32_t)phx_json_int(j, "device", 0),
		};
		const char *kind = phx_pci_kind(&d);
		if (no_driver && *phx_json_str(j, "driver", ""))
			continue;
		json_t *row = new_row(rows, node, kind ? kind : "PCI");
		put_text(row, "where", j, "address");
		snprintf(id, sizeof(id), "%04x:%04x", d.vendor & 0xffff, d.device & 0xffff);
		json_object_set_new(row, "what", json_string(id));
		put_text(row, "driver", j, "driver");
	}
}

static void add_modules(json_t *rows, const json_t *node)
{
	size_t i;
	json_t *j;
	json_array_foreach(cli_member(node, "facts.modules"), i, j) {
		json_t *row = new_row(rows, node, "memory");
		put_text(row, "where", j, "slot");
		put_text(row, "what", j, "part");
		put_text(row, "serial", j, "serial");
		json_object_set(row, "size_bytes", json_object_get(j, "size_bytes"));
		json_object_set(row, "speed_mts", json_object_get(j, "speed_mts"));
	}
}

/* ---- columns ---- */

static void put_size(struct phx_buf *b, const json_t *value, const json_t *row)
{
	if (value)
		cli_put_size(b, value, row);
}

static void put_driver(struct phx_buf *b, const json_t *value, const json_t *row)
{
	bool is_device = !json_object_get(row, "size_bytes");
	const char *driver = json_string_value(value);
	cli_put_clean(b, driver && *driver ? driver : is_device && !cli_plain() ? "none" : "");
}

static void put_speed(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_integer_value(value) > 0)
		phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
}

static const struct cli_column columns[] = {
	{.head = "NODE", .path = "node"},
	{.head = "KIND", .path = "kind"},
	{.head = "WHERE", .path = "where"},
	{.head = "WHAT", .path = "what"},
	{.head = "DRIVER", .path = "driver", .put = put_driver},
	{.head = "SIZE", .path = "size_bytes", .put = put_size, .right = true},
	{.head = "MT/S", .path = "speed_mts", .put = put_speed, .right = true},
	{.head = "SERIAL", .path = "serial"},
};

int cmd_node_hardware(struct cli *cli)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO_JSON json_t *rows = json_array();
	bool no_driver = cli_has(cli, CLI_OPT_no_driver);
	int code = cli_nodes_select(cli, cli_arg(cli, 0), fields, &nodes);
	if (code)
		return code;
	size_t i;
	json_t *node;
	json_array_foreach(nodes, i, node) {
		add_devices(rows, node, no_driver);
		if (!no_driver)
			add_modules(rows, node);
	}
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "parts", rows);
	return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, whole);
}
