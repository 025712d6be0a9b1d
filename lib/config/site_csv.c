/* nodes.csv of the settings of the site: see site.h. The first line names what the columns are:
 *
 *	nodes,profiles,RACK_SWITCH,sysctl
 *	n1,base gpu,sw-a,vm.swappiness=10
 *
 * A column of capitals is a variable, one NIC.KEY a key of a network card; several words of one
 * cell have blanks between. A cell in quotes may have commas; a quote in it is written twice.
 * Called by site.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "config/site_internal.h"

enum { CSV_MAX = 8 << 20, COLUMNS_MAX = 64 };

struct csv {
	struct site_reader *rd;
	const char *path;
	uint32_t line;
	char *columns[COLUMNS_MAX]; /* borrowed from the text */
	int n_columns;
};

__attribute__((format(printf, 2, 3))) static void say(struct csv *v, const char *fmt, ...)
{
	struct phx_err err = {0};
	char text[300];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	phx_err_set(&err, -EINVAL, "%.200s:%u: %s", v->path, v->line, text);
	site_complain(v->rd, &err);
}

/* Cuts a line into its cells, in place. -1: it is wrong, which is said. */
static int cut(struct csv *v, char *line, char *cells[COLUMNS_MAX])
{
	struct phx_err why = {0};
	int n = phx_csv_cut(line, cells, COLUMNS_MAX, &why);
	if (n < 0)
		say(v, "%s", why.text);
	return n < 0 ? -1 : n;
}

/* ---- columns ---- */

