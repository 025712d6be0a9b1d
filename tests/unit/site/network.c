/* Networks of a site: each thing that is wrong with them is said, and what is found in them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "site/site.h"

#define NET(name, subnet, more) \
	"{\"name\": \"" name "\", \"subnet\": \"" subnet "\", \"place\": \"P\"" more "}"
#define RANGE(first, last) ", \"range\": {\"first\": \"" first "\", \"last\": \"" last "\"}"
#define A(more) NET("a", "10.1.0.0/16", more)
#define B(more) NET("b", "10.2.0.0/16", more)

static void parse(const char *list, struct phx_site *ret)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *json = NULL;
	assert_true(asprintf(&json, "{\"networks\": [%s]}", list) > 0);
	if (phx_json_text_to_record(&phx_site_record, json, ret, &err) < 0)
		fail_msg("%s: %s", json, err.text);
}

static void add_line(void *arg, const char *text)
{
	phx_buf_addf(arg, "%s\n", text);
}

static const struct {
	const char *json, *says; /* NULL: nothing is wrong */
} cases[] = {
	{"", NULL},
	{A(", \"gateway\": \"10.1.0.1\", \"vlan\": 7, \"mtu\": 9000, \"boot\": true" RANGE(
		 "10.1.2.0", "10.1.2.255")),
	 NULL},
	{A("") "," B(", \"relay\": true, \"boot\": true"), NULL},
	{NET("a b", "10.1.0.0/16", ""), "'a b' is no name"},
	{NET("a", "10.1.0.0", ""), "must be as"},
	{NET("a", "10.1.0.0/31", ""), "a number from 8 to 30"},
	{NET("a", "10.1.2.3/16", ""), "write 10.1.0.0/16"},
	{A(", \"gateway\": \"10.2.0.1\""), "gateway 10.2.0.1 is no address"},
	{A(", \"gateway\": \"10.1.0.0\""), "gateway 10.1.0.0 is no address"},
	{A(", \"gateway\": \"10.1.255.255\""), "gateway 10.1.255.255 is no address"},
	{A(", \"gateway\": \"x\""), "gateway 'x' is no IPv4"},
	{A(", \"vlan\": 4095"), "vlan 4095"},
	{A(", \"mtu\": 575"), "mtu 575"},
	{A(", \"mtu\": 9217"), "mtu 9217"},
	{A(", \"domain\": \"a b\""), "domain 'a b'"},
	{A(", \"domain\": \"a\\ndhcp-script=x\""), "no name of a domain"},
	{A(", \"dns\": [{\"text\": \"ns1\"}]"), "dns 'ns1' is no IP"},
	{A(", \"dns\": [{\"text\": \"::1\"}, {\"text\": \"::1\"}]"), "dns ::1 is there twice"},
	{A(RANGE("10.1.2.9", "10.1.2.0")), "ends before it begins"},
	{A(RANGE("10.1.2.0", "10.2.2.0")), "range 10.2.2.0 is no address"},
	{A(RANGE("10.0.2.0", "10.1.2.0")), "range 10.0.2.0 is no address"},
	{A(RANGE("10.1.2.0", "")), "range '?'"},
	{A(", \"gateway\": \"10.1.2.9\"" RANGE("10.1.2.0", "10.1.2.9")), "gateway 10.1.2.9 lies"},
	{A(", \"head\": \"10.1.2.0\"" RANGE("10.1.2.0", "10.1.2.9")), "head 10.1.2.0 lies"},
	{A(", \"head\": \"x\""), "head 'x' is no IPv4"},
	{A(", \"head\": \"192.168.0.1\", \"relay\": true"), NULL},
	{A(", \"interface\": \"eth1\""), "interface needs head"},
	{A(", \"interface\": \"eth1\", \"head\": \"10.2.0.1\""), "head 10.2.0.1 is no address"},
	{A(", \"interface\": \"e,1\", \"head\": \"10.1.0.1\""), "no name of a card"},
	{A(", \"interface\": \"eth1\", \"relay\": true, \"head\": \"10.1.0.1\""), "with relay"},
	{A(", \"subnet6\": \"fd00::\""), "subnet6 'fd00::' must be"},
	{A(", \"gateway6\": \"fd00::1\""), "gateway6 needs subnet6"},
	{A(", \"subnet6\": \"fd00::/64\", \"gateway6\": \"x\""), "gateway6 'x'"},
	{A(", \"subnet6\": \"fd00::/64\", \"gateway6\": \"fd01::1\""), "gateway6 fd01::1 lies"},
	{A(", \"subnet6\": \"fd00::/64\", \"gateway6\": \"fe80::1\""), NULL},
	{A("") "," NET("a", "10.2.0.0/16", ""), "network a is there twice: also P"},
	{A("") "," NET("b", "10.1.2.0/24", ""), "10.1.2.0/24 overlaps with network a"},
	{NET("b", "10.1.2.0/24", "") "," A(""), "10.1.0.0/16 overlaps with network b"},
	{A(", \"vlan\": 5") "," B(", \"vlan\": 5"), "has the VLAN 5 of network a (P)"},
	{A(", \"subnet6\": \"fd00::/48\"") "," B(", \"subnet6\": \"fd00:0:0:7::/64\""),
	 "fd00:0:0:7::/64 overlaps"},
};

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
		struct phx_site s;
		parse(cases[i].json, &s);
		int n = phx_site_check(&s, add_line, &said);
		bool right = cases[i].says ? n == 1 && strstr(said.data, cases[i].says) : n == 0;
		if (!right)
			fail_msg("%s: %d: %s", cases[i].json, n, said.n ? said.data : "");
		phx_record_fini(&phx_site_record, &s);
	}
}

