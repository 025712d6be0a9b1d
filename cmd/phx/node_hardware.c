/* phx node hardware: the parts of nodes, one a line, as the last system that ran there saw them.
 * Reads only. */
#include <stdlib.h>

#include "base/json.h"
#include "inventory/pci_names.h"
#include "types/pci.h"
#include "phx/cli.h"

static const char fields[] = "name,facts";

/* ---- what devices are called ---- */

/* Where distributions have it. */
static const char *const files[] = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"};

static struct phx_pci_facts device_of(const json_t *j)
{
	return (struct phx_pci_facts){
		.class_code = (uint32_t)phx_json_int(j, "class_code", 0),
		.vendor = (uint32_t)phx_json_int(j, "vendor", 0) & 0xffff,
		.device = (uint32_t)phx_json_int(j, "device", 0) & 0xffff,
	};
}

static bool has(const struct phx_list *names, const struct phx_pci_facts *d)
{
	PHX_LIST_EACH(struct phx_pci_name, n, names)
		if (n->vendor == d->vendor && n->device == d->device)
			return true;
	return false;
}

/* Adds the kinds of devices of the node; there are few kinds, however many nodes. */
static void collect(const json_t *node, struct phx_list *names)
{
	size_t i;
	json_t *j;
	json_array_foreach(cli_member(node, "facts.pci"), i, j) {
		const struct phx_pci_facts d = device_of(j);
		struct phx_pci_name *n = has(names, &d) ? NULL : phx_list_push(names, sizeof(*n));
		if (n)
			*n = (struct phx_pci_name){.vendor = d.vendor, .device = d.device};
	}
}

/* Without the file devices have numbers alone. */
static void read_names(const json_t *nodes, struct phx_list *ret)
{
	size_t i;
	json_t *node;
	const char *path = getenv("PHX_PCI_IDS");
	json_array_foreach((json_t *)nodes, i, node)
		collect(node, ret);
	if (path && phx_pci_names_read(path, ret) < 0)
		fprintf(stderr, "phx: PHX_PCI_IDS: %s cannot be read: devices have no names\n",
			path);
	for (i = 0; !path && i < PHX_ARRAY_SIZE(files); i++)
		if (phx_pci_names_read(files[i], ret) == 0)
			return;
}

/* "Intel Corporation Ethernet Controller E810-C", or "" where not even the vendor is known. */
static json_t *name_of(const struct phx_list *names, const struct phx_pci_facts *d)
{
	const struct phx_pci_name *n = phx_pci_name_of(names, d->vendor, d->device);
	if (!n || !n->vendor_name[0])
		return json_string("");
	return json_sprintf("%s %s", n->vendor_name, n->device_name[0] ? n->device_name : "device");
}

/* ---- rows: {node, kind, where, what, name, driver, serial} ---- */

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

static void add_devices(json_t *rows, const json_t *node, const struct phx_list *names,
			bool no_driver)
{
	size_t i;
	json_t *j;
	json_array_foreach(cli_member(node, "facts.pci"), i, j) {
		char id[16];
		const struct phx_pci_facts d = device_of(j);
		const char *kind = phx_pci_kind(&d);
		if (no_driver && *phx_json_str(j, "driver", ""))
			continue;
		json_t *row = new_row(rows, node, kind ? kind : "PCI");
		put_text(row, "where", j, "address");
		snprintf(id, sizeof(id), "%04x:%04x", d.vendor, d.device);
		json_object_set_new(row, "what", json_string(id));
		json_object_set_new(row, "name", name_of(names, &d));
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

/* Scripts get the numbers, which stay as they are when the file is brought up to date. */
static void put_what(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *what = json_string_value(value), *name = phx_json_str(row, "name", "");
	bool named = *name && !cli_plain();
	if (named)
		cli_put_clean(b, name);
	phx_buf_addf(b, "%s", named ? " (" : "");
	cli_put_clean(b, what ? what : "");
	phx_buf_addf(b, "%s", named ? ")" : "");
}

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
	{.head = "WHAT", .path = "what", .put = put_what},
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
	struct phx_list names = {0};
	size_t i;
	json_t *node;
	read_names(nodes, &names);
	json_array_foreach(nodes, i, node) {
		add_devices(rows, node, &names, no_driver);
		if (!no_driver)
			add_modules(rows, node);
	}
	phx_list_fini(&names);
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "parts", rows);
	return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, whole);
}
