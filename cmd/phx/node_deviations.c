/* phx node deviations: what a machine has otherwise than most machines of its vendor and product.
 * Each fact of a node is one text; of all that are alike the text of more than half is what they
 * should have. Reads only. */
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

static const char fields[] = "name,facts,checks";

/* ---- a fact as a text ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "2 x THIS, 1 x THAT", sorted: where a part sits does not count. */
static void put_counted(struct phx_buf *b, char **texts, size_t n)
{
	qsort(texts, n, sizeof(*texts), by_text);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && !strcmp(texts[k], texts[i]);)
			k++;
		phx_buf_addf(b, "%s%zu x %s", i ? ", " : "", k - i, texts[i]);
	}
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
	free(texts);
	if (!n)
		phx_buf_addf(b, "none");
}

/* Each item of the list as `put` writes it, those left out of which it writes nothing. */
static void put_each(struct phx_buf *b, const json_t *list,
		     void (*put)(struct phx_buf *b, const json_t *item))
{
	char **texts = calloc(json_array_size(list) + 1, sizeof(*texts));
	size_t i, n = 0;
	json_t *item;
	json_array_foreach((json_t *)list, i, item) {
		struct phx_buf one = {0};
		put(&one, item);
		if (texts && one.n && one.data)
			texts[n++] = one.data;
		else
			phx_buf_fini(&one);
	}
	put_counted(b, texts, n);
}

static void put_disk(struct phx_buf *b, const json_t *disk)
{
	const char *model = phx_json_str(disk, "model", "");
	if (phx_json_bool(disk, "removable", false))
		return;
	cli_put_size(b, json_object_get(disk, "size_bytes"), disk);
	phx_buf_addf(b, "%s%s", *model ? " " : "", model);
}

static void put_link(struct phx_buf *b, const json_t *nic)
{
	long long speed = (long long)phx_json_int(nic, "speed_mbps", 0);
	const char *driver = phx_json_str(nic, "driver", "");
	phx_buf_addf(b, "%s%s", driver, *driver ? " " : "");
	if (!phx_json_bool(nic, "link", false))
		phx_buf_addf(b, "without link");
	else if (speed)
		phx_buf_addf(b, "at %lld Mbit/s", speed);
	else
		phx_buf_addf(b, "with link");
}

static void put_device(struct phx_buf *b, const json_t *device)
{
	const char *driver = phx_json_str(device, "driver", "");
	phx_buf_addf(b, "%04llx:%04llx %s%s", (unsigned long long)phx_json_int(device, "vendor", 0),
		     (unsigned long long)phx_json_int(device, "device", 0),
		     *driver ? "with " : "without driver", driver);
}

static void put_module(struct phx_buf *b, const json_t *module)
{
	const char *part = phx_json_str(module, "part", "");
	cli_put_size(b, json_object_get(module, "size_bytes"), module);
	phx_buf_addf(b, "%s%s", *part ? " " : "", part);
}

static void put_memory(struct phx_buf *b, const json_t *facts)
{
	cli_put_size(b, json_object_get(facts, "memory_bytes"), facts);
}

static void put_cpus(struct phx_buf *b, const json_t *facts)
{
	phx_buf_addf(b, "%lld x %s", (long long)phx_json_int(facts, "cpus", 0),
		     phx_json_str(facts, "cpu_model", ""));
}

static void put_firmware(struct phx_buf *b, const json_t *facts)
{
	phx_buf_addf(b, "%s", phx_json_str(facts, "firmware", ""));
}

static void put_boot_mode(struct phx_buf *b, const json_t *facts)
{
	phx_buf_addf(b, "%s", phx_json_str(facts, "boot_mode", ""));
}

static const struct compared {
	const char *name;
	const char *list; /* whose items are written and counted; NULL: the facts are written */
	void (*put)(struct phx_buf *b, const json_t *item);
} compared[] = {
	{"CPUs", NULL, put_cpus},
	{"memory", NULL, put_memory},
	{"memory modules", "modules", put_module},
	{"disks", "disks", put_disk},
	{"links", "nics", put_link},
	{"PCI devices", "pci", put_device},
	{"firmware", NULL, put_firmware},
	{"boot mode", NULL, put_boot_mode},
};

/* ---- nodes that are alike ---- */

/* One fact of one node. */
struct entry {
	const json_t *node;
	char *text; /* owned */
};

static int by_entry(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->text, ((const struct entry *)b)->text);
}

/* The text of more than half of them, which are sorted; NULL: there is none. */
static const char *usual(const struct entry *e, size_t n, size_t *ret_count)
{
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && !strcmp(e[k].text, e[i].text);)
			k++;
		*ret_count = k - i;
		if (2 * (k - i) > n)
			return e[i].text;
	}
	return NULL;
}

static void add_row(json_t *rows, const struct entry *e, const char *fact, const char *others,
		    size_t agree, size_t n)
{
	json_array_append_new(rows,
			      json_pack("{s:s,s:s,s:s,s:s,s:I,s:I}", "node",
					phx_json_str(e->node, "name", ""), "fact", fact, "has",
					e->text, "others_have", others, "agree", (json_int_t)agree,
					"of", (json_int_t)n));
}

