/* Machines to announce, from a CSV file: its first line names the columns, each other line is a
 * node. Or from JSON, as POST /v1/nodes takes them. Called by node_add.c; the table of columns is
 * that of node_export.c, too. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/json.h"
#include "phx/node_add.h"

enum { FILE_BYTES_MAX = 16 << 20, COLUMNS_MAX = 32 };

struct csv {
	const char *path;
	unsigned line; /* of what is read */
	unsigned n_wrong;
	char columns[COLUMNS_MAX][32];
	size_t n_columns;
	json_t *nodes;
	json_t *lines; /* of each node */
};

static void wrong(struct csv *c, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void wrong(struct csv *c, unsigned line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "phx: %s:%u: ", c->path, line);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	c->n_wrong++;
}

/* ---- values of a line ---- */

static void set_text(struct csv *c, json_t *node, const char *column, char *value)
{
	(void)c;
	json_object_set_new(node, column, json_string(value));
}

static void set_macs(struct csv *c, json_t *node, const char *column, char *value)
{
	char *save = NULL;
	(void)column;
	for (char *w = strtok_r(value, " ", &save); w; w = strtok_r(NULL, " ", &save))
		if (cli_mac_add(node, w) < 0)
			wrong(c, c->line, "mac: '%s' is no MAC address, such as 52:54:00:12:34:56",
			      w);
}

static void set_hold(struct csv *c, json_t *node, const char *column, char *value)
{
	(void)column;
	if (phx_str_eq(value, "true"))
		json_object_set_new(node, "hold", json_true());
	else if (!phx_str_eq(value, "false"))
		wrong(c, c->line, "hold: must be true or false, not '%s'", value);
}

static void set_bmc(struct csv *c, json_t *node, const char *key, const char *value)
{
	json_t *bmc = json_object_get(node, "bmc");
	if (!bmc)
		json_object_set_new(node, "bmc", bmc = json_object());
	if (cli_bmc_key(bmc, key, strlen(key), value) < 0)
		wrong(c, c->line, "bmc_%s: must be true or false, not '%s'", key, value);
}

static void set_token(struct csv *c, json_t *node, const char *column, char *path)
{
	struct phx_err err = {0};
	(void)column;
	if (cli_token(path, node, &err) < 0)
		wrong(c, c->line, "token_file: %s", err.text);
}

/* ---- columns ---- */

static void put_macs(struct phx_buf *b, const json_t *value, const json_t *row)
{
	size_t i;
	json_t *mac;
	(void)row;
	json_array_foreach((json_t *)value, i, mac)
		phx_buf_addf(b, "%s%s", i ? " " : "", json_string_value(mac));
}

void cli_put_true(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_is_true(value))
		phx_buf_addf(b, "true");
}

const struct cli_node_column cli_node_columns[] = {
	{"name", "name", set_text, NULL},
	{"mac", "macs", set_macs, put_macs},
	{"serial", "serial", set_text, NULL},
	{"uuid", "uuid", set_text, NULL},
	{"ip", "ip", set_text, NULL},
	{"token_file", NULL, set_token, NULL},
	{"hold", "hold", set_hold, cli_put_true},
	{NULL, NULL, NULL, NULL},
};

/* NULL: it is none of these. */
static const struct cli_node_column *column_of(const char *name)
{
	const struct cli_node_column *k = cli_node_columns;
	while (k->name && !phx_str_eq(k->name, name))
		k++;
	return k->name ? k : NULL;
}

static bool is_column(const char *name)
{
	PHX_AUTO_JSON json_t *bmc = json_object();
	return column_of(name) ||
		(phx_str_starts(name, "bmc_") &&
		 cli_bmc_key(bmc, name + strlen("bmc_"), strlen(name) - strlen("bmc_"), "") !=
			 -ENOENT);
}

static void wrong_column(struct csv *c, const char *name)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (const struct cli_node_column *k = cli_node_columns; k->name; k++)
		phx_buf_addf(&b, "%s, ", k->name);
	wrong(c, c->line,
	      "there is no column '%s': %sand of the BMC bmc_driver, bmc_address, bmc_user, "
	      "bmc_password_file ...",
	      name, b.failed ? "" : b.data);
}

static void set_value(struct csv *c, json_t *node, const char *column, char *value)
{
	const struct cli_node_column *k = column_of(column);
	if (*value && k)
		k->set(c, node, column, value);
	else if (*value)
		set_bmc(c, node, column + strlen("bmc_"), value);
}

/* ---- lines ---- */

static void add_column(struct csv *c, const char *name)
{
	for (size_t i = 0; i < c->n_columns; i++)
		if (phx_str_eq(c->columns[i], name))
			wrong(c, c->line, "column '%s' is there twice", name);
	if (!is_column(name) || c->n_columns == COLUMNS_MAX)
		wrong_column(c, name);
	else
		snprintf(c->columns[c->n_columns++], sizeof(c->columns[0]), "%s", name);
}

static bool cut(struct csv *c, char *line, char *cells[COLUMNS_MAX], size_t *ret_n)
{
	struct phx_err why = {0};
	int n = phx_csv_cut(line, cells, COLUMNS_MAX, &why);
	if (n < 0)
		wrong(c, c->line, "%s", why.text);
	*ret_n = n < 0 ? 0 : (size_t)n;
	return n >= 0;
}

