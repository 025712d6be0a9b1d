/* A JSON scanner: see json_scan.h. Every loop ends at the NUL, which no value can contain. Pure. */
#include "base/json_scan.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

/* Digits before the point of what is no integer: a double holds any number with so many, and who
 * makes a tree of the text has nothing else for it. */
enum { PLACES_MAX = 308 };

static bool fail(struct phx_scan *s, const char *want)
{
	s->want = s->want ? s->want : want;
	return false;
}

char phx_scan_peek(struct phx_scan *s)
{
	while (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n')
		s->at++;
	return s->want ? '\0' : *s->at;
}

static bool take(struct phx_scan *s, char c)
{
	if (phx_scan_peek(s) != c || s->want)
		return false;
	s->at++;
	return true;
}

bool phx_scan_end(struct phx_scan *s)
{
	return !phx_scan_peek(s) && !s->want ? true : fail(s, "the end is expected");
}

/* ---- strings ---- */

/* Destination of decoded text; `n` goes on counting when there is no room. */
struct sink {
	char *dst;
	size_t size, n;
};

static void put(struct sink *to, const char *from, size_t n)
{
	size_t left = to->n < to->size ? to->size - to->n : 0;
	if (left)
		memcpy(to->dst + to->n, from, n < left ? n : left);
	to->n += n;
}

/* Reads four hexadecimal digits; UINT32_MAX: there are not four. */
static uint32_t take_hex(struct phx_scan *s)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	uint32_t v = 0;
	for (int i = 0; i < 4; i++, s->at++) {
		const char *at = *s->at ? strchr(digits, *s->at) : NULL;
		if (!at)
			return UINT32_MAX;
		v = v << 4 | (uint32_t)(at - digits < 16 ? at - digits : at - digits - 6);
	}
	return v;
}

/* Characters from U+10000 on are written as two escapes (a surrogate pair). */
static uint32_t take_code(struct phx_scan *s)
{
	uint32_t v = take_hex(s);
	if (v < 0xd800 || v > 0xdbff || v == UINT32_MAX)
		return v >= 0xdc00 && v <= 0xdfff ? UINT32_MAX : v;
	if (s->at[0] != '\\' || s->at[1] != 'u')
		return UINT32_MAX;
	s->at += 2;
	uint32_t low = take_hex(s);
	return low < 0xdc00 || low > 0xdfff ? UINT32_MAX
					    : 0x10000 + (v - 0xd800) * 0x400 + low - 0xdc00;
}

static bool put_code(struct phx_scan *s, struct sink *to, uint32_t v)
{
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	char out[4];
	size_t n = v < 0x80 ? 1 : v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;
	if (v == UINT32_MAX || !v)
		return fail(s, "an escaped character is expected");
	for (size_t i = n; i-- > 1; v >>= 6)
		out[i] = (char)(0x80 | (v & 0x3f));
	out[0] = (char)(first[n] | v);
	put(to, out, n);
	return true;
}

static bool take_escape(struct phx_scan *s, struct sink *to)
{
	static const char from[] = "\"\\/bfnrt", as[] = "\"\\/\b\f\n\r\t";
	char c = *++s->at;
	const char *at = c ? strchr(from, c) : NULL;
	if (!at && c != 'u')
		return fail(s, "an escaped character is expected");
	s->at++;
	if (!at)
		return put_code(s, to, take_code(s));
	put(to, &as[at - from], 1);
	return true;
}

/* Characters that stand for themselves. */
static bool take_plain(struct phx_scan *s, struct sink *to)
{
	const char *from = s->at;
	for (size_t n = 1; n && *s->at != '"' && *s->at != '\\'; s->at += n) {
		unsigned char c = (unsigned char)*s->at;
		n = c < 0x20 ? 0 : c < 0x80 ? 1 : phx_utf8_length(s->at);
		if (!n)
			return fail(s, c < 0x20 ? "'\"' is expected" : "UTF-8 is expected");
	}
	put(to, from, (size_t)(s->at - from));
	return true;
}

int64_t phx_scan_string(struct phx_scan *s, char *dst, size_t dst_size)
{
	struct sink to = {dst, dst_size ? dst_size - 1 : 0, 0};
	if (!take(s, '"'))
		return fail(s, "a string is expected") - EINVAL;
	while (*s->at != '"')
		if (!(*s->at == '\\' ? take_escape(s, &to) : take_plain(s, &to)))
			return -EINVAL;
	s->at++;
	if (dst_size)
		dst[to.n < to.size ? to.n : to.size] = '\0';
	return (int64_t)to.n;
}

/* ---- numbers and words ---- */

