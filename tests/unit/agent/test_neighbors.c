/* What switches say of themselves, on cards of a network namespace of the test's own: what counts
 * is the card on which it came, and nothing that anybody sends stops the hearing. Frames themselves
 * are tests/unit/inventory/lldp.c's. */
#include "unit/agent/scratch.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>

#include "agent/neighbors.h"
#include "base/spawn.h"

/* cards, and the ports of a switch that they are plugged into */
#define CARD0 "c0"
#define PORT0 "s0"
#define CARD1 "c1"
#define PORT1 "s1"

static void run(const char *const *argv)
{
	struct phx_err err = {0};
	if (phx_run_check(&(struct phx_run){.argv = argv}, NULL, &err) < 0)
		fail_msg("%s", err.text);
}
#define IP(...) run((const char *const[]){"ip", __VA_ARGS__, NULL})

static void plug(const char *card, const char *port)
{
	IP("link", "add", "name", card, "type", "veth", "peer", "name", port);
	IP("link", "set", card, "up");
	IP("link", "set", port, "up");
}

struct node {
	struct loop *loop;
	struct neighbors *n;
};

static int setup(void **state)
{
	struct node *n = calloc(1, sizeof(*n));
	plug(CARD0, PORT0);
	plug(CARD1, PORT1);
	n->loop = loop_started();
	assert_int_equal(neighbors_new(n->loop, &n->n), 0);
	*state = n;
	return 0;
}

static int teardown(void **state)
{
	struct node *n = *state;
	neighbors_free(n->n);
	loop_free(n->loop);
	free(n);
	IP("link", "del", CARD0);
	IP("link", "del", CARD1);
	return 0;
}

/* ---- frames ---- */

#define CHASSIS "\x02\x07\x04\x02\x00\x00\x00\x00\x01"
#define TTL "\x06\x02\x00\x78"
#define END "\x00\x00"
/* port N of a switch whose name is "tor-N" */
#define FRAME(n) CHASSIS "\x04\x02\x07" n TTL "\x0a\x05tor-" n END
#define GOODBYE(n) CHASSIS "\x04\x02\x07" n "\x06\x02\x00\x00" END

static void send_bytes(const char *port, const void *data, size_t size)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_LLDP),
				 .sll_ifindex = (int)if_nametoindex(port),
				 .sll_halen = ETH_ALEN,
				 .sll_addr = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}};
	PHX_AUTO_CLOSE int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(sendto(fd, data, size, 0, (struct sockaddr *)&to, sizeof(to)),
			 (ssize_t)size);
}
#define SEND(port, frame) send_bytes(port, frame, sizeof(frame) - 1)

/* What is known of the card: "SYSTEM PORT". */
static const char *known(struct node *n, const char *card)
{
	static char text[160];
	PHX_AUTO(phx_list_fini) struct phx_list nics = {0};
	struct phx_nic_facts *nic = phx_list_push(&nics, sizeof(*nic));
	PHX_STR_SET(nic->dev, card);
	LOOP_HELD(n->loop);
	neighbors_add(n->n, &nics);
	snprintf(text, sizeof(text), "%s %s", nic->neighbor, nic->neighbor_port);
	return text;
}

static void listen_to_both(struct node *n)
{
	assert_string_equal(known(n, CARD0), " ");
	assert_string_equal(known(n, CARD1), " ");
}

#define WAIT_KNOWN(n, card, want) WAIT_FOR(!strcmp(known(n, card), want))

/* ---- tests ---- */

static void test_each_card_has_its_own_neighbor(void **state)
{
	struct node *n = *state;
	listen_to_both(n);
	SEND(PORT0, FRAME("1"));
	WAIT_KNOWN(n, CARD0, "tor-1 1");
	assert_string_equal(known(n, CARD1), " ");
	SEND(PORT1, FRAME("2"));
	WAIT_KNOWN(n, CARD1, "tor-2 2");
	assert_string_equal(known(n, CARD0), "tor-1 1");
	SEND(PORT0, FRAME("3")); /* the cable is in another port now */
	WAIT_KNOWN(n, CARD0, "tor-3 3");
}

