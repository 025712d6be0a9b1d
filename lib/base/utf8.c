/* Valid UTF-8: see utf8.h. Pure. */
#include "base/utf8.h"

#include "base/util.h"

/* 0: not valid. */
static size_t decode(const char *text, uint32_t *ret)
{
	const unsigned char *s = (const unsigned char *)text;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t v = s[0] & (0xffu >> (n + 1));
	*ret = s[0];
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc0 || s[0] > 0xf7)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3fu);
	}
	*ret = v;
	return v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff) ? 0 : n;
}

size_t phx_utf8_length(const char *text)
{
	uint32_t v;
	return decode(text, &v);
}

uint32_t phx_utf8_steering(const char *text)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x01, 0x1f},     {0x7f, 0x9f},     /* C0, DEL, C1 */
		{0x200e, 0x200f}, {0x2028, 0x202e}, /* marks of direction, separators */
		{0x2066, 0x2069},                   /* isolates */
	};
	uint32_t v;
	if (!decode(text, &v))
		return 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ranges); i++)
		if (v >= ranges[i].first && v <= ranges[i].last)
			return v;
	return 0;
}

void phx_utf8_repair(char *s)
{
	while (*s) {
		size_t n = phx_utf8_length(s);
		if (!n)
			*s = '?';
		s += n ? n : 1;
	}
}
