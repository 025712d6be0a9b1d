/* What changes between two versions of the settings of a site: see diff.c. Pure. */
#ifndef PHX_SITE_DIFF_H
#define PHX_SITE_DIFF_H

#include "site/site.h"

/** Says each change, as "user ada: changed: keys, sudo". Returns how many there are. */
uint32_t phx_site_diff(const struct phx_site *from, const struct phx_site *to, phx_site_say_fn say,
		       void *arg);

#endif
