/* Valid UTF-8, which JSON requires. Called wherever a text comes from outside or was truncated.
 * Pure. */
#ifndef PHX_BASE_UTF8_H
#define PHX_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/** Length in bytes of the character that `text` (not empty) begins with; 0: not valid UTF-8. */
size_t phx_utf8_length(const char *text);
/** The character that `text` (not empty, valid) begins with, if it would steer the terminal it is
 * shown on: a control character, or one that separates lines or turns the direction of writing
 * (a name could be read as another one); else 0. */
uint32_t phx_utf8_steering(const char *text);
/** Replaces every byte of `s` that is not part of valid UTF-8 by '?': a text that was cut to a
 * fixed size may end within a character, which JSON does not allow. */
void phx_utf8_repair(char *s);

#endif
