/* IP addresses as numbers: what is one, which network has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "base/ip.h"
#include "base/util.h"

static void an_address_is_four_numbers(void **state)
{
	static const char *const wrong[] = {"",          "1.2.3",    "1.2.3.4.5", "1.2.3.256",
					    "01.2.3.4",  "1.2.3.4 ", "1..3.4",    "a.b.c.d",
					    "1.2.3.4/8", "-1.2.3.4", "1.2.3.0004"};
	uint32_t a = 7;
	char text[PHX_IPV4_MAX];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++)
		if (phx_ipv4_parse(wrong[i], &a) || a != 7)
			fail_msg("'%s' is taken for an address", wrong[i]);
	assert_true(phx_ipv4_parse("10.1.2.255", &a));
	assert_int_equal(a, 0x0a0102ff);
	phx_ipv4_format(0xffffffff, text);
	assert_string_equal(text, "255.255.255.255");
}

static void a_network_has_its_addresses(void **state)
{
	struct phx_ipv4_net n;
	uint32_t a;
	(void)state;
	assert_true(phx_ipv4_net_parse("10.1.7.9/16", &n, &a));
	assert_int_equal(n.base, 0x0a010000);
	assert_int_equal(a, 0x0a010709);
	assert_int_equal(phx_ipv4_net_last(&n), 0x0a01ffff);
	assert_true(phx_ipv4_net_has(&n, 0x0a01ffff));
	assert_false(phx_ipv4_net_has(&n, 0x0a020000));
	assert_true(phx_ipv4_net_parse("0.0.0.0/0", &n, &a));
	assert_true(phx_ipv4_net_has(&n, 0xffffffff));
	assert_false(phx_ipv4_net_parse("10.1.0.0", &n, &a));
	assert_false(phx_ipv4_net_parse("10.1.0.0/33", &n, &a));
	assert_false(phx_ipv4_net_parse("10.1.0.0/-1", &n, &a));
	assert_false(phx_ipv4_net_parse("10.1.0/8", &n, &a));
}

/* As the C library has it, but for digits of version 4. */
static void version_6_is_as_elsewhere(void **state)
{
	static const char *const texts[] = {"::",
					    "::1",
					    "1::",
					    "fd00:1::7",
					    "1:2:3:4:5:6:7:8",
					    "1::8",
					    "FE80::ABC",
					    "",
					    ":",
					    ":1",
					    "1:",
					    ":::",
					    "1::2::3",
					    "1:2:3:4:5:6:7",
					    "1:2:3:4:5:6:7:8:9",
					    "12345::",
					    "g::",
					    "1:2:3:4:5:6:7::",
					    "::2:3:4:5:6:7:8",
					    "1:2:3:4::5:6:7:8",
					    "fd00::1%2",
					    "::1 ",
					    "1:::2",
					    "::1:"};
	uint8_t ours[PHX_IPV6_BYTES], theirs[PHX_IPV6_BYTES];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		bool right = inet_pton(AF_INET6, texts[i], theirs) == 1;
		if (phx_ipv6_parse(texts[i], ours) != right)
			fail_msg("'%s' is %staken for an address", texts[i], right ? "not " : "");
		if (right && memcmp(ours, theirs, sizeof(ours)) != 0)
			fail_msg("'%s' is taken for another address", texts[i]);
	}
}

static void version_6_shares_bits(void **state)
{
	uint8_t a[PHX_IPV6_BYTES], b[PHX_IPV6_BYTES];
	uint32_t prefix;
	(void)state;
	assert_true(phx_ipv6_net_parse("fd00:1::/63", a, &prefix));
	assert_int_equal(prefix, 63);
	assert_true(phx_ipv6_parse("fd00:1:0:1::5", b));
	assert_true(phx_ipv6_share(a, b, 63));
	assert_false(phx_ipv6_share(a, b, 64));
	assert_true(phx_ipv6_share(a, a, 128));
	assert_false(phx_ipv6_net_parse("fd00::/129", a, &prefix));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_four_numbers),
		cmocka_unit_test(a_network_has_its_addresses),
		cmocka_unit_test(version_6_is_as_elsewhere),
		cmocka_unit_test(version_6_shares_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
