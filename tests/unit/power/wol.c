/* Wake-on-LAN, received for real: on a pair of virtual NICs and on loopback, in
 * a network namespace that ends with this process. */
#include <sched.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>

#include "unit/power/help.h"

enum { MAGIC_N = 102 };

static void ip(const char *const *argv)
{
	struct phx_err err = {0};
	const struct phx_run run = {.argv = argv, .timeout_ms = 10000};
	if (phx_run_check(&run, NULL, &err) < 0)
		fail_msg("%s", err.text);
}
#define IP(...) ip((const char *const[]){"ip", __VA_ARGS__, NULL})

static int setup(void **state)
{
	(void)state;
	if (geteuid() != 0 || unshare(CLONE_NEWNET) < 0)
		return 0; /* the tests skip themselves */
	IP("link", "set", "lo", "up");
	IP("link", "add", "wol0", "type", "veth", "peer", "name", "wol1");
	IP("link", "set", "wol0", "up");
	IP("link", "set", "wol1", "up");
	IP("addr", "add", "10.99.0.1/24", "dev", "wol0");
	return 0;
}

static void need_namespace(void)
{
	if (!if_nametoindex("wol1"))
		skip();
}

/* A socket that sees what arrives at an interface with this Ethernet type. */
static int open_sniffer(const char *interface, uint16_t type)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(type),
				 .sll_ifindex = (int)if_nametoindex(interface)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(type));
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static int open_udp(uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static size_t receive(int fd, uint8_t *buf, size_t size)
{
	const struct timeval limit = {3, 0};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ssize_t n = recv(fd, buf, size, 0);
	assert_true(n > 0);
	return (size_t)n;
}

static void check_magic(const uint8_t *p, size_t n)
{
	static const uint8_t mac[6] = {0x52, 0x54, 0x00, 0xab, 0xcd, 0xef};
	assert_int_equal(n, MAGIC_N);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(p[i], 0xff);
	for (size_t i = 6; i < MAGIC_N; i += 6)
		assert_memory_equal(p + i, mac, 6);
}

static struct phx_bmc make_bmc(const char *mac, const char *interface, const char *address)
{
	struct phx_bmc bmc = {.driver = "wol"};
	PHX_STR_SET(bmc.mac, mac);
	PHX_STR_SET(bmc.interface, interface);
	PHX_STR_SET(bmc.address, address);
	return bmc;
}

static void test_frame_on_interface(void **state)
{
	(void)state;
	need_namespace();
	uint8_t buf[2048];
	PHX_AUTO_CLOSE int fd = open_sniffer("wol1", 0x0842);
	struct phx_bmc bmc = make_bmc("52-54-00-AB-CD-EF", "wol0", "");
	assert_int_equal(power(&bmc, PHX_POWER_ON, 1000, 0, NULL), PHX_POWER_UNKNOWN);
	for (int i = 0; i < 3; i++) {
		size_t n = receive(fd, buf, sizeof(buf));
		assert_true(n > ETH_HLEN);
		for (size_t k = 0; k < 6; k++)
			assert_int_equal(buf[k], 0xff); /* broadcast */
		check_magic(buf + ETH_HLEN, n - ETH_HLEN);
	}
}

static void test_directed_broadcast(void **state)
{
	(void)state;
	need_namespace();
	uint8_t buf[2048];
	PHX_AUTO_CLOSE int fd = open_sniffer("wol1", ETH_P_IP);
	struct phx_bmc bmc = make_bmc("525400abcdef", "", "10.99.0.255");
	power(&bmc, PHX_POWER_ON, 1000, 0, NULL);
	size_t n = receive(fd, buf, sizeof(buf)), head = ETH_HLEN + 20 + 8;
	assert_int_equal(buf[ETH_HLEN + 9], IPPROTO_UDP);
	assert_int_equal(buf[ETH_HLEN + 20 + 2] << 8 | buf[ETH_HLEN + 20 + 3], 9);
	check_magic(buf + head, n - head);
}

static void test_datagram_on_loopback(void **state)
{
	(void)state;
	need_namespace();
	uint8_t buf[2048];
	PHX_AUTO_CLOSE int fd = open_udp(4009);
	struct phx_bmc bmc = make_bmc("52:54:00:ab:cd:ef", "", "127.255.255.255:4009");
	power(&bmc, PHX_POWER_ON, 1000, 0, NULL);
	check_magic(buf, receive(fd, buf, sizeof(buf)));
}

/* The interface is down, or gone: nothing was sent, and that is said. */
static void test_interface_trouble(void **state)
{
	(void)state;
	need_namespace();
	struct phx_bmc bmc = make_bmc("52:54:00:ab:cd:ef", "nosuch0", "");
	power(&bmc, PHX_POWER_ON, 1000, -EINVAL, "there is no 'nosuch0'");
	IP("link", "set", "wol0", "down");
	PHX_STR_SET(bmc.interface, "wol0");
	power(&bmc, PHX_POWER_ON, 1000, -ENETDOWN, "interface wol0");
	IP("link", "set", "wol0", "up");
}

static void test_only_on(void **state)
{
	(void)state;
	static const enum phx_power_op ops[] = {
		PHX_POWER_OFF,      PHX_POWER_CYCLE,     PHX_POWER_SOFT, PHX_POWER_RESET,
		PHX_POWER_BOOT_PXE, PHX_POWER_BOOT_DISK, PHX_POWER_BOOT};
	struct phx_bmc bmc = make_bmc("52:54:00:ab:cd:ef", "lo", "");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ops); i++)
		power(&bmc, ops[i], 1000, -EOPNOTSUPP, "can only switch on");
	struct phx_err err = {0};
	assert_int_equal(phx_power_can(&bmc, PHX_POWER_SOFT, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, "wake-on-LAN can only switch on");
	assert_int_equal(phx_power_can(&bmc, PHX_POWER_ON, NULL), 0);
	assert_int_equal(power(&bmc, PHX_POWER_STATUS, 1000, 0, NULL), PHX_POWER_UNKNOWN);
}

static void test_bad_record(void **state)
{
	(void)state;
	static const struct {
		const char *mac, *address, *say;
	} rows[] = {
		{"", "", "mac"},
		{"52:54:00:ab:cd", "", "mac: '52:54:00:ab:cd' is no MAC"},
		{"52:54:00:ab:cd:ef", "bmc1", "IPv4 broadcast"},
		{"52:54:00:ab:cd:ef", "10.0.0.255:x", "HOST or HOST:PORT"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_bmc bmc = make_bmc(rows[i].mac, "", rows[i].address);
		power(&bmc, PHX_POWER_ON, 1000, -EINVAL, rows[i].say);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_on_interface),
		cmocka_unit_test(test_directed_broadcast),
		cmocka_unit_test(test_datagram_on_loopback),
		cmocka_unit_test(test_interface_trouble),
		cmocka_unit_test(test_only_on),
		cmocka_unit_test(test_bad_record),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
