/* Virtual addresses on a real network card, in a network of the test's own: one end of a cable is
 * the director's, at the other the test is the rest of the network. */
#include "unit/agent/scratch.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <sched.h>
#include <sys/socket.h>

#include "base/spawn.h"
#include "agent/vip.h"

#define VIP "10.9.0.250"
#define OTHER_VIP "10.9.0.251"
#define CARD "v0"
#define REST "v1"
/* above and below each card's: those are given here */
#define MAC "02:00:00:00:00:50"
static const uint8_t high_mac[ETH_ALEN] = {2, 0, 0, 0, 0, 0x60};

/* without others: all addresses are this director's */
static const struct phx_web_share alone;

struct stand {
	struct loop *loop;
	struct vips *vips;
	int wire; /* a socket at the other end */
	bool heard;
};

static void ip(const char *const *argv)
{
	struct phx_err err = {0};
	phx_run_check(&(struct phx_run){.argv = argv}, NULL, &err);
	assert_string_equal(err.text, "");
}
#define IP(...) ip((const char *const[]){"ip", __VA_ARGS__, NULL})

static int open_wire(void)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETHERTYPE_ARP)};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	at.sll_ifindex = (int)if_nametoindex(REST);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static int setup(void **state)
{
	struct stand *t = calloc(1, sizeof(*t));
	IP("link", "add", CARD, "address", MAC, "type", "veth", "peer", "name", REST);
	IP("addr", "add", "10.9.0.1/24", "dev", CARD);
	IP("link", "set", CARD, "up");
	/* what the kernel would answer there is this machine's own */
	IP("link", "set", REST, "arp", "off", "up");
	t->wire = open_wire();
	t->loop = loop_started();
	assert_int_equal(vip_new(t->loop, &t->vips), 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct stand *t = *state;
	vip_free(t->vips);
	loop_free(t->loop);
	close(t->wire);
	if (if_nametoindex(CARD))
		IP("link", "del", CARD);
	free(t);
	return 0;
}

/* How often the card has the address. */
static int n_on_card(const char *address)
{
	struct ifaddrs *all;
	int n = 0;
	char text[16];
	assert_int_equal(getifaddrs(&all), 0);
	for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
		const struct sockaddr_in *in = (const void *)a->ifa_addr;
		if (!in || in->sin_family != AF_INET || !phx_str_eq(a->ifa_name, CARD))
			continue;
		inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
		n += phx_str_eq(text, address);
	}
	freeifaddrs(all);
	return n;
}

/* ---- the network ---- */

/* Was it said on the wire since unheard() that the address is at our card? */
static bool heard(struct stand *t, const char *address)
{
	struct ether_arp arp;
	struct sockaddr_ll from;
	in_addr_t bytes = inet_addr(address);
	for (;;) {
		socklen_t n = sizeof(from);
		if (recvfrom(t->wire, &arp, sizeof(arp), 0, (struct sockaddr *)&from, &n) < 0)
			return t->heard;
		if (from.sll_pkttype != PACKET_OUTGOING && arp.arp_sha[5] == 0x50 &&
		    !memcmp(arp.arp_spa, &bytes, sizeof(bytes)))
			t->heard = true;
	}
}

static void unheard(struct stand *t)
{
	heard(t, VIP);
	t->heard = false;
}

/* Another machine says that it has the address. */
static bool claim(const struct stand *t, const char *address)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETHERTYPE_ARP),
				 .sll_halen = ETH_ALEN,
				 .sll_ifindex = (int)if_nametoindex(REST)};
	struct ether_arp arp = {.arp_hln = ETH_ALEN, .arp_pln = 4};
	in_addr_t bytes = inet_addr(address);
	memset(to.sll_addr, 0xff, ETH_ALEN);
	arp.arp_hrd = htons(ARPHRD_ETHER);
	arp.arp_pro = htons(ETHERTYPE_IP);
	arp.arp_op = htons(ARPOP_REPLY);
	memcpy(arp.arp_sha, high_mac, ETH_ALEN);
	memcpy(arp.arp_spa, &bytes, 4);
	memcpy(arp.arp_tpa, &bytes, 4);
	return sendto(t->wire, &arp, sizeof(arp), 0, (struct sockaddr *)&to, sizeof(to)) ==
		sizeof(arp);
}

