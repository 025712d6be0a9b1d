/* Bytes of a console into lines that may be stored and shown. Called by the process that has
 * consoles.
 *
 *   TEXT ──ESC──▶ ESCAPE ──'['──▶ SEQUENCE ──@ to ~──▶ TEXT
 *                    │ ']' 'P' 'X' '^' '_'
 *                    └─▶ STRING ──BEL, or ESC──▶ TEXT, or ESCAPE
 *
 * The end of a line ends everything, and so do PHX_CONSOLE_SKIP_MAX bytes: nothing that a node
 * prints keeps the rest out of its log. */
#include <string.h>

#include "base/utf8.h"
#include "console/console.h"

enum { TEXT, ESCAPE, SEQUENCE, STRING };
enum { BEL = 7, ESC = 27, DEL = 127 };

/* Replaces what would steer a terminal, and bytes that are no UTF-8. */
static void clean(char *s)
{
	phx_utf8_repair(s);
	for (size_t n; *s; s += n) {
		n = phx_utf8_length(s);
		if (phx_utf8_steering(s))
			memset(s, '?', n);
	}
}

void phx_console_cut_flush(struct phx_console_cut *c, phx_console_line_fn fn, void *arg)
{
	if (!c->n)
		return;
	c->text[c->n] = '\0';
	c->n = 0;
	clean(c->text);
	fn(arg, c->text);
}

/* The start of the character that the text ends within; its end, if it ends with a whole one. */
static uint16_t whole(const struct phx_console_cut *c)
{
	uint16_t at = c->n;
	while (at > 0 && c->n - at < 3 && ((uint8_t)c->text[at - 1] & 0xc0) == 0x80)
		at--;
	bool begins = at > 0 && ((uint8_t)c->text[at - 1] & 0xc0) == 0xc0;
	size_t n = begins ? phx_utf8_length(c->text + at - 1) : 1;
	return begins && !n ? (uint16_t)(at - 1) : c->n;
}

/* What is longer than a line goes on in the next one, at the start of a character. */
static void add(struct phx_console_cut *c, char ch, phx_console_line_fn fn, void *arg)
{
	char rest[4];
	if (c->n == PHX_CONSOLE_LINE_MAX) {
		c->text[c->n] = '\0';
		const uint16_t keep = whole(c);
		const uint16_t n_rest = (uint16_t)(c->n - keep);
		memcpy(rest, c->text + keep, n_rest);
		c->n = keep;
		phx_console_cut_flush(c, fn, arg);
		memcpy(c->text, rest, n_rest);
		c->n = n_rest;
	}
	c->text[c->n++] = ch;
}

static uint8_t after_escape(uint8_t ch)
{
	if (ch == '[')
		return SEQUENCE;
	if (ch && strchr("]PX^_", ch))
		return STRING;
	return ch >= ' ' && ch < '0' ? ESCAPE : TEXT; /* "ESC ( B" has one more */
}

/* The state after a byte of a sequence, which is left out. */
static uint8_t skip(struct phx_console_cut *c, uint8_t ch)
{
	if (++c->skipped > PHX_CONSOLE_SKIP_MAX)
		return TEXT;
	if (ch == ESC)
		return ESCAPE;
	if (c->state == ESCAPE)
		return after_escape(ch);
	if (c->state == SEQUENCE)
		return ch >= '@' && ch <= '~' ? TEXT : SEQUENCE;
	return ch == BEL ? TEXT : STRING;
}

void phx_console_cut_put(struct phx_console_cut *c, const char *data, size_t n,
			 phx_console_line_fn fn, void *arg)
{
	for (size_t i = 0; i < n; i++) {
		const uint8_t ch = (uint8_t)data[i];
		if (ch == '\n' || ch == '\r') {
			c->state = TEXT;
			phx_console_cut_flush(c, fn, arg);
		} else if (c->state != TEXT) {
			c->state = skip(c, ch);
		} else if (ch == ESC) {
			c->state = ESCAPE;
			c->skipped = 0;
		} else if (ch == '\t') {
			add(c, ' ', fn, arg);
		} else if (ch >= ' ' && ch != DEL) {
			add(c, data[i], fn, arg);
		}
	}
}
