/* What a director sees of other machines that have its address (lib/ipvs/arp.c), when several speak
 * between two looks. The socket is a pair that stands for the network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipvs/ipvs.h"

static int network[2]; /* the director's end, and that of all others */

/* ---- in the place of the kernel: it has no filter, and says 52:54:00:00:00:05 of the card ---- */

int socket(int family, int type, int protocol)
{
	assert_int_equal(family, AF_PACKET);
	(void)type, (void)protocol;
	return network[0];
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t n)
{
	(void)level, (void)value, (void)n;
	assert_int_equal(fd, network[0]);
	assert_int_equal(option, SO_ATTACH_FILTER);
	return 0;
}

int bind(int fd, const struct sockaddr *at, socklen_t n)
{
	(void)at, (void)n;
	assert_int_equal(fd, network[0]);
	return 0;
}

unsigned if_nametoindex(const char *name)
{
	assert_string_equal(name, "eth0");
	return 2;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	assert_int_equal(fd, network[0]);
	assert_int_equal(request, SIOCGIFHWADDR);
	va_start(args, request);
	memcpy(va_arg(args, struct ifreq *)->ifr_hwaddr.sa_data, "RT\0\0\0\5", ETH_ALEN);
	va_end(args);
	return 0;
}

/* ---- others ---- */

static struct phx_ipvs_watch *watch;
static struct phx_web_sight seen;
static char other[18];

/* A request of the machine 52:54:00:00:00:LAST, which has the address or asks who has it. */
static void says(uint8_t last, bool has)
{
	struct ether_arp arp = {.arp_pln = 4, .arp_hln = ETH_ALEN};
	const uint8_t mac[ETH_ALEN] = {'R', 'T', 0, 0, 0, last}, address[4] = {10, 1, 0, 9};
	arp.arp_hrd = htons(ARPHRD_ETHER);
	arp.arp_pro = htons(ETHERTYPE_IP);
	arp.arp_op = htons(ARPOP_REQUEST);
	memcpy(arp.arp_sha, mac, sizeof(mac));
	memcpy(arp.arp_tpa, address, sizeof(address));
	if (has)
		memcpy(arp.arp_spa, address, sizeof(address));
	assert_int_equal(send(network[1], &arp, sizeof(arp), 0), sizeof(arp));
}

static void looks(bool holds, bool asks, bool lower)
{
	other[0] = '\0';
	phx_ipvs_watch_read(watch, &seen, other);
	assert_int_equal(seen.holds, holds);
	assert_int_equal(seen.asks, asks);
	assert_int_equal(seen.lower, lower);
}

static int setup(void **state)
{
	(void)state;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, network) < 0)
		return -1;
	return phx_ipvs_watch_open("eth0", "10.1.0.9", &watch, NULL);
}

static int teardown(void **state)
{
	(void)state;
	phx_ipvs_watch_close(watch);
	return close(network[1]);
}

/* Whichever came last: a lower one was there. */
static void of_several_that_ask_any_lower_one_counts(void **state)
{
	(void)state;
	says(1, false);
	says(9, false);
	looks(false, true, true);
	says(9, false);
	says(1, false);
	looks(false, true, true);
	says(9, false);
	says(8, false);
	looks(false, true, false);
	looks(false, false, false); /* each is seen once */
}

static void a_holder_and_one_that_asks_are_both_seen(void **state)
{
	(void)state;
	says(1, true);
	says(9, false);
	looks(true, true, false);
	assert_string_equal(other, "52:54:00:00:00:01");
	says(5, true); /* its own */
	says(5, false);
	looks(false, false, false);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(of_several_that_ask_any_lower_one_counts),
		T(a_holder_and_one_that_asks_are_both_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