/* 0, or -1: out of memory. */
static int compare(const json_t *alike, const struct compared *c, json_t *rows)
{
	size_t n = json_array_size(alike), agree = 0;
	struct entry *e = calloc(n, sizeof(*e));
	int r = e ? 0 : -1;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct phx_buf b = {0};
		e[i].node = json_array_get(alike, i);
		const json_t *facts = json_object_get(e[i].node, "facts");
		if (c->list)
			put_each(&b, json_object_get(facts, c->list), c->put);
		else
			c->put(&b, facts);
		e[i].text = b.data ? b.data : strdup("");
		r = e[i].text ? 0 : -1;
	}
	if (r == 0)
		qsort(e, n, sizeof(*e), by_entry);
	const char *text = r == 0 ? usual(e, n, &agree) : NULL;
	for (size_t i = 0; text && i < n; i++)
		if (strcmp(e[i].text, text))
			add_row(rows, &e[i], c->name, text, agree, n);
	for (size_t i = 0; e && i < n; i++)
		free(e[i].text);
	free(e);
	return r;
}

/* {"VENDOR\nPRODUCT": [node, ...]} */
static json_t *group(const json_t *nodes)
{
	json_t *groups = json_object();
	size_t i;
	json_t *node;
	json_array_foreach((json_t *)nodes, i, node) {
		const json_t *facts = json_object_get(node, "facts");
		const char *product = phx_json_str(facts, "product", "");
		PHX_AUTO(phx_buf_fini) struct phx_buf key = {0};
		phx_buf_addf(&key, "%s\n%s", phx_json_str(facts, "vendor", ""), product);
		if (!*product || !key.data)
			continue;
		if (!json_object_get(groups, key.data))
			json_object_set_new(groups, key.data, json_array());
		json_array_append(json_object_get(groups, key.data), node);
	}
	return groups;
}

static int compare_all(const json_t *nodes, json_t *rows)
{
	PHX_AUTO_JSON json_t *groups = group(nodes);
	const char *key;
	json_t *alike;
	int r = 0;
	json_object_foreach(groups, key, alike) {
		if (json_array_size(alike) < CLI_ALIKE_MIN)
			continue;
		for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(compared); i++)
			r = compare(alike, &compared[i], rows);
		r = r ? r : cli_checks_compare(alike, rows);
	}
	return r;
}

/* ---- the command ---- */

static void put_others(struct phx_buf *b, const json_t *value, const json_t *row)
{
	cli_put_clean(b, json_string_value(value) ? json_string_value(value) : "");
	if (!cli_plain())
		phx_buf_addf(b, " (%lld of %lld)", (long long)phx_json_int(row, "agree", 0),
			     (long long)phx_json_int(row, "of", 0));
}

static const struct cli_column columns[] = {
	{.head = "NODE", .path = "node"},
	{.head = "FACT", .path = "fact"},
	{.head = "HAS", .path = "has"},
	{.head = "OTHERS HAVE", .path = "others_have", .put = put_others},
};

/* The rows of the nodes that `names` has (NULL: all), in the order of `nodes`. */
static json_t *pick(const json_t *nodes, const json_t *rows, const json_t *names)
{
	PHX_AUTO_JSON json_t *of_node = json_object();
	json_t *ret = json_array(), *item;
	size_t i;
	json_array_foreach((json_t *)rows, i, item) {
		const char *name = phx_json_str(item, "node", "");
		if (!json_object_get(of_node, name))
			json_object_set_new(of_node, name, json_array());
		json_array_append(json_object_get(of_node, name), item);
	}
	json_array_foreach((json_t *)nodes, i, item) {
		const char *name = phx_json_str(item, "name", "");
		if (!names || json_object_get(names, name))
			json_array_extend(ret, json_object_get(of_node, name));
	}
	return ret;
}

/* {NAME: true} of the nodes that the command line names; NULL: it names none. */
static int read_names(struct cli *cli, json_t **ret)
{
	PHX_AUTO_JSON json_t *nodes = NULL;
	const char *list = cli_arg(cli, 0);
	int code = list ? cli_nodes_select(cli, list, "name", &nodes) : CLI_OK;
	size_t i;
	json_t *node;
	*ret = nodes ? json_object() : NULL;
	json_array_foreach(nodes, i, node)
		json_object_set_new(*ret, phx_json_str(node, "name", ""), json_true());
	return code;
}

int cmd_node_deviations(struct cli *cli)
{
	PHX_AUTO_JSON json_t *names = NULL;
	PHX_AUTO_JSON json_t *nodes = NULL;
	PHX_AUTO_JSON json_t *rows = json_array();
	int code = read_names(cli, &names);
	if (!code)
		code = cli_nodes_select(cli, NULL, fields, &nodes);
	if (code)
		return code;
	if (compare_all(nodes, rows) < 0)
		return cli_fail(CLI_PARTIAL, "out of memory");
	PHX_AUTO_JSON json_t *shown = pick(nodes, rows, names);
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "deviations", shown);
	return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), shown, whole);
}
