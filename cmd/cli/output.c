/* Output: rows of JSON objects as a table (libsmartcols), names, TSV, JSON or YAML, and the
 * formats of single values. Called by all commands. Prints on stdout only. */
#include <errno.h>
#include <libsmartcols.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/cli.h"

const json_t *cli_member(const json_t *j, const char *path)
{
	while (j && *path) {
		size_t n = strcspn(path, ".");
		char key[64];
		if (n >= sizeof(key))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		j = json_object_get(j, key);
		path += n + (path[n] == '.');
	}
	return j;
}

bool cli_structured(const struct cli *cli)
{
	return cli->format == CLI_JSON || cli->format == CLI_YAML;
}

/* ---- values ---- */

/* Cells are for programs (tsv, csv): bytes, seconds and shares as plain numbers. Set while rows are
 * printed. */
static bool plain_cells;

bool cli_plain(void)
{
	return plain_cells;
}

static void put_plain(struct phx_buf *b, const json_t *value)
{
	if (json_is_string(value))
		cli_put_line(b, json_string_value(value));
	else if (json_is_integer(value))
		phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
	else if (json_is_boolean(value))
		phx_buf_addf(b, "%s", json_is_true(value) ? "yes" : "no");
}

void cli_put_size(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	char text[32];
	if (plain_cells && json_is_integer(value))
		phx_buf_addf(b, "%lld", (long long)json_integer_value(value));
	else if (json_integer_value(value) > 0)
		phx_buf_addf(
			b, "%s",
			phx_size_format((uint64_t)json_integer_value(value), text, sizeof(text)));
}

void cli_put_duration(struct phx_buf *b, int64_t ms)
{
	long long s = ms / 1000;
	if (plain_cells)
		phx_buf_addf(b, ms % 1000 ? "%lld.%03d" : "%lld", s, (int)(ms % 1000));
	else if (ms > 0 && ms < 100)
		phx_buf_addf(b, "%lld ms", (long long)ms);
	else if (ms < 60000)
		phx_buf_addf(b, "%lld.%lld s", s, (long long)(ms % 1000) / 100);
	else if (s < 3600)
		phx_buf_addf(b, "%lld min %lld s", s / 60, s % 60);
	else if (s < 86400)
		phx_buf_addf(b, "%lld h %lld min", s / 3600, s / 60 % 60);
	else
		phx_buf_addf(b, "%lld d %lld h", s / 86400, s / 3600 % 24);
}

void cli_put_words(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	size_t i;
	json_t *word;
	json_array_foreach((json_t *)value, i, word) {
		phx_buf_addf(b, "%s", i ? " " : "");
		cli_put_line(b,
			     json_is_string(word) ? json_string_value(word)
						  : phx_json_str(word, "text", ""));
	}
}

void cli_put_ms(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_integer_value(value) > 0)
		cli_put_duration(b, json_integer_value(value));
}

void cli_put_when(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	int64_t ms = json_integer_value(value);
	if (ms <= 0)
		return;
	time_t t = (time_t)(ms / 1000);
	struct tm tm;
	char text[40];
	localtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	phx_buf_addf(b, "%s", text);
}

void cli_put_since(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	int64_t then = json_integer_value(value), now = phx_wall_ms();
	if (then > 0 && now - then < 60000 && !plain_cells)
		phx_buf_addf(b, "%lld s", now > then ? (long long)(now - then) / 1000 : 0);
	else if (then > 0)
		cli_put_duration(b, now > then ? (now - then) / 1000 * 1000 : 0);
}

void cli_put_yes(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	phx_buf_addf(b, "%s", json_is_true(value) ? "yes" : "no");
}

void cli_put_digest(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	const char *text = json_string_value(value);
	if (text)
		phx_buf_addf(b, "%.12s", text);
}

/* Text of a cell, malloc'd. */
static char *cell_text(const struct cli_column *c, const json_t *row)
{
	struct phx_buf b = {0};
	const json_t *value = cli_member(row, c->path);
	if (c->put)
		c->put(&b, value, row);
	else
		put_plain(&b, value);
	return phx_buf_take(&b);
}

char *cli_cell_plain(const struct cli_column *c, const json_t *row)
{
	bool before = plain_cells;
	plain_cells = true;
	char *text = cell_text(c, row);
	plain_cells = before;
	return text;
}

/* ---- tables ---- */

