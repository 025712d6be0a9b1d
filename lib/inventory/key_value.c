/* Values of files of lines "KEY: VALUE" and "KEY=VALUE". Called by the readers
 * of this room. */
#include "inventory/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int phx_line_value(const char *text, const char *key, char separator, char *ret, size_t size)
{
	size_t n_key = strlen(key);
	ret[0] = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		const char *p = line + n_key;
		if (strncmp(line, key, n_key))
			continue;
		p += strspn(p, " \t");
		if (*p != separator)
			continue;
		p++;
		p += strspn(p, " \t\"'");
		snprintf(ret, size, "%.*s", (int)strcspn(p, "\n"), p);
		for (size_t n = strlen(ret); n && strchr(" \t\"'", ret[n - 1]); n--)
			ret[n - 1] = '\0';
		return 0;
	}
	return -ENOENT;
}
