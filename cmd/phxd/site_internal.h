/* What site.c and api_site.c share. */
#ifndef PHXD_SITE_INTERNAL_H
#define PHXD_SITE_INTERNAL_H

#include "base/json.h"
#include "phxd/site.h"

enum { SITE_FILE_MAX = 32 << 20, SITE_TEXTS_MAX = 2000 };

/** Where the content of a version is kept; malloc'd, NULL: -ENOMEM. */
char *site_file(const struct daemon *d, const char *digest);
/** These settings are in force from now on; takes them, and leaves empty ones. -ENOMEM: the former
 * ones are. */
int site_take(struct site *s, struct phx_site *settings);
/** A copy of those in force; empty ones if there are none. -ENOMEM. */
int site_copy(struct site *s, bool *ret_there, struct phx_site *ret);
/** The settings in force, empty ones if there are none, until site_return(); briefly, and beside no
 * other call of site.h. Under no lock but the engine's. */
const struct phx_site *site_borrow(struct site *s);
void site_return(struct site *s);
/** Appends to `errors` what of the networks does not fit this head, its nodes or dnsmasq. Changes
 * nothing. */
void site_networks_check(struct daemon *d, const struct phx_site *site, json_t *errors);
/** site_tell_networks() for the nodes that there are. */
void site_networks_changed(struct daemon *d);
/** Who applies settings does it between these two. Not under any other lock. */
void site_turn_begin(struct site *s);
/** The same for who cannot wait; false: somebody else does it. */
bool site_turn_try(struct site *s);
void site_turn_end(struct site *s);

#endif
