/* The bytes that go to the kernel's balancer and come from it, worked out by hand from
 * <linux/ip_vs.h>; host addresses in a network namespace of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <sched.h>
#include <string.h>

#include "ipvs/internal.h"

/* after the 16 bytes of the netlink header, which carry a port and a number of the moment */
static void check_bytes(struct nl_msg *m, const char *want, size_t n)
{
	const struct nlmsghdr *h = nlmsg_hdr(m);
	assert_int_equal(h->nlmsg_len, 16 + n);
	assert_int_equal(h->nlmsg_type, 31);
	assert_memory_equal((const char *)h + 16, want, n);
	nlmsg_free(m);
}
#define CHECK_BYTES(m, want) check_bytes(m, want, sizeof(want) - 1)

/* length 48, type SERVICE nested; AF, PROTOCOL (TCP), ADDR, PORT */
#define ZERO12 "\0\0\0\0\0\0\0\0\0\0\0\0"
#define KEY_BODY \
	"\x06\0\x01\0\x02\0\0\0" \
	"\x06\0\x02\0\x06\0\0\0" \
	"\x14\0\x03\0\x0a\x4d\0\xfa" ZERO12 "\x06\0\x04\0\0\x50\0\0"
#define KEY "\x30\0\x01\x80" KEY_BODY
/* the same with scheduler "wlc", flags 0 of all, no timeout, netmask of one host: 92 bytes */
#define WHOLE \
	"\x54\0\x01\x80" KEY_BODY "\x08\0\x06\0wlc\0" \
	"\x0c\0\x07\0\0\0\0\0\xff\xff\xff\xff" \
	"\x08\0\x08\0\0\0\0\0" \
	"\x08\0\x09\0\xff\xff\xff\xff"
/* ADDR 10.77.0.13, PORT 80, ADDR_FAMILY */
#define SERVER_KEY \
	"\x14\0\x01\0\x0a\x4d\0\x0d" ZERO12 "\x06\0\x02\0\0\x50\0\0" \
	"\x06\0\x0b\0\x02\0\0\0"

static struct phx_web_change change(enum phx_web_change_kind kind)
{
	struct phx_web_change c = {.kind = (int)kind, .port = 80, .server = {.weight = 3}};
	PHX_STR_SET(c.address, "10.77.0.250");
	PHX_STR_SET(c.scheduler, "wlc");
	PHX_STR_SET(c.server.address, "10.77.0.13");
	return c;
}

static struct nl_msg *build(enum phx_web_change_kind kind)
{
	struct phx_web_change c = change(kind);
	struct nl_msg *m = NULL;
	assert_int_equal(ipvs_build_change(31, &c, &m), 0);
	return m;
}

static void services_are_put_and_removed(void **state)
{
	(void)state;
	CHECK_BYTES(build(PHX_WEB_SERVICE_ADD), "\x01\x01\0\0" WHOLE);
	CHECK_BYTES(build(PHX_WEB_SERVICE_EDIT), "\x02\x01\0\0" WHOLE);
	CHECK_BYTES(build(PHX_WEB_SERVICE_REMOVE), "\x03\x01\0\0" KEY);
}

static void servers_are_put_and_removed(void **state)
{
	/* FWD_METHOD direct routing, WEIGHT 3, no thresholds */
	static const char rest[] = "\x08\0\x03\0\x03\0\0\0\x08\0\x04\0\x03\0\0\0\x08\0\x05\0\0\0\0"
				   "\0\x08\0\x06\0\0\0\0\0";
	char want[256];
	size_t n = sizeof("\x05\x01\0\0" KEY "\x48\0\x02\x80" SERVER_KEY) - 1;
	(void)state;
	memcpy(want, "\x05\x01\0\0" KEY "\x48\0\x02\x80" SERVER_KEY, n);
	memcpy(want + n, rest, sizeof(rest) - 1);
	check_bytes(build(PHX_WEB_SERVER_ADD), want, n + sizeof(rest) - 1);
	want[0] = 6;
	check_bytes(build(PHX_WEB_SERVER_EDIT), want, n + sizeof(rest) - 1);
	CHECK_BYTES(build(PHX_WEB_SERVER_REMOVE), "\x07\x01\0\0" KEY "\x28\0\x02\x80" SERVER_KEY);
}

