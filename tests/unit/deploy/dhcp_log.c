/* What dnsmasq 2.90 writes, as rows of starts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "deploy/dhcp_log.h"

#define D "dnsmasq-dhcp[6006]: "
#define T "dnsmasq-tftp[6006]: "

static struct phx_dhcp_log seen;

static int setup(void **state)
{
	(void)state;
	seen = (struct phx_dhcp_log){0};
	return 0;
}

/* "KIND NODE ADDRESS TEXT", "" for a line that says nothing. */
static const char *take(const char *line)
{
	static char text[600];
	struct phx_start_row row;
	char address[PHX_IPV4_MAX];
	if (!phx_dhcp_log_take(&seen, line, &row, address))
		return "";
	assert_true(row.proven);
	snprintf(text, sizeof(text), "%s %s %s %s", phx_enum_name(&phx_start_kind_names, row.kind),
		 row.node, address[0] ? address : "-", row.text);
	return text;
}

#define IS(line, wanted) assert_string_equal(take(line), wanted)

static void firmware_then_ipxe(void **state)
{
	(void)state;
	IS("dnsmasq[6006]: started, version 2.90 DNS disabled", "");
	IS(D "DHCP, sockets bound exclusively to interface v0", "");
	IS(D "406 available DHCP range: 10.99.0.10 -- 10.99.0.12", "");
	IS(D "406 vendor class: PXEClient:Arch:00000:UNDI:002001", "");
	IS(D "406 DHCPDISCOVER(v0) ee:f0:2e:54:69:09 ", "");
	IS(D "406 tags: v0", "pxe_asked ee:f0:2e:54:69:09 - ee:f0:2e:54:69:09");
	IS(D "406 DHCPOFFER(v0) 10.99.0.12 ee:f0:2e:54:69:09 ",
	   "dhcp_offered ee:f0:2e:54:69:09 - 10.99.0.12");
	IS(D "406 sent size:  4 option: 51 lease-time  1h", "");
	IS(D "406 DHCPREQUEST(v0) 10.99.0.12 ee:f0:2e:54:69:09 ", "");
	IS(D "406 tags: v0", "");
	IS(D "406 DHCPACK(v0) 10.99.0.12 EE:F0:2E:54:69:09 n1",
	   "dhcp_acked ee:f0:2e:54:69:09 10.99.0.12 10.99.0.12");
	IS(T "sent /run/phoenix/tftp/undionly.kpxe to 10.99.0.12",
	   "tftp_sent 10.99.0.12 - sent /run/phoenix/tftp/undionly.kpxe to 10.99.0.12");
	IS(D "190 vendor class: PXEClient:Arch:00000:UNDI:002001", "");
	IS(D "190 DHCPDISCOVER(v0) ee:f0:2e:54:69:09 ", "");
	IS(D "190 tags: ipxe, v0", "ipxe_asked ee:f0:2e:54:69:09 - ee:f0:2e:54:69:09");
}

static void a_system_asks_and_renews(void **state)
{
	(void)state;
	IS(D "7 vendor class: udhcp 1.35.0", "");
	IS(D "7 DHCPDISCOVER(v0) ee:f0:2e:54:69:09 ", "");
	IS(D "7 tags: known, v0", "dhcp_asked ee:f0:2e:54:69:09 - ee:f0:2e:54:69:09");
	/* a lease that is prolonged is no news of a start */
	IS(D "8 DHCPREQUEST(v0) 10.99.0.12 ee:f0:2e:54:69:09 ", "");
	IS(D "8 tags: known, v0", "");
	IS(D "8 DHCPACK(v0) 10.99.0.12 ee:f0:2e:54:69:09 n1", "");
}

static void what_goes_wrong(void **state)
{
	(void)state;
	IS(D "9 DHCPDISCOVER(v0) ee:f0:2e:54:69:09 no address available",
	   "dhcp_refused ee:f0:2e:54:69:09 - no address available");
	IS(D "9 DHCPNAK(v0) 192.168.1.7 ee:f0:2e:54:69:09 wrong server-ID",
	   "dhcp_other ee:f0:2e:54:69:09 - 192.168.1.7, wrong server-ID");
	IS(D "9 DHCPNAK(v0) 192.168.1.7 ee:f0:2e:54:69:09 wrong network",
	   "dhcp_refused ee:f0:2e:54:69:09 - 192.168.1.7, wrong network");
	IS(T "failed sending /run/phoenix/tftp/undionly.kpxe to 10.99.0.12",
	   "tftp_failed 10.99.0.12 - failed sending /run/phoenix/tftp/undionly.kpxe to 10.99.0.12");
	IS(T "file /x/nofile not found for 10.99.0.77",
	   "tftp_failed 10.99.0.77 - file /x/nofile not found for 10.99.0.77");
}

/* A name that a machine brings, or a file that it asks for, makes no line of another's. */
static void strangers_forge_no_line(void **state)
{
	(void)state;
	IS("x " D "9 DHCPDISCOVER(v0) ee:f0:2e:54:69:09 no address", "");
	IS(D "9 client provides name: DHCPACK(v0) 10.99.0.12 ee:f0:2e:54:69:09", "");
	IS(D "DHCPACK(v0) 10.99.0.12 ee:f0:2e:54:69:09", "");
	IS(D "9 DHCPACK(v0) 10.99.0 ee:f0:2e:54:69:09", "");
	IS(D "9 DHCPACK(v0) 10.99.0.12 ee:f0:2e:54:69", "");
	IS(D "9 DHCPACK(v0)", "");
	IS(T "sent /x to 10.99.0.12 to nobody", "");
	IS(T "file /x not found for 1.2.3.4 not found for 10.99.0.77",
	   "tftp_failed 10.99.0.77 - file /x not found for 1.2.3.4 not found for 10.99.0.77");
	IS("dnsmasq-dhcp[6006]", "");
	IS("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(firmware_then_ipxe, setup),
		cmocka_unit_test_setup(a_system_asks_and_renews, setup),
		cmocka_unit_test_setup(what_goes_wrong, setup),
		cmocka_unit_test_setup(strangers_forge_no_line, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