static size_t count_digits(const char *s)
{
	size_t n = 0;
	while (s[n] >= '0' && s[n] <= '9')
		n++;
	return n;
}

/* Skips `n_before` characters and the digits that follow; there must be at least one digit. */
static bool take_digits(struct phx_scan *s, size_t n_before)
{
	s->at += n_before;
	size_t n = count_digits(s->at);
	s->at += n;
	return n ? true : fail(s, "a digit is expected");
}

/* Skips an exponent. *ret: how many places it moves the point to the right; of a huge one some
 * number above PLACES_MAX. */
static bool take_exponent(struct phx_scan *s, size_t *ret)
{
	bool negative = s->at[1] == '-';
	if (!take_digits(s, s->at[1] == '+' || negative ? 2 : 1))
		return false;
	const char *from = s->at;
	while (from[-1] >= '0' && from[-1] <= '9')
		from--;
	for (*ret = 0; from < s->at && *ret <= PLACES_MAX; from++)
		*ret = *ret * 10 + (size_t)(*from - '0');
	*ret = negative ? 0 : *ret;
	return true;
}

int phx_scan_integer(struct phx_scan *s, int64_t *ret)
{
	bool negative = take(s, '-');
	const char *digits = s->at;
	uint64_t v = 0, most = (uint64_t)INT64_MAX + negative;
	size_t moved = 0;
	if (s->want || !take_digits(s, 0))
		return -EINVAL;
	size_t places = (size_t)(s->at - digits);
	for (const char *at = digits; at < s->at && v <= most; at++)
		v = v > (UINT64_MAX - 9) / 10 ? UINT64_MAX : v * 10 + (uint64_t)(*at - '0');
	if (*digits == '0' && places > 1)
		return fail(s, "a number without a leading 0 is expected") - EINVAL;
	bool whole = *s->at != '.' && *s->at != 'e' && *s->at != 'E';
	if (*s->at == '.' && !take_digits(s, 1))
		return -EINVAL;
	if ((*s->at == 'e' || *s->at == 'E') && !take_exponent(s, &moved))
		return -EINVAL;
	if (whole ? v > most : places + moved > PLACES_MAX)
		return fail(s, "a smaller number is expected") - EINVAL;
	*ret = (int64_t)(negative ? -v : v);
	return whole ? 0 : -ERANGE;
}

bool phx_scan_word(struct phx_scan *s, const char *word)
{
	size_t n = strlen(word);
	if (phx_scan_peek(s) != *word || strncmp(s->at, word, n) != 0)
		return fail(s, "true, false or null is expected");
	s->at += n;
	return true;
}

/* ---- objects and lists ---- */

/* Is there another member or item before `closing`? */
static bool more(struct phx_scan *s, bool *began, const char *open, const char *want)
{
	bool first = !*began;
	if (first && !take(s, open[0]))
		return fail(s, open[0] == '{' ? "an object is expected" : "a list is expected");
	*began = true;
	if (take(s, open[1]))
		return false;
	return first || take(s, ',') ? !s->want : fail(s, want);
}

bool phx_scan_member(struct phx_scan *s, bool *began, char ret_name[PHX_SCAN_NAME_MAX])
{
	if (!more(s, began, "{}", "',' or '}' is expected"))
		return false;
	if (phx_scan_peek(s) != '"')
		return fail(s, "a member is expected");
	return phx_scan_string(s, ret_name, PHX_SCAN_NAME_MAX) >= 0 &&
		(take(s, ':') ? true : fail(s, "a member is expected"));
}

bool phx_scan_item(struct phx_scan *s, bool *began)
{
	return more(s, began, "[]", "',' or ']' is expected");
}

static int skip(struct phx_scan *s, unsigned depth)
{
	char name[PHX_SCAN_NAME_MAX];
	int64_t number;
	bool began = false;
	char c = depth < PHX_SCAN_DEPTH_MAX ? phx_scan_peek(s) : '\0';
	if (c == '{')
		while (phx_scan_member(s, &began, name) && skip(s, depth + 1) == 0)
			;
	else if (c == '[')
		while (phx_scan_item(s, &began) && skip(s, depth + 1) == 0)
			;
	else if (c == '"')
		phx_scan_string(s, NULL, 0);
	else if (c == '-' || (c >= '0' && c <= '9'))
		phx_scan_integer(s, &number);
	else if (c == 't' || c == 'f' || c == 'n')
		phx_scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
	else
		fail(s, "a value is expected");
	return s->want ? -EINVAL : 0;
}

int phx_scan_skip(struct phx_scan *s)
{
	return skip(s, 0);
}