static void tables_are_asked_for(void **state)
{
	struct phx_web_service s = {.port = 80};
	struct nl_msg *m;
	(void)state;
	PHX_STR_SET(s.address, "10.77.0.250");
	assert_int_equal(ipvs_build_list(31, NULL, &m), 0);
	assert_int_equal(nlmsg_hdr(m)->nlmsg_flags & 0x300, 0x300);
	CHECK_BYTES(m, "\x04\x01\0\0");
	assert_int_equal(ipvs_build_list(31, &s, &m), 0);
	CHECK_BYTES(m, "\x08\x01\0\0" KEY);
}

/* STATE, MCAST_IFN "eth0", SYNC_ID 7 */
#define DAEMON_BODY(state) \
	"\x20\0\x03\x80" \
	"\x08\0\x01\0" state "\0\0\0" \
	"\x09\0\x02\0" \
	"eth0\0\0\0\0" \
	"\x08\0\x03\0\x07\0\0\0"

static void connections_are_told_and_heard(void **state)
{
	struct ipvs_daemon d = {.state = 1, .sync_id = 7, .interface = "eth0"};
	struct nl_msg *m;
	(void)state;
	assert_int_equal(ipvs_build_daemon(31, &d, true, &m), 0);
	assert_int_equal(nlmsg_hdr(m)->nlmsg_flags & NLM_F_ACK, NLM_F_ACK);
	CHECK_BYTES(m, "\x09\x01\0\0" DAEMON_BODY("\x01"));
	d.state = 2;
	assert_int_equal(ipvs_build_daemon(31, &d, false, &m), 0);
	CHECK_BYTES(m, "\x0a\x01\0\0" DAEMON_BODY("\x02"));
	assert_int_equal(ipvs_build_daemons(31, &m), 0);
	assert_int_equal(nlmsg_hdr(m)->nlmsg_flags & 0x300, 0x300);
	CHECK_BYTES(m, "\x0b\x01\0\0");
}

static void a_bad_address_builds_nothing(void **state)
{
	struct phx_web_change c = change(PHX_WEB_SERVER_ADD);
	struct nl_msg *m = NULL;
	(void)state;
	PHX_STR_SET(c.server.address, "10.77.0.300");
	assert_int_equal(ipvs_build_change(31, &c, &m), -EINVAL);
	assert_null(m);
}

/* ---- answers ---- */

static struct nlmsghdr *answer(char buf[512], const char *body, size_t n)
{
	struct nlmsghdr *h = (struct nlmsghdr *)buf;
	memset(buf, 0, 512);
	*h = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)(16 + n), .nlmsg_type = 31, .nlmsg_flags = NLM_F_MULTI};
	memcpy(buf + 16, body, n);
	return h;
}
#define ANSWER(body) answer(buf, body, sizeof(body) - 1)

static void what_is_told_and_heard_is_read(void **state)
{
	char buf[512];
	struct ipvs_daemon d = {.state = 9};
	(void)state;
	assert_int_equal(ipvs_parse_daemon(ANSWER("\x09\x01\0\0" DAEMON_BODY("\x02")), &d), 0);
	assert_int_equal(d.state, 2);
	assert_int_equal(d.sync_id, 7);
	assert_string_equal(d.interface, "eth0");
	/* without its number; empty; nothing of it */
	d.state = 9;
	assert_int_equal(ipvs_parse_daemon(ANSWER("\x09\x01\0\0\x18\0\x03\x80\x08\0\x01\0\x02\0"
						  "\0\0\x09\0\x02\0"
						  "eth0\0\0\0\0"),
					   &d),
			 -EBADMSG);
	assert_int_equal(ipvs_parse_daemon(ANSWER("\x09\x01\0\0\x04\0\x03\x80"), &d), -EBADMSG);
	assert_int_equal(ipvs_parse_daemon(ANSWER("\x09\x01\0\0"), &d), -EBADMSG);
	assert_int_equal(d.state, 9);
}

