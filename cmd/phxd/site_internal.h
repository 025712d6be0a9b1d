/* What site.c and api_site.c share. */
#ifndef PHXD_SITE_INTERNAL_H
#define PHXD_SITE_INTERNAL_H

#include "phxd/site.h"

enum { SITE_FILE_MAX = 8 << 20 };

/** Where the content of a version is kept; malloc'd, NULL: -ENOMEM. */
char *site_file(const struct daemon *d, const char *digest);
/** These settings are in force from now on; takes them. */
void site_take(struct site *s, struct phx_site *settings);
/** A copy of those in force; empty ones if there are none. -ENOMEM. */
int site_copy(struct site *s, bool *ret_there, struct phx_site *ret);
/** Who applies settings does it between these two. Not under any other lock. */
void site_turn_begin(struct site *s);
void site_turn_end(struct site *s);

#endif