static bool is_variable(const char *column)
{
	return *column && !column[strspn(column, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

/* The list of values of which a column is, and how a word of it is written. NULL: none. */
static struct phx_list *list_of(struct phx_site_set *s, const char *column,
				enum phx_site_form *ret_form)
{
	*ret_form = PHX_SITE_LIST;
	if (!strcmp(column, "profiles"))
		return &s->profiles;
	for (int k = 0; k < PHX_SITE_VALUE_COUNT_; k++) {
		enum phx_site_value_kind kind = (enum phx_site_value_kind)k;
		*ret_form = phx_site_value_form(kind);
		if (*ret_form != PHX_SITE_PAIRS && !strcmp(phx_site_value_key(kind), column))
			return phx_site_values_in(s, kind);
	}
	return NULL;
}

/* NIC.KEY: the row of the key; NULL: it is no such column. *ret_n: bytes of the name before. */
static const struct phx_field *nic_key(const char *column, size_t *ret_n)
{
	const char *dot = strrchr(column, '.');
	const struct phx_field *f =
		dot && dot != column ? phx_key_find(&phx_site_nic_record, dot + 1) : NULL;
	*ret_n = dot ? (size_t)(dot - column) : 0;
	return f && strcmp(f->name, "name") != 0 && f->type != PHX_F_LIST &&
			*ret_n < sizeof(((struct phx_site_nic *)0)->name)
		? f
		: NULL;
}

static bool is_known(const char *column)
{
	struct phx_site_set none = {0};
	enum phx_site_form form;
	size_t n;
	if (nic_key(column, &n))
		return true;
	return !strcmp(column, "nodes") || is_variable(column) || list_of(&none, column, &form);
}

static bool read_header(struct csv *v, char *line)
{
	bool nodes = false, right = true;
	v->n_columns = cut(v, line, v->columns);
	for (int i = 0; i < v->n_columns; i++) {
		const char *column = v->columns[i];
		nodes = nodes || !strcmp(column, "nodes");
		if (!is_known(column)) {
			say(v,
			    "there is no column '%.40s': it must be nodes, profiles, sysctl, "
			    "kernel_args and so on, NIC.KEY, or a variable, of capitals",
			    column);
			right = false;
		}
		for (int k = 0; k < i; k++)
			if (!strcmp(v->columns[k], column)) {
				say(v, "column '%.40s' is there twice", column);
				right = false;
			}
	}
	if (v->n_columns > 0 && !nodes)
		say(v, "a column `nodes` is missing: which node a line is of");
	return v->n_columns > 0 && nodes && right;
}

/* ---- rows ---- */

static int add_value(struct phx_list *to, const struct phx_site_value *value)
{
	struct phx_site_value *item = phx_list_push(to, sizeof(*item));
	if (!item)
		return -ENOMEM;
	*item = *value;
	return 0;
}

static int put_variable(struct csv *v, struct phx_site_set *s, const char *name, const char *text)
{
	struct phx_site_value value = {.line = v->line};
	if (PHX_STR_SET(value.name, name) < 0 || PHX_STR_SET(value.text, text) < 0) {
		say(v, "%.60s is too long: a name has at most %zu bytes, a text %zu", name,
		    sizeof(value.name) - 1, sizeof(value.text) - 1);
		return 0;
	}
	return add_value(&s->variables, &value);
}

static int put_words(struct csv *v, struct phx_list *to, enum phx_site_form form, char *cell)
{
	int r = 0;
	char *rest = NULL;
	for (char *w = strtok_r(cell, " \t", &rest); r == 0 && w;
	     w = strtok_r(NULL, " \t", &rest)) {
		struct phx_site_value value = {.line = v->line};
		struct phx_err why = {0};
		if (phx_site_value_parse(form, w, &value, &why) < 0)
			say(v, "%s", why.text);
		else
			r = add_value(to, &value);
	}
	return r;
}

static int put_nic(struct csv *v, struct phx_site_set *s, const char *column, const char *cell)
{
	size_t n;
	const struct phx_field *f = nic_key(column, &n);
	struct phx_site_nic *nic = NULL;
	struct phx_err why = {0};
	PHX_LIST_EACH(struct phx_site_nic, other, &s->nics)
		if (!strncmp(other->name, column, n) && !other->name[n])
			nic = other;
	if (!nic && !(nic = phx_list_push(&s->nics, sizeof(*nic))))
		return -ENOMEM;
	memcpy(nic->name, column, n);
	nic->line = v->line;
	if (phx_key_parse(f, cell, (char *)nic + f->offset, &why) < 0)
		say(v, "%s = \"%.60s\" %s", column, cell, why.text);
	return 0;
}

static int put_cell(struct csv *v, struct phx_site_set *s, const char *column, char *cell)
{
	enum phx_site_form form;
	size_t n;
	if (!*cell)
		return 0;
	if (nic_key(column, &n))
		return put_nic(v, s, column, cell);
	if (!strcmp(column, "nodes")) {
		if (PHX_STR_SET(s->nodes, cell) < 0)
			say(v, "nodes is longer than %zu bytes", sizeof(s->nodes) - 1);
		return 0;
	}
	if (is_variable(column))
		return put_variable(v, s, column, cell);
	struct phx_list *to = list_of(s, column, &form);
	return put_words(v, to, form, cell);
}

static int read_row(struct csv *v, char *line)
{
	char *cells[COLUMNS_MAX];
	struct phx_site_set s = {0}, *to;
	int n = cut(v, line, cells), r = 0;
	if (n >= 0 && n != v->n_columns)
		say(v, "has %d cells, where the first line has %d", n, v->n_columns);
	if (n != v->n_columns)
		return 0;
	for (int i = 0; r == 0 && i < n; i++)
		r = put_cell(v, &s, v->columns[i], cells[i]);
	snprintf(s.place, sizeof(s.place), "%.300s:%u", v->path, v->line);
	to = r == 0 ? phx_list_push(&v->rd->site.nodes, sizeof(*to)) : NULL;
	if (to)
		*to = s;
	else
		phx_record_fini(&phx_site_set_record, &s);
	return to ? 0 : -ENOMEM;
}

static int read_lines(struct csv *v, char *text)
{
	struct phx_csv lines = {.rest = text};
	int r = 0;
	for (char *line; r == 0 && (line = phx_csv_next(&lines));) {
		v->line = lines.line;
		if (v->n_columns)
			r = read_row(v, line);
		else if (!read_header(v, line))
			break;
	}
	return r;
}

int site_csv_read(struct site_reader *rd, const char *dir)
{
	PHX_AUTO_FREE char *path = phx_path("%s/nodes.csv", dir), *text = NULL;
	struct csv v = {.rd = rd, .path = path};
	struct phx_err err = {0};
	size_t n = 0;
	if (!path)
		return -ENOMEM;
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (phx_file_read(path, CSV_MAX, &text, &n, &err) < 0) {
		site_complain(rd, &err);
		return 0;
	}
	if (strlen(text) != n)
		say(&v, "is no text: it has a byte 0");
	return strlen(text) == n ? read_lines(&v, text) : 0;
}
