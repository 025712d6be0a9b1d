/* Valid UTF-8, which JSON requires. Called wherever a text comes from outside or was truncated.
 * Pure. */
#ifndef PHX_BASE_UTF8_H
#define PHX_BASE_UTF8_H

#include <stddef.h>

/** Length in bytes of the character that `text` (not empty) begins with; 0: not valid UTF-8. */
size_t phx_utf8_length(const char *text);
/** Replaces every byte of `s` that is not part of valid UTF-8 by '?': a text that was cut to a
 * fixed size may end within a character, which JSON does not allow. */
void phx_utf8_repair(char *s);

#endif
