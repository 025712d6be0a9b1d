/* Texts that JSON takes. Called wherever a text comes from outside or was cut. Pure. */
#ifndef PHX_BASE_UTF8_H
#define PHX_BASE_UTF8_H

/** Put '?' for every byte of `s` that is not part of valid UTF-8: texts are cut to fixed sizes, and
 * JSON takes none that is cut within a character. */
void phx_utf8_repair(char *s);

#endif
