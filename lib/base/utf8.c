/* Valid UTF-8: see utf8.h. Pure. */
#include "base/utf8.h"

#include <stdint.h>

size_t phx_utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t v = s[0] & (0xffu >> (n + 1));
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc0 || s[0] > 0xf7)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3fu);
	}
	return v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff) ? 0 : n;
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
