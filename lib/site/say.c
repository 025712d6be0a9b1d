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

bool phx_site_is_host(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') &&
		    !(*s >= '0' && *s <= '9') && !strchr("-.:", *s))
			return false;
	return true;
}