static const char *color_of(const char *text)
{
	static const struct {
		const char *text, *color;
	} colors[] = {
		{"active", "green"},      {"ready", "cyan"},       {"quarantined", "red"},
		{"maintenance", "brown"}, {"deploying", "yellow"}, {"draining", "yellow"},
		{"cleaning", "yellow"},   {"new", "magenta"},      {"commissioning", "magenta"},
		{"failed", "red"},        {"running", "green"},    {"missing", "red"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(colors); i++)
		if (phx_str_eq(text, colors[i].text))
			return colors[i].color;
	return NULL;
}

static bool column_shown(const struct cli *cli, const struct cli_column *c)
{
	return !c->wide || cli->format == CLI_WIDE || cli->format >= CLI_TSV;
}

static int add_row(struct libscols_table *t, const struct cli *cli,
		   const struct cli_column *columns, size_t n, const json_t *row)
{
	struct libscols_line *line = scols_table_new_line(t, NULL);
	size_t at = 0;
	for (size_t i = 0; line && i < n; i++) {
		if (!column_shown(cli, &columns[i]))
			continue;
		char *text = cell_text(&columns[i], row);
		const char *color = text && cli->color ? color_of(text) : NULL;
		if (!text || scols_line_refer_data(line, at, text) != 0) {
			free(text);
			return -ENOMEM;
		}
		if (color)
			scols_cell_set_color(scols_line_get_cell(line, at), color);
		at++;
	}
	return line ? 0 : -ENOMEM;
}

static int add_columns(struct libscols_table *t, const struct cli *cli,
		       const struct cli_column *columns, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!column_shown(cli, &columns[i]))
			continue;
		int flags = columns[i].right ? SCOLS_FL_RIGHT : 0;
		if (i == n - 1 && cli->format == CLI_TABLE)
			flags |= SCOLS_FL_TRUNC;
		if (!scols_table_new_column(t, columns[i].head, 0.1, flags))
			return -ENOMEM;
	}
	return 0;
}

/* Print the finished text of a table with each line indented, trailing blanks removed. */
static void print_indented(const char *text, unsigned indent)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "\n"), shown = n;
		while (shown && p[shown - 1] == ' ')
			shown--;
		printf("%*s%.*s\n", shown ? (int)indent : 0, "", (int)shown, p);
		p += n + (p[n] == '\n');
	}
}

static size_t n_shown(const struct cli *cli, const struct cli_column *columns, size_t n)
{
	size_t shown = 0;
	for (size_t i = 0; i < n; i++)
		shown += column_shown(cli, &columns[i]);
	return shown;
}

/* Only the last column may be cut to what the terminal is wide. Where the others alone are wider,
 * the terminal breaks the lines: a name in pieces over several rows is no name. */
static int print_fitting(struct libscols_table *t, size_t n, char **ret_text)
{
	enum { GAP = 2, LAST_MIN = 10 };
	size_t total = 0, last = 0;
	scols_table_set_termforce(t, SCOLS_TERMFORCE_NEVER);
	int r = scols_print_table_to_string(t, ret_text);
	for (size_t i = 0; r == 0 && i < n; i++) {
		last = scols_column_get_width(scols_table_get_column(t, i));
		total += last + (i ? GAP : 0);
	}
	scols_table_set_termforce(t, SCOLS_TERMFORCE_AUTO);
	size_t width = scols_table_get_termwidth(t);
	if (r < 0 || !isatty(STDOUT_FILENO) || total <= width || total - last + LAST_MIN > width)
		return r;
	free(PHX_TAKE(*ret_text));
	return scols_print_table_to_string(t, ret_text);
}

int cli_print_table(struct cli *cli, const struct cli_column *columns, size_t n_columns,
		    const json_t *rows, unsigned indent)
{
	struct libscols_table *t = scols_new_table();
	if (!t || !json_array_size(rows)) {
		scols_unref_table(t);
		return CLI_OK;
	}
	scols_table_enable_colors(t, cli->color);
	scols_table_enable_noheadings(t, cli_has(cli, CLI_OPT_no_header));
	scols_table_set_column_separator(t, "  ");
	int r = add_columns(t, cli, columns, n_columns);
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)rows, i, row) {
		if (r == 0)
			r = add_row(t, cli, columns, n_columns, row);
	}
	PHX_AUTO_FREE char *text = NULL;
	if (r == 0)
		r = print_fitting(t, n_shown(cli, columns, n_columns), &text);
	scols_unref_table(t);
	if (r < 0)
		return cli_fail(CLI_PARTIAL, "cannot make the table: %s", strerror(-r));
	print_indented(text, indent);
	return CLI_OK;
}

void cli_print_lines(const struct cli_column *columns, size_t n_columns, const json_t *row)
{
	for (size_t i = 0; i < n_columns; i++) {
		PHX_AUTO_FREE char *text = cell_text(&columns[i], row);
		if (text && text[strspn(text, " ")])
			printf("  %-12s %s\n", columns[i].head, text);
	}
}

/* ---- the other formats ---- */

static void print_tsv_cell(const char *text)
{
	for (const char *p = text; *p; p++)
		putchar(*p == '\t' || *p == '\n' ? ' ' : *p);
}

/* As RFC 4180 has it: quoted where a comma, a quote or a line's end is in it. */
static void print_csv_cell(const char *text)
{
	if (!text[strcspn(text, ",\"\n\r")]) {
		fputs(text, stdout);
		return;
	}
	putchar('"');
	for (const char *p = text; *p; p++) {
		if (*p == '"')
			putchar('"');
		putchar(*p);
	}
	putchar('"');
}

