/* Lines of CSV: see csv.h. Pure. */
#include "base/csv.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

#define MARK "\xef\xbb\xbf" /* U+FEFF, which spreadsheets put ahead of UTF-8 */

char *phx_csv_next(struct phx_csv *c)
{
	if (!c->line && c->rest && !strncmp(c->rest, MARK, strlen(MARK)))
		c->rest += strlen(MARK);
	while (c->rest) {
		char *line = strsep(&c->rest, "\n");
		c->line++;
		if (line[strspn(line, " \t\r")] && *line != '#')
			return line;
	}
	return NULL;
}

static bool is_text(const char *line)
{
	for (size_t n; *line; line += n)
		if (!(n = phx_utf8_length(line)) ||
		    ((unsigned char)*line < ' ' && !strchr("\t\r", *line)) || *line == 127)
			return false;
	return true;
}

static void trim_end(char *cell)
{
	for (size_t n = strlen(cell); n && strchr(" \t\r", cell[n - 1]); n--)
		cell[n - 1] = '\0';
}

/* Takes the quotes away; NULL: one of them has no end. *ret_end: behind the cell. */
static char *unquote(char *at, char **ret_end)
{
	char *start = ++at, *to = at;
	for (; *at; at++) {
		if (*at == '"' && at[1] != '"')
			break;
		at += *at == '"';
		*to++ = *at;
	}
	if (!*at || at[1 + strspn(at + 1, " \t\r")] != at[1 + strcspn(at + 1, ",")])
		return NULL;
	*ret_end = at + 1 + strcspn(at + 1, ",");
	*to = '\0';
	return start;
}

int phx_csv_cut(char *line, char **ret_cells, int max, struct phx_err *err)
{
	int n = 0;
	if (!is_text(line))
		return phx_err_set(err, -EINVAL, "is no text in UTF-8");
	for (char *at = line, *end; at; at = end) {
		if (n == max)
			return phx_err_set(err, -EINVAL, "there are more than %d columns", max);
		at += strspn(at, " \t");
		end = at + strcspn(at, ",");
		char *cell = *at == '"' ? unquote(at, &end) : at;
		if (!cell)
			return phx_err_set(err, -EINVAL,
					   "column %d: a quote must end its cell: \"a, b\"", n + 1);
		end = *end ? (*end = '\0', end + 1) : NULL;
		if (cell == at)
			trim_end(cell);
		ret_cells[n++] = cell;
	}
	return n;
}