static void services_are_read(void **state)
{
	char buf[512] __attribute__((aligned(8)));
	struct phx_web_service s = {.port = 1};
	(void)state;
	/* as above, then a nest of statistics, which nobody reads */
	assert_int_equal(
		ipvs_parse_service(ANSWER("\x01\x01\0\0\x60\0\x01\x80" KEY_BODY "\x08\0\x06\0wlc\0"
					  "\x0c\0\x07\0\x02\0\0\0\xff\xff\xff\xff"
					  "\x08\0\x08\0\0\0\0\0\x08\0\x09\0\xff\xff\xff\xff"
					  "\x0c\0\x0a\0\x08\0\x01\0\x05\0\0\0"),
				   &s),
		1);
	assert_string_equal(s.address, "10.77.0.250");
	assert_string_equal(s.scheduler, "wlc");
	assert_int_equal(s.port, 80);
}

static void servers_are_read(void **state)
{
	char buf[512] __attribute__((aligned(8)));
	struct phx_web_server s = {0};
	(void)state;
	/* weight 0, 5 active, 300 inactive connections */
	assert_int_equal(ipvs_parse_server(ANSWER("\x05\x01\0\0\x48\0\x02\x80" SERVER_KEY
						  "\x08\0\x03\0\x03\0\0\0\x08\0\x04\0\0\0\0\0"
						  "\x08\0\x07\0\x05\0\0\0\x08\0\x08\0\x2c\x01\0\0"),
					   &s),
			 1);
	assert_string_equal(s.address, "10.77.0.13");
	assert_int_equal(s.weight, 0);
	assert_int_equal(s.active, 5);
	assert_int_equal(s.inactive, 300);
	/* masquerading: no weight that anybody wants */
	assert_int_equal(ipvs_parse_server(ANSWER("\x05\x01\0\0\x38\0\x02\x80" SERVER_KEY
						  "\x08\0\x03\0\0\0\0\0\x08\0\x04\0\x01\0\0\0"),
					   &s),
			 1);
	assert_true(s.weight == UINT32_MAX);
}

static void others_are_passed_over(void **state)
{
	char buf[512] __attribute__((aligned(8)));
	struct phx_web_service s = {.port = 1};
	struct phx_web_server v = {.weight = 1};
	(void)state;
	/* IPv6; a mark, which has no protocol; UDP */
	assert_int_equal(
		ipvs_parse_service(ANSWER("\x01\x01\0\0\x0c\0\x01\x80\x06\0\x01\0\x0a\0\0\0"), &s),
		0);
	assert_int_equal(
		ipvs_parse_service(ANSWER("\x01\x01\0\0\x14\0\x01\x80\x06\0\x01\0\x02\0\0\0"
					  "\x08\0\x05\0\x01\0\0\0"),
				   &s),
		0);
	assert_int_equal(
		ipvs_parse_service(ANSWER("\x01\x01\0\0\x14\0\x01\x80\x06\0\x01\0\x02\0\0\0"
					  "\x06\0\x02\0\x11\0\0\0"),
				   &s),
		0);
	assert_int_equal(
		ipvs_parse_server(ANSWER("\x05\x01\0\0\x0c\0\x02\x80\x06\0\x0b\0\x0a\0\0\0"), &v),
		0);
	assert_int_equal(s.port, 1);
	assert_int_equal(v.weight, 1);
}

static void broken_answers_are_refused(void **state)
{
	char buf[512] __attribute__((aligned(8)));
	struct phx_web_service s = {.port = 1};
	struct phx_web_server v = {.weight = 1};
	(void)state;
	assert_int_equal(ipvs_parse_service(ANSWER("\x01\x01\0\0"), &s), -EBADMSG);
	/* without a scheduler */
	assert_int_equal(ipvs_parse_service(ANSWER("\x01\x01\0\0" KEY), &s), -EBADMSG);
	/* an address of two bytes */
	assert_int_equal(
		ipvs_parse_service(ANSWER("\x01\x01\0\0\x1c\0\x01\x80\x06\0\x01\0\x02\0\0\0"
					  "\x06\0\x02\0\x06\0\0\0\x06\0\x03\0\x0a\x4d\0\0"),
				   &s),
		-EBADMSG);
	assert_int_equal(ipvs_parse_server(ANSWER("\x05\x01\0\0\x28\0\x02\x80" SERVER_KEY), &v),
			 -EBADMSG);
	assert_int_equal(ipvs_parse_server(ANSWER("\x05\x01\0\0" KEY), &v), -EBADMSG);
	assert_int_equal(s.port, 1);
	assert_int_equal(v.weight, 1);
}