/* ---- taking ---- */

static void test_take(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	assert_int_equal(n_on_card(VIP), 1);
	WAIT_FOR(heard(t, VIP));
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	assert_int_equal(vip_take(t->vips, OTHER_VIP, &err), 0);
	assert_int_equal(n_on_card(VIP), 1);
	assert_int_equal(n_on_card(OTHER_VIP), 1);
	assert_false(vip_given_up(t->vips));
}

/* An agent that ended leaves its addresses, so that connections stay; the next one has them. */
static void test_an_agent_after_another(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	struct phx_web_table none = {0};
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	vip_free(t->vips);
	assert_int_equal(n_on_card(VIP), 1);
	assert_int_equal(vip_new(t->loop, &t->vips), 0);
	unheard(t);
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	assert_int_equal(n_on_card(VIP), 1);
	WAIT_FOR(heard(t, VIP));
	assert_int_equal(vip_keep_only(t->vips, &none, &alone, &err), 0);
	assert_int_equal(n_on_card(VIP), 0);
}

/* No address goes where nobody would find it: not onto a card of another network, nor the loopback,
 * and an address of one machine is no network. */
static void test_refused(void **state)
{
	static const struct {
		const char *address;
		int error;
	} rows[] = {{"10.8.0.250", -ENODEV}, {"127.0.0.9", -ENODEV}, {"192.0.2.7", -ENODEV},
		    {"10.9.0", -EINVAL},     {"", -EINVAL},          {"10.9.0.0250", -EINVAL}};
	struct stand *t = *state;
	IP("link", "set", "lo", "up");
	IP("addr", "add", "192.0.2.7/32", "dev", CARD);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		struct phx_err err = {0};
		assert_int_equal(vip_take(t->vips, rows[i].address, &err), rows[i].error);
		assert_true(err.text[0]);
	}
	/* and none of these counts as held */
	struct phx_err err = {0};
	IP("addr", "add", "10.8.0.1/24", "dev", CARD);
	assert_int_equal(vip_take(t->vips, "10.8.0.250", &err), 0);
	assert_int_equal(n_on_card("10.8.0.250"), 1);
}

/* ---- giving back ---- */

static void test_keep_only(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	struct phx_web_table keep = {0};
	IP("addr", "add", "10.9.0.240/32", "dev", CARD); /* not of ours */
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	assert_int_equal(vip_take(t->vips, OTHER_VIP, &err), 0);
	assert_non_null(phx_web_table_service(&keep, OTHER_VIP, 80, "wlc"));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vip_keep_only(t->vips, &keep, &alone, &err), 0);
		assert_int_equal(n_on_card(VIP), 0);
		assert_int_equal(n_on_card(OTHER_VIP), 1);
		assert_int_equal(n_on_card("10.9.0.240"), 1);
	}
	phx_web_table_fini(&keep);
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	assert_int_equal(n_on_card(VIP), 1);
}

/* Of the addresses of one table those of its share are kept, and no others. */
static void test_keep_share(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	struct phx_web_table keep = {0};
	struct phx_web_share share = {.on = true};
	struct phx_web_held *h = phx_list_push(&share.held, sizeof(*h));
	PHX_STR_SET(h->address, OTHER_VIP);
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	assert_int_equal(vip_take(t->vips, OTHER_VIP, &err), 0);
	assert_non_null(phx_web_table_service(&keep, VIP, 80, "wlc"));
	assert_non_null(phx_web_table_service(&keep, OTHER_VIP, 80, "wlc"));
	assert_int_equal(vip_keep_only(t->vips, &keep, &share, &err), 0);
	assert_int_equal(n_on_card(VIP), 0);
	assert_int_equal(n_on_card(OTHER_VIP), 1);
	phx_list_fini(&share.held);
	phx_web_table_fini(&keep);
}