static void print_markdown_cell(const char *text)
{
	for (const char *p = text; *p; p++)
		printf(*p == '|' ? "\\|" : "%c", *p == '\n' ? ' ' : *p);
}

/* A format of lines: what stands before, between and after the cells, and how a cell is printed. */
struct line_format {
	const char *begin, *separator, *end;
	void (*put)(const char *text);
};
static const struct line_format tsv = {"", "\t", "\n", print_tsv_cell},
				csv = {"", ",", "\n", print_csv_cell},
				markdown = {"| ", " | ", " |\n", print_markdown_cell};

/* `row` NULL: the heads. */
static void print_line(const struct cli *cli, const struct line_format *f,
		       const struct cli_column *columns, size_t n, const json_t *row)
{
	const char *before = f->begin;
	for (size_t i = 0; i < n; i++) {
		if (!column_shown(cli, &columns[i]))
			continue;
		PHX_AUTO_FREE char *text =
			row ? cell_text(&columns[i], row) : strdup(columns[i].head);
		fputs(before, stdout);
		f->put(text ? text : "");
		before = f->separator;
	}
	fputs(f->end, stdout);
}

static void print_lines(const struct cli *cli, const struct line_format *f,
			const struct cli_column *columns, size_t n, const json_t *rows)
{
	if (f == &markdown || !cli_has(cli, CLI_OPT_no_header))
		print_line(cli, f, columns, n, NULL);
	for (size_t i = 0; f == &markdown && i < n; i++)
		if (column_shown(cli, &columns[i]))
			fputs(columns[i].right ? "|---:" : "|---", stdout);
	fputs(f == &markdown ? "|\n" : "", stdout);
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)rows, i, row)
		print_line(cli, f, columns, n, row);
}

static void print_names(const struct cli *cli, const struct cli_column *first, const json_t *rows)
{
	if (cli_has(cli, CLI_OPT_fold)) {
		PHX_AUTO_FREE char *folded = cli_nodes_fold(rows);
		printf("%s\n", folded ? folded : "");
		return;
	}
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)rows, i, row) {
		PHX_AUTO_FREE char *text = cell_text(first, row);
		printf("%s\n", text ? text : "");
	}
}

/* A list of {"text": WORD} is how records keep words: for people and programs it is a list of
 * strings. */
static json_t *words_of(const json_t *list)
{
	json_t *words = json_array(), *it;
	size_t i;
	json_array_foreach((json_t *)list, i, it) {
		const json_t *text = json_object_size(it) == 1 ? json_object_get(it, "text") : NULL;
		if (!json_is_string(text)) {
			json_decref(words);
			return NULL;
		}
		json_array_append(words, (json_t *)text);
	}
	return words;
}

static void flatten_words(json_t *value)
{
	const char *key;
	json_t *it;
	void *next;
	size_t i;
	json_array_foreach(value, i, it)
		flatten_words(it);
	json_object_foreach_safe(value, next, key, it) {
		json_t *words = json_array_size(it) ? words_of(it) : NULL;
		if (words)
			json_object_set_new(value, key, words);
		else
			flatten_words(it);
	}
}

int cli_print_value(struct cli *cli, const json_t *given)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_JSON json_t *value = json_deep_copy(given);
	flatten_words(value);
	if (cli->format == CLI_YAML) {
		cli_yaml(&b, value);
	} else {
		PHX_AUTO_FREE char *text = json_dumps(
			value, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		cli_put_json(&b, text ? text : "");
		phx_buf_addf(&b, "\n");
	}
	if (b.failed)
		return cli_fail(CLI_PARTIAL, "out of memory");
	fputs(b.data ? b.data : "", stdout);
	return CLI_OK;
}

int cli_print_rows(struct cli *cli, const struct cli_column *columns, size_t n_columns,
		   const json_t *rows, const json_t *whole)
{
	plain_cells = cli->format == CLI_TSV || cli->format == CLI_CSV;
	switch (cli->format) {
	case CLI_TABLE:
	case CLI_WIDE:
		return cli_print_table(cli, columns, n_columns, rows, 0);
	case CLI_JSON:
	case CLI_YAML:
		return cli_print_value(cli, whole);
	case CLI_NAME:
		print_names(cli, columns, rows);
		return CLI_OK;
	case CLI_TSV:
		print_lines(cli, &tsv, columns, n_columns, rows);
		return CLI_OK;
	case CLI_CSV:
		print_lines(cli, &csv, columns, n_columns, rows);
		return CLI_OK;
	case CLI_MARKDOWN:
		print_lines(cli, &markdown, columns, n_columns, rows);
		return CLI_OK;
	}
	return CLI_PARTIAL;
}

char *cli_nodes_fold(const json_t *nodes)
{
	struct phx_nodeset s = {0};
	size_t i;
	json_t *node;
	json_array_foreach((json_t *)nodes, i, node)
		phx_nodeset_add(&s,
				json_is_string(node) ? json_string_value(node)
						     : phx_json_str(node, "name", ""));
	char *folded = phx_nodeset_fold(&s);
	phx_nodeset_fini(&s);
	return folded;
}