/* ---- the kernel ---- */

static bool lo_has(const char *address)
{
	struct ifaddrs *all, *a;
	bool found = false;
	char text[16];
	assert_int_equal(getifaddrs(&all), 0);
	for (a = all; a; a = a->ifa_next) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)a->ifa_addr;
		if (!in || in->sin_family != AF_INET)
			continue;
		found = found ||
			!strcmp(inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)), address);
	}
	freeifaddrs(all);
	return found;
}

static void host_addresses_come_and_go(void **state)
{
	struct phx_err err = {0};
	(void)state;
	if (unshare(CLONE_NEWNET) < 0)
		skip();
	for (int i = 0; i < 2; i++)
		assert_int_equal(phx_ipvs_address_add("lo", "10.77.0.250", &err), 0);
	assert_true(lo_has("10.77.0.250"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(phx_ipvs_address_remove("lo", "10.77.0.250", &err), 0);
	assert_false(lo_has("10.77.0.250"));
	assert_int_equal(phx_ipvs_address_add("lo", "10.77.0", &err), -EINVAL);
	phx_err_clear(&err);
	assert_int_equal(phx_ipvs_address_add("none0", "10.77.0.250", &err), -ENODEV);
	assert_string_equal(err.text, "there is no network interface 'none0'");
	struct phx_ipvs_watch *watch = NULL;
	assert_int_equal(phx_ipvs_watch_open("none0", "10.77.0.250", &watch, NULL), -ENODEV);
	assert_int_equal(phx_ipvs_watch_open("lo", "10.77.0", &watch, NULL), -EINVAL);
	assert_null(watch);
}

/* Where the kernel has it, the real thing; elsewhere a clear word. The lab's test has a kernel that
 * has it. */
static void a_kernel_without_says_so(void **state)
{
	struct phx_web_table t = {0}, want = {0};
	struct phx_ipvs *v = NULL;
	struct phx_err err = {0};
	uint32_t n = 9;
	(void)state;
	int r = phx_ipvs_open(&v, &err);
	if (r < 0) {
		assert_int_equal(r, -EOPNOTSUPP);
		assert_string_equal(err.text, "this kernel has no IPVS: ip_vs is not loaded");
		assert_null(v);
		return;
	}
	struct phx_web_service *s = phx_web_table_service(&want, "10.77.0.250", 80, "wlc");
	assert_int_equal(phx_web_table_put(s, "10.77.0.13", 1), 0);
	assert_int_equal(phx_ipvs_apply(v, &want, &n, &err), 0);
	assert_int_equal(phx_ipvs_read(v, &t, &err), 0);
	assert_true(phx_web_table_id(&t) == phx_web_table_id(&want));
	assert_int_equal(phx_ipvs_apply(v, &want, &n, &err), 0);
	assert_int_equal(n, 0);
	phx_web_table_fini(&t);
	phx_web_table_fini(&want);
	phx_ipvs_close(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(services_are_put_and_removed),
		cmocka_unit_test(servers_are_put_and_removed),
		cmocka_unit_test(tables_are_asked_for),
		cmocka_unit_test(connections_are_told_and_heard),
		cmocka_unit_test(what_is_told_and_heard_is_read),
		cmocka_unit_test(a_bad_address_builds_nothing),
		cmocka_unit_test(services_are_read),
		cmocka_unit_test(servers_are_read),
		cmocka_unit_test(others_are_passed_over),
		cmocka_unit_test(broken_answers_are_refused),
		cmocka_unit_test(host_addresses_come_and_go),
		cmocka_unit_test(a_kernel_without_says_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
