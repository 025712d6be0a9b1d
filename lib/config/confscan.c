/* What libconfig lets pass and we do not: see conf.h. Called by conf.c before
 * libconfig sees the text; never changes it. */
#include "config/conf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct scan {
	const char *p, *end;
	unsigned line;
	const char *what;
	struct phx_err *err;
};

static int fail(const struct scan *s, const char *text)
{
	return phx_err_set(s->err, -EINVAL, "%s:%u: %s", s->what, s->line, text);
}

/* Length of the UTF-8 sequence at `p`, 0 when it is none. */
static size_t utf8_length(const char *p, const char *end)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c < 0x80             ? 1
		: c >= 0xc2 && c < 0xe0 ? 2
		: c >= 0xe0 && c < 0xf0 ? 3
		: c >= 0xf0 && c < 0xf5 ? 4
					: 0;
	if (!n || (size_t)(end - p) < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, beyond U+10FFFF */
	unsigned char d = n > 1 ? (unsigned char)p[1] : 0;
	if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d > 0x9f) || (c == 0xf0 && d < 0x90) ||
	    (c == 0xf4 && d > 0x8f))
		return 0;
	return n;
}

static int check_bytes(struct scan *s)
{
	for (const char *p = s->p; p < s->end;) {
		size_t n = utf8_length(p, s->end);
		if (!n || !*p)
			return fail(s,
				    n ? "there is a NUL byte: is this a text file?"
				      : "this is not UTF-8 text");
		s->line += *p == '\n';
		p += n;
	}
	s->line = 1;
	return 0;
}

static void skip_to(struct scan *s, const char *stop)
{
	size_t n = strlen(stop);
	while (s->p < s->end && strncmp(s->p, stop, n)) {
		s->line += *s->p == '\n';
		s->p++;
	}
	if (s->p < s->end && strcmp(stop, "\n"))
		s->p += n;
}

/* libconfig's own word for a text that never ends is "syntax error" in the last line. */
static int skip_string(struct scan *s)
{
	unsigned begin = s->line;
	for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {
		if (*s->p == '\\' && s->p + 1 < s->end)
			s->p++;
		s->line += *s->p == '\n';
	}
	if (s->p == s->end) {
		s->line = begin;
		return fail(s, "a text begins here that has no closing \"");
	}
	s->p++;
	return 0;
}

/* libconfig 1.5 cuts an integer without L to 32 bits and says nothing. */
static int check_number(struct scan *s)
{
	const char *from = s->p;
	bool hex = from[0] == '0' && (from[1] == 'x' || from[1] == 'X');
	while (s->p < s->end && (isalnum((unsigned char)*s->p) || *s->p == '.'))
		s->p++;
	size_t n = (size_t)(s->p - from);
	if (!hex && (memchr(from, '.', n) || memchr(from, 'e', n) || memchr(from, 'E', n)))
		return 0;
	char *end;
	errno = 0;
	unsigned long long v = strtoull(from, &end, hex ? 16 : 10);
	bool wide = *end == 'L';
	if (errno || v > INT64_MAX)
		return fail(s, "a number does not fit into 64 bits");
	if (!wide && v > INT32_MAX)
		return fail(s,
			    "a number above 2147483647 needs an L behind it (5000000000L), or "
			    "write a size as text: "
			    "\"5 GiB\"");
	return 0;
}

static void skip_word(struct scan *s)
{
	while (s->p < s->end && (isalnum((unsigned char)*s->p) || strchr("_*-", *s->p)))
		s->p++;
}

static int step(struct scan *s)
{
	char c = *s->p;
	if (c == '"')
		return skip_string(s);
	if (c == '#' || !strncmp(s->p, "//", 2))
		skip_to(s, "\n");
	else if (!strncmp(s->p, "/*", 2))
		skip_to(s, "*/");
	else if (c == '@')
		return fail(s, "no @include here; put files into conf.d/ instead");
	else if (isdigit((unsigned char)c))
		return check_number(s);
	else if (isalpha((unsigned char)c) || c == '*')
		skip_word(s);
	else {
		s->line += c == '\n';
		s->p++;
	}
	return 0;
}

int phx_conf_scan(const char *text, size_t n, const char *what, struct phx_err *err)
{
	struct scan s = {text, text + n, 1, what, err};
	int r = check_bytes(&s);
	while (r == 0 && s.p < s.end)
		r = step(&s);
	return r;
}
