/* What the files of this room share; nobody outside it includes this. */
#ifndef PHX_OUTLET_INTERNAL_H
#define PHX_OUTLET_INTERNAL_H

#include "base/util.h"

/** Appends a text that others wrote, '?' in place of what is no UTF-8 or would steer a terminal or
 * end a line. */
void outlet_put_clean(struct phx_buf *b, const char *text);

#endif
