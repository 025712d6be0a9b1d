/* Takes secrets out of texts that leave the site, as a report of a bug does. It knows what a secret
 * looks like, not what it is: private keys, hashes of passwords, passwords in URLs, tokens of
 * starts, and values behind names that say what they are. What nobody can recognise must not be
 * written in the first place. Pure. */
#ifndef PHX_BASE_SCRUB_H
#define PHX_BASE_SCRUB_H

#include <jansson.h>

#include "base/util.h"

#define PHX_SCRUBBED "(left out)"

/** Appends the text without what looks like a secret. */
void phx_scrub_text(const char *text, struct phx_buf *to);
/** A copy of `j` without: every text of it is one of phx_scrub_text(), and what a member with a
 * name like "password" holds is left out whole. New reference; NULL on ENOMEM. */
json_t *phx_scrub_json(const json_t *j);

#endif