static void test_a_switch_that_goes_away_is_forgotten(void **state)
{
	struct node *n = *state;
	listen_to_both(n);
	SEND(PORT0, FRAME("1"));
	WAIT_KNOWN(n, CARD0, "tor-1 1");
	SEND(PORT0, GOODBYE("1"));
	WAIT_KNOWN(n, CARD0, " ");
}

/* Anybody on the wire can send anything. */
static void test_what_is_no_frame_changes_nothing(void **state)
{
	static const char whole[] = FRAME("9");
	struct node *n = *state;
	char large[1500];
	listen_to_both(n);
	SEND(PORT0, FRAME("1"));
	WAIT_KNOWN(n, CARD0, "tor-1 1");
	for (size_t size = 1; size < 9; size += 3) /* without its port */
		send_bytes(PORT0, whole, size);
	SEND(PORT0,
	     CHASSIS "\x04\xff"
		     "9" TTL END); /* longer than the frame */
	SEND(PORT0,
	     "\x03\xff\x04"
	     "abc" END);                             /* 511 bytes, it says */
	SEND(PORT0, "\x02\x00\x04\x00\x06\x00" END); /* of nobody */
	memset(large, 0xff, sizeof(large));
	send_bytes(PORT0, large, sizeof(large));
	SEND(PORT1, FRAME("2")); /* comes after all of them */
	WAIT_KNOWN(n, CARD1, "tor-2 2");
	assert_string_equal(known(n, CARD0), "tor-1 1");
}

/* A program of this node, or a bridge, sends through the card. */
static void test_the_node_is_not_its_own_neighbor(void **state)
{
	struct node *n = *state;
	listen_to_both(n);
	SEND(CARD0, FRAME("1"));
	SEND(PORT1, FRAME("2"));
	WAIT_KNOWN(n, CARD1, "tor-2 2");
	assert_string_equal(known(n, CARD0), " ");
}

/* It is read slowly, and what comes last is heard all the same. */
static void test_much_is_heard_to_its_end(void **state)
{
	struct node *n = *state;
	int64_t begun = phx_clock_ms();
	listen_to_both(n);
	for (int i = 0; i < 30; i++)
		SEND(PORT0, FRAME("1"));
	SEND(PORT1, FRAME("2"));
	WAIT_KNOWN(n, CARD1, "tor-2 2");
	assert_true(phx_clock_ms() - begun >= 1000);
	assert_string_equal(known(n, CARD0), "tor-1 1");
}

static void test_a_card_that_comes_later_is_heard(void **state)
{
	struct node *n = *state;
	listen_to_both(n);
	assert_string_equal(known(n, "c2"), " ");
	assert_string_equal(known(n, "a-name-that-no-card-can-have"), " ");
	plug("c2", "s2");
	assert_string_equal(known(n, "c2"), " ");
	SEND("s2", FRAME("1"));
	WAIT_KNOWN(n, "c2", "tor-1 1");
	IP("link", "del", "c2");
	plug("c2", "s2"); /* another one by this name */
	known(n, "c2");
	SEND("s2", FRAME("2"));
	WAIT_KNOWN(n, "c2", "tor-2 2");
	IP("link", "del", "c2");
}

/* The socket has an error then, once. */
static void test_a_card_that_was_down_is_heard_again(void **state)
{
	struct node *n = *state;
	listen_to_both(n);
	IP("link", "set", CARD0, "down");
	IP("link", "set", CARD0, "up");
	SEND(PORT0, FRAME("1"));
	WAIT_KNOWN(n, CARD0, "tor-1 1");
}

int main(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNET) < 0) {
		puts("skip neighbors: needs root and a network namespace");
		return 0;
	}
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_each_card_has_its_own_neighbor),
		TEST(test_a_switch_that_goes_away_is_forgotten),
		TEST(test_what_is_no_frame_changes_nothing),
		TEST(test_the_node_is_not_its_own_neighbor),
		TEST(test_much_is_heard_to_its_end),
		TEST(test_a_card_that_comes_later_is_heard),
		TEST(test_a_card_that_was_down_is_heard_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
