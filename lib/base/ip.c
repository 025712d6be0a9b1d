/* IP addresses and networks as numbers: see ip.h. Pure. */
#include "base/ip.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

/* ---- version 4 ---- */

bool phx_ipv4_parse(const char *text, uint32_t *ret)
{
	uint32_t address = 0, parts = 0;
	for (const char *p = text;; p++) {
		char part[4];
		uint64_t v;
		size_t n = strspn(p, "0123456789");
		if (!n || n >= sizeof(part) || (n > 1 && *p == '0'))
			return false;
		memcpy(part, p, n);
		part[n] = '\0';
		if (phx_u64_parse(part, 0, 255, &v) < 0)
			return false;
		address = address << 8 | (uint32_t)v;
		p += n;
		if (++parts == 4) {
			if (!*p)
				*ret = address;
			return !*p;
		}
		if (*p != '.')
			return false;
	}
}

void phx_ipv4_format(uint32_t address, char ret[PHX_IPV4_MAX])
{
	snprintf(ret, PHX_IPV4_MAX, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
		 address >> 8 & 255, address & 255);
}

/* Splits "ADDRESS/BITS"; false: it is not so written. */
static bool split(const char *text, uint32_t max, char *ret_address, size_t size,
		  uint32_t *ret_prefix)
{
	const char *slash = strchr(text, '/');
	uint64_t bits;
	if (!slash || (size_t)(slash - text) >= size || phx_u64_parse(slash + 1, 0, max, &bits) < 0)
		return false;
	memcpy(ret_address, text, (size_t)(slash - text));
	ret_address[slash - text] = '\0';
	*ret_prefix = (uint32_t)bits;
	return true;
}

bool phx_ipv4_net_parse(const char *text, struct phx_ipv4_net *ret, uint32_t *ret_address)
{
	char address[PHX_IPV4_MAX];
	struct phx_ipv4_net n;
	if (!split(text, 32, address, sizeof(address), &n.prefix) ||
	    !phx_ipv4_parse(address, ret_address))
		return false;
	n.base = *ret_address & phx_ipv4_net_mask(&n);
	*ret = n;
	return true;
}

uint32_t phx_ipv4_net_mask(const struct phx_ipv4_net *n)
{
	return n->prefix ? UINT32_MAX << (32 - n->prefix) : 0;
}

uint32_t phx_ipv4_net_last(const struct phx_ipv4_net *n)
{
	return n->base | ~phx_ipv4_net_mask(n);
}

bool phx_ipv4_net_has(const struct phx_ipv4_net *n, uint32_t address)
{
	return (address & phx_ipv4_net_mask(n)) == n->base;
}

/* ---- version 6 ---- */

static int digit(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : -1;
}

/* One group at *at, which is moved behind it; false: there is none. */
static bool take_group(const char **at, uint8_t ret[2])
{
	uint32_t value = 0, n = 0;
	for (; n < 4 && digit(**at) >= 0; n++, (*at)++)
		value = value << 4 | (uint32_t)digit(**at);
	ret[0] = (uint8_t)(value >> 8);
	ret[1] = (uint8_t)value;
	return n > 0;
}

bool phx_ipv6_parse(const char *text, uint8_t ret[PHX_IPV6_BYTES])
{
	uint8_t bytes[PHX_IPV6_BYTES] = {0};
	size_t n = 0, gap = SIZE_MAX;
	const char *at = text;
	if (at[0] == ':' && at[1] != ':')
		return false;
	while (*at) {
		if (at[0] == ':' && at[1] == ':') {
			if (gap != SIZE_MAX)
				return false;
			gap = n;
			at += 2;
			if (!*at)
				break;
		} else if (*at == ':' && n) {
			at++;
		} else if (n) {
			return false;
		}
		if (n == PHX_IPV6_BYTES || !take_group(&at, bytes + n))
			return false;
		n += 2;
	}
	if (gap == SIZE_MAX ? n != PHX_IPV6_BYTES : n == PHX_IPV6_BYTES)
		return false;
	memset(ret, 0, PHX_IPV6_BYTES);
	size_t head = gap == SIZE_MAX ? n : gap;
	memcpy(ret, bytes, head);
	memcpy(ret + PHX_IPV6_BYTES - (n - head), bytes + head, n - head);
	return true;
}

bool phx_ipv6_net_parse(const char *text, uint8_t ret[PHX_IPV6_BYTES], uint32_t *ret_prefix)
{
	char address[46];
	return split(text, 128, address, sizeof(address), ret_prefix) &&
		phx_ipv6_parse(address, ret);
}

bool phx_ipv6_share(const uint8_t a[PHX_IPV6_BYTES], const uint8_t b[PHX_IPV6_BYTES],
		    uint32_t prefix)
{
	uint32_t whole = prefix / 8, rest = prefix % 8;
	return !memcmp(a, b, whole) && (!rest || !((a[whole] ^ b[whole]) >> (8 - rest)));
}
