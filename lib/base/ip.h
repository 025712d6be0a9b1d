/* IP addresses and networks as numbers, for pure rooms. Pure. */
#ifndef PHX_BASE_IP_H
#define PHX_BASE_IP_H

#include <stdbool.h>
#include <stdint.h>

/** A network of version 4: its first address and the bits that all its addresses share. */
struct phx_ipv4_net {
	uint32_t base;
	uint32_t prefix; /* bits, 0 to 32 */
};
enum { PHX_IPV4_MAX = 16 }; /* bytes of "255.255.255.255" with its end */

/** Four numbers of at most 255 without leading zeros, and nothing else. */
bool phx_ipv4_parse(const char *text, uint32_t *ret);
void phx_ipv4_format(uint32_t address, char ret[PHX_IPV4_MAX]);

/** "10.1.0.0/16", also with bits behind the prefix ("10.1.0.7/16"), which are in *ret_address. */
bool phx_ipv4_net_parse(const char *text, struct phx_ipv4_net *ret, uint32_t *ret_address);
/** The bits of the prefix: 0xffff0000 of 16. */
uint32_t phx_ipv4_net_mask(const struct phx_ipv4_net *n);
/** The last address: the one that reaches all. */
uint32_t phx_ipv4_net_last(const struct phx_ipv4_net *n);
bool phx_ipv4_net_has(const struct phx_ipv4_net *n, uint32_t address);

enum { PHX_IPV6_BYTES = 16 };
/** Groups of up to four hexadecimal digits, "::" once at most; no zone, no digits of version 4. */
bool phx_ipv6_parse(const char *text, uint8_t ret[PHX_IPV6_BYTES]);
/** "fd00:1::/64"; bits behind the prefix stay as they are in `ret`. */
bool phx_ipv6_net_parse(const char *text, uint8_t ret[PHX_IPV6_BYTES], uint32_t *ret_prefix);
/** Have the two addresses these first bits in common? */
bool phx_ipv6_share(const uint8_t a[PHX_IPV6_BYTES], const uint8_t b[PHX_IPV6_BYTES],
		    uint32_t prefix);

#endif