static void read_columns(struct csv *c, char *line)
{
	char *names[COLUMNS_MAX];
	size_t n;
	bool named = false;
	if (!cut(c, line, names, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		add_column(c, names[i]);
		named |= phx_str_eq(names[i], "name");
	}
	if (!named)
		wrong(c, c->line, "the first line names the columns, and 'name' is not among them");
}

static void read_node(struct csv *c, char *line)
{
	char *values[COLUMNS_MAX];
	size_t n;
	if (!cut(c, line, values, &n))
		return;
	json_t *node = json_object();
	for (size_t i = 0; i < n && i < c->n_columns; i++)
		set_value(c, node, c->columns[i], values[i]);
	if (n != c->n_columns)
		wrong(c, c->line, "has %zu values for %zu columns", n, c->n_columns);
	if (!phx_name_valid(phx_json_str(node, "name", "")))
		wrong(c, c->line,
		      "name: '%s' is no name of a node: letters, digits, '-', '_' and '.'",
		      phx_json_str(node, "name", ""));
	json_array_append_new(c->nodes, node);
	json_array_append_new(c->lines, json_integer(c->line));
}

static void read_lines(struct csv *c, char *text)
{
	struct phx_csv lines = {.rest = text};
	for (char *line; (!c->n_wrong || c->n_columns) && (line = phx_csv_next(&lines));) {
		c->line = lines.line;
		if (!c->n_columns)
			read_columns(c, line);
		else
			read_node(c, line);
	}
}

/* ---- nodes together ---- */

struct seen {
	json_t *of; /* "KEY VALUE" → its place */
	void (*say)(void *arg, size_t i, const char *text);
	void *arg;
	const json_t *nodes;
	unsigned n;
};

static void tell(struct seen *s, size_t i, const char *text)
{
	s->say(s->arg, i, text);
	s->n++;
}

static void see(struct seen *s, size_t i, const char *key, const char *value)
{
	PHX_AUTO_FREE char *of = phx_path("%s %s", key, value);
	const json_t *had = of && *value ? json_object_get(s->of, of) : NULL;
	if (had) {
		PHX_AUTO_FREE char *text = phx_path(
			"%s %s is that of node %s, too", key, value,
			phx_json_str(json_array_get(s->nodes, (size_t)json_integer_value(had)),
				     "name", "?"));
		tell(s, i, text ? text : key);
	} else if (of && *value) {
		json_object_set_new(s->of, of, json_integer((json_int_t)i));
	}
}

unsigned cli_nodes_check(const json_t *nodes, void (*say)(void *arg, size_t i, const char *text),
			 void *arg)
{
	PHX_AUTO_JSON json_t *of = json_object();
	struct seen s = {.of = of, .say = say, .arg = arg, .nodes = nodes};
	size_t i, k;
	json_t *node, *mac;
	json_array_foreach((json_t *)nodes, i, node) {
		const json_t *macs = json_object_get(node, "macs");
		see(&s, i, "name", phx_json_str(node, "name", ""));
		see(&s, i, "serial number", phx_json_str(node, "serial", ""));
		see(&s, i, "address", phx_json_str(node, "ip", ""));
		json_array_foreach((json_t *)macs, k, mac) {
			see(&s, i, "MAC address", json_string_value(mac));
		}
		if (!json_array_size(macs) && !*phx_json_str(node, "serial", "") &&
		    !json_object_get(node, "token"))
			tell(&s, i,
			     "nothing says how it is recognised: give a MAC address (--mac), a "
			     "serial number or a file with a token");
	}
	return s.n;
}

static void say_line(void *csv, size_t i, const char *text)
{
	struct csv *c = csv;
	wrong(c, (unsigned)json_integer_value(json_array_get(c->lines, i)), "%s", text);
}

static void say_name(void *csv, size_t i, const char *text)
{
	struct csv *c = csv;
	fprintf(stderr, "phx: %s: %s: %s\n", c->path,
		phx_json_str(json_array_get(c->nodes, i), "name", "?"), text);
}

/* As phx node export -o json prints it; phxd looks at the members. */
static int read_json(struct csv *c, const char *text)
{
	json_error_t error;
	PHX_AUTO_JSON json_t *whole = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	const json_t *list = json_object_get(whole, "nodes");
	size_t i;
	json_t *node;
	if (!whole)
		return cli_fail(CLI_USAGE, "%s:%d: %s", c->path, error.line, error.text);
	if (!json_array_size(list))
		return cli_fail(CLI_USAGE, "%s: it has no list \"nodes\" with a node in it",
				c->path);
	json_array_foreach((json_t *)list, i, node) {
		if (!phx_name_valid(phx_json_str(node, "name", "")))
			return cli_fail(CLI_USAGE, "%s: nodes[%zu]: \"name\" is no name of a node",
					c->path, i);
		json_array_append(c->nodes, node);
	}
	return cli_nodes_check(c->nodes, say_name, c) ? CLI_USAGE : CLI_OK;
}

int cli_nodes_csv(const char *path, json_t *nodes)
{
	bool input = phx_str_eq(path, "-");
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_JSON json_t *lines = json_array();
	struct csv c = {.path = input ? "standard input" : path, .nodes = nodes, .lines = lines};
	struct phx_err err = {0};
	size_t n = 0;
	int r = phx_file_read(input ? "/dev/stdin" : path, FILE_BYTES_MAX, &text, &n, &err);
	if (r < 0)
		return cli_fail(CLI_USAGE, "node add: %s", err.text);
	if (strlen(text) != n)
		return cli_fail(CLI_USAGE, "%s is no text: it has a byte 0", c.path);
	if (text[strspn(text, " \t\r\n")] == '{')
		return read_json(&c, text);
	read_lines(&c, text);
	if (!c.n_wrong && !json_array_size(nodes))
		wrong(&c, c.line, "there is no node in it");
	if (c.n_columns)
		cli_nodes_check(nodes, say_line, &c);
	return c.n_wrong ? cli_fail(CLI_USAGE, "%s: nothing was announced", c.path) : CLI_OK;
}
