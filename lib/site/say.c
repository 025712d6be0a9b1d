/* How mistakes in settings are told, and what all checks of them ask: see internal.h. Called by
 * check.c and network.c. Pure. */
#include <stdio.h>
#include <string.h>

#include "site/internal.h"

void phx_site_complain(struct phx_site_checking *c, const char *place, const char *fmt, ...)
{
	char text[PHX_SITE_PLACE_MAX + 400];
	va_list args;
	int n = snprintf(text, sizeof(text), "%s: ", place);
	va_start(args, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, args);
	va_end(args);
	c->say(c->arg, text);
	c->n++;
}

enum { LABEL_MAX = 63, HOST_MAX = 253 }; /* bytes: RFC 1123, RFC 1035 */

/* Reads one label of a name of a host. Returns what is behind it; NULL: it is none. */
static const char *skip_label(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
	return n == 0 || n > LABEL_MAX || s[0] == '-' || s[n - 1] == '-' ? NULL : s + n;
}

bool phx_site_is_host(const char *s)
{
	if (strchr(s, ':'))
		return !s[strspn(s, "0123456789abcdefABCDEF.:")];
	if (strlen(s) > HOST_MAX)
		return false;
	do
		s = skip_label(s);
	while (s && *s == '.' && *++s);
	return s && !*s;
}
