/* Texts that JSON takes. Called wherever a text comes from outside or was cut. Pure. */
#ifndef PHX_BASE_UTF8_H
#define PHX_BASE_UTF8_H

#include <stddef.h>

/** Bytes of the character that `text` (not empty) begins with; 0: that is no valid UTF-8. */
size_t phx_utf8_length(const char *text);
/** Put '?' for every byte of `s` that is not part of valid UTF-8: texts are cut to fixed sizes, and
 * JSON takes none that is cut within a character. */
void phx_utf8_repair(char *s);

#endif
