/* What words of arguments mean: the name that somebody may have meant, labels as
 * a node list, rows of numbers. Called by args.c, types.c and phx. Prints nothing. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"

/* ---- the nearest name ---- */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;
	return m < c ? m : c;
}

/* Edits that turn `a` into `b`; names are shorter than PHX_NAME_MAX. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[PHX_NAME_MAX + 1];
	size_t n = strnlen(b, PHX_NAME_MAX);
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; a[i - 1] && i <= PHX_NAME_MAX; i++) {
		unsigned diagonal = row[0];
		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned here =
				min3(row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = row[j];
			row[j] = here;
		}
	}
	return row[n];
}

const char *cli_nearest(const json_t *items, const char *key, const char *name)
{
	const char *best = NULL;
	unsigned limit = strlen(name) < 4 ? 1 : 2, best_distance = limit + 1;
	size_t i;
	json_t *item;
	json_array_foreach((json_t *)items, i, item) {
		const char *have = key ? phx_json_str(item, key, "") : json_string_value(item);
		unsigned d = distance(name, have);
		/* "web" for "web-server": the beginning of exactly one thing */
		if (phx_str_starts(have, name) && d > 1)
			d = 1;
		if (d < best_distance) {
			best = have;
			best_distance = d;
		}
	}
	return best;
}

/* ---- labels ---- */

/* One "KEY=VALUE" or "KEY!=VALUE" as an operand of a node list; the first of a list stands for
 * itself. */
static int add_term(char *list, size_t size, const char *term, size_t n, bool negative)
{
	const char *bang = memchr(term, '!', n);
	size_t at = strlen(list), n_key = bang ? (size_t)(bang - term) : n;
	if ((bang != NULL) != negative)
		return 0;
	const char *joint = negative ? "!" : at ? "&" : "";
	const char *value = bang ? bang + 1 : term + n;
	int w = snprintf(list + at, size - at, "%s@%.*s%.*s", at || !negative ? joint : "@all!",
			 (int)n_key, term, (int)(term + n - value), value);
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

/* ---- numbers of jobs ---- */

int cli_job_rows(const char *text, struct phx_list *ret)
{
	PHX_AUTO_FREE char *copy = strdup(text);
	char *rest = NULL;
	for (char *word = strtok_r(copy ? copy : NULL, ",", &rest); word;
	     word = strtok_r(NULL, ",", &rest)) {
		struct cli_job_row row = {0};
		char *dash = strchr(word, '-');
		if (dash)
			*dash = '\0';
		if (phx_u64_parse(word, 1, INT64_MAX, &row.from) < 0 ||
		    phx_u64_parse(dash ? dash + 1 : word, row.from, INT64_MAX, &row.to) < 0)
			return -EINVAL;
		struct cli_job_row *to = ret ? phx_list_push(ret, sizeof(row)) : NULL;
		if (to)
			*to = row;
	}
	return copy && *text && text[strspn(text, ",")] ? 0 : -EINVAL;
}
