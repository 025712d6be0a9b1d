/* IP addresses as texts. Pure. */
#ifndef PHX_BASE_ADDRESS_H
#define PHX_BASE_ADDRESS_H

#include <stdbool.h>

/** Is the text one IP address, of version 4 or 6, and nothing else? */
bool phx_address_valid(const char *text);

#endif
