/* Extension fields of an agreement that mean something here; all others are kept as given. Pure. */
#ifndef PHX_TYPES_AGREEMENT_EXTENSION_H
#define PHX_TYPES_AGREEMENT_EXTENSION_H

#include "types/agreement.h"

/** start_ahead = true: nodes of a pair of REs whose agreements both say so run the services of the
 * web RE's role ahead of a hand-over (re/re.h, phx_re_ahead()). */
bool phx_agreement_starts_ahead(const struct phx_agreement *a);

/** What is wrong with the value of an extension that means something here, as it follows upon
 * "extensions"; NULL: nothing, or it means nothing. */
const char *phx_agreement_extension_wrong(const struct phx_re_extension *e);

#endif
