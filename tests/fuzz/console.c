/* What a console prints, in parts as they come: the first byte says how long a part is. Lines
 * that are stored and shown steer no terminal, are UTF-8 and have a bound; where a part ends
 * changes none of them; and what comes after the end of a line is never lost. Then the same bytes
 * as conserver sends them, and as a person types them.
 * Parsers: lib/console/line.c lib/console/wire.c lib/console/mark.c */
#include "base/utf8.h"
#include "console/console.h"
#include "fuzz/fuzz.h"

static void take_line(void *arg, const char *line)
{
	struct phx_buf *all = arg;
	const size_t n = strlen(line);
	fuzz_never(!n || n > PHX_CONSOLE_LINE_MAX);
	for (const char *at = line; *at;) {
		const size_t length = phx_utf8_length(at);
		fuzz_never(!length || phx_utf8_steering(at));
		fuzz_never(length == 1 && (*at < ' ' || *at == 127));
		at += length;
	}
	const struct phx_console_mark *m = phx_console_mark_of(line);
	struct phx_console_marked_of of = {0};
	fuzz_never(m &&
		   (!strstr(line, m->word) || !phx_console_mark_news(&of, m, 7) ||
		    phx_console_mark_news(&of, m, 7)));
	phx_buf_add(all, line, n);
	phx_buf_add(all, "\n", 1);
}

static void cut(const char *data, size_t n, size_t part, struct phx_buf *ret)
{
	static const char last[] = "\nlast";
	struct phx_console_cut c = {0};
	for (size_t at = 0; at < n; at += part)
		phx_console_cut_put(&c, data + at, n - at < part ? n - at : part, take_line, ret);
	phx_console_cut_put(&c, last, sizeof(last) - 1, take_line, ret);
	phx_console_cut_flush(&c, take_line, ret);
	fuzz_never(ret->n < sizeof(last) - 1 || strcmp(ret->data + ret->n - 5, "last\n") != 0);
}

static void read_wire(const char *data, size_t n, size_t part)
{
	PHX_AUTO_FREE char *whole = fuzz_text(data, n);
	PHX_AUTO_FREE char *parts = fuzz_text(data, n);
	bool held = false;
	size_t to = 0;
	const size_t left = phx_console_wire_in(whole, n, &held);
	fuzz_never(left > n);
	held = false;
	for (size_t at = 0; at < n; at += part) {
		const size_t size = n - at < part ? n - at : part;
		const size_t got = phx_console_wire_in(parts + at, size, &held);
		fuzz_never(got > size);
		memmove(parts + to, parts + at, got);
		to += got;
	}
	fuzz_never(to != left || memcmp(whole, parts, left) != 0);
}

static void type(const char *data, size_t n)
{
	PHX_AUTO_FREE char *typed = fuzz_text(data, n);
	const size_t left = phx_console_wire_out(typed, n);
	fuzz_never(left > n);
	for (size_t i = 0; i < left; i++)
		fuzz_never((uint8_t)typed[i] >= PHX_CONSOLE_ORDER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf whole = {0}, parts = {0};
	if (!n)
		return 0;
	const size_t part = data[0] ? data[0] : 1;
	const char *text = (const char *)data + 1;
	cut(text, n - 1, n, &whole);
	cut(text, n - 1, part, &parts);
	fuzz_never(whole.n != parts.n || memcmp(whole.data, parts.data, whole.n) != 0);
	read_wire(text, n - 1, part);
	type(text, n - 1);
	return 0;
}