static void all_of_it_is_said(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	struct phx_site s;
	(void)state;
	parse(A(", \"gateway\": \"10.9.0.1\", \"mtu\": 3, \"vlan\": 8") "," NET(
		      "a", "10.1.0.0/24", ", \"vlan\": 8, \"head\": \"z\""),
	      &s);
	assert_int_equal(phx_site_check(&s, add_line, &said), 6);
	phx_record_fini(&phx_site_record, &s);
}

static void an_address_is_of_one_network(void **state)
{
	struct phx_site s;
	struct phx_err err = {0};
	(void)state;
	parse(A(", \"gateway\": \"10.1.0.1\"") "," B(", \"head\": \"10.2.0.2\""), &s);
	const struct phx_site_network *a = phx_site_network_find(&s.networks, "a"),
				      *b = phx_site_network_find(&s.networks, "b");
	assert_non_null(a);
	assert_null(phx_site_network_find(&s.networks, "c"));
	assert_ptr_equal(phx_site_network_of(&s.networks, "10.2.255.1"), b);
	assert_null(phx_site_network_of(&s.networks, "10.3.0.1"));
	assert_null(phx_site_network_of(&s.networks, "a"));
	assert_int_equal(phx_site_network_takes(a, "10.1.7.7", &err), 0);
	assert_int_equal(phx_site_network_takes(a, "10.1", &err), -EINVAL);
	assert_int_equal(phx_site_network_takes(a, "10.1.0.0", &err), -ERANGE);
	assert_int_equal(phx_site_network_takes(a, "10.2.0.7", &err), -ERANGE);
	phx_err_clear(&err);
	assert_int_equal(phx_site_network_takes(a, "10.1.0.1", &err), -EADDRINUSE);
	assert_string_equal(err.text, "10.1.0.1 is the address of the gateway of network a");
	assert_int_equal(phx_site_network_takes(b, "10.2.0.2", &err), -EADDRINUSE);
	phx_record_fini(&phx_site_record, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(all_of_it_is_said),
		cmocka_unit_test(an_address_is_of_one_network),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