/* An agent of before put it there, and this one does not know of it. */
static void test_leave(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	IP("addr", "add", VIP "/32", "dev", CARD);
	assert_int_equal(vip_take(t->vips, OTHER_VIP, &err), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vip_leave(t->vips, VIP, &err), 0);
		assert_int_equal(n_on_card(VIP), 0);
		assert_int_equal(n_on_card(OTHER_VIP), 1);
	}
	assert_int_equal(vip_leave(t->vips, OTHER_VIP, &err), 0);
	assert_int_equal(n_on_card(OTHER_VIP), 0);
	/* forgotten, too: it is taken anew */
	assert_int_equal(vip_take(t->vips, OTHER_VIP, &err), 0);
	assert_int_equal(n_on_card(OTHER_VIP), 1);
	assert_int_equal(vip_leave(t->vips, "192.0.2.1", &err), 0); /* of no network here */
	assert_int_equal(vip_card(VIP, (char[16]){0}, &err), 0);
	assert_int_equal(vip_card("192.0.2.1", (char[16]){0}, &err), -ENODEV);
}

/* Somebody took it off by hand: that is what was wanted. */
static void test_gone_already(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	struct phx_web_table none = {0};
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	IP("addr", "del", VIP "/32", "dev", CARD);
	assert_int_equal(vip_keep_only(t->vips, &none, &alone, &err), 0);
	/* the card itself: its addresses went with it, and the table must get on */
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	IP("link", "del", CARD);
	assert_int_equal(vip_keep_only(t->vips, &none, &alone, &err), 0);
	assert_int_equal(vip_take(t->vips, VIP, &err), -ENODEV);
}

/* ---- two machines with one address ---- */

/* While the head is heard it says who has the address: another machine is told so, and no more. */
static void test_kept_while_the_head_is_heard(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	vip_heard(t->vips, 600000);
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	unheard(t);
	WAIT_FOR(claim(t, VIP) && heard(t, VIP));
	assert_int_equal(n_on_card(VIP), 1);
	assert_false(vip_given_up(t->vips));
}

/* Without the head the other one is right: the head has appointed it meanwhile. */
static void test_given_up_without_the_head(void **state)
{
	struct stand *t = *state;
	struct phx_err err = {0};
	char note[160];
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	assert_int_equal(vip_take(t->vips, OTHER_VIP, &err), 0);
	vip_heard(t->vips, 1);
	WAIT_FOR(claim(t, VIP) && vip_given_up(t->vips));
	assert_int_equal(n_on_card(VIP), 0);
	assert_int_equal(n_on_card(OTHER_VIP), 1);
	vip_note(t->vips, note);
	assert_string_equal(note, VIP " was given up to 02:00:00:00:00:60: the head was not heard");
	/* told too early, or another text: it stays */
	vip_told(t->vips, note);
	vip_settled(t->vips);
	assert_false(vip_given_up(t->vips));
	vip_told(t->vips, "another");
	vip_note(t->vips, note);
	assert_true(note[0]);
	vip_told(t->vips, note);
	vip_note(t->vips, note);
	assert_string_equal(note, "");
	/* the head is back and wants it here: it is taken anew */
	vip_heard(t->vips, 600000);
	assert_int_equal(vip_take(t->vips, VIP, &err), 0);
	assert_int_equal(n_on_card(VIP), 1);
}

int main(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNET) < 0) {
		puts("skip vip: needs root and a network namespace");
		return 0;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_take),
		TEST(test_an_agent_after_another),
		TEST(test_refused),
		TEST(test_keep_only),
		TEST(test_keep_share),
		TEST(test_leave),
		TEST(test_gone_already),
		TEST(test_kept_while_the_head_is_heard),
		TEST(test_given_up_without_the_head),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
