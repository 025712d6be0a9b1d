/* See agreement_extension.h. Called by the check of agreements that are asked for now, and by what
 * their extensions bring about. Pure. */
#include "types/agreement_extension.h"

#include <string.h>

static const char start_ahead[] = "start_ahead", yes[] = "true", no[] = "false";

bool phx_agreement_starts_ahead(const struct phx_agreement *a)
{
	bool starts = false;
	PHX_LIST_EACH(struct phx_re_extension, e, &a->extensions)
		if (!strcmp(e->key, start_ahead))
			starts = !strcmp(e->value, yes);
	return starts;
}

const char *phx_agreement_extension_wrong(const struct phx_re_extension *e)
{
	if (strcmp(e->key, start_ahead) != 0 || !strcmp(e->value, yes) || !strcmp(e->value, no))
		return NULL;
	return "has a start_ahead that is neither true nor false";
}
