/* Addresses over time: never two holders, known nodes are sure of theirs, leases outlive dnsmasq.
 * Needs root. */
#include "unit/deploy/dhcp_world.h"

#include <sys/time.h>

#define SMALL "dhcp_range = \"10.9.0.100,10.9.0.103\";\ndhcp_ra = false;\n"

/* A stranger's card by number. */
static const char *card(int i, char buf[18])
{
	snprintf(buf, 18, "52:54:00:01:00:%02x", i);
	return buf;
}

static void wait_until_it_answers(struct world *w)
{
	struct reply r = {0};
	for (int i = 0; i < 30 && !r.got; i++) {
		r = discover(w, "52:54:00:02:00:01");
		if (!r.got)
			sleep_ms(100);
	}
	assert_true(r.got);
}

static void test_never_two_holders(void **state)
{
	struct world *w = *state;
	struct {
		char ip[20][16];
	} given = {0};
	char mac[18];
	start_dnsmasq(w, RANGE);
	wait_until_it_answers(w);
	for (int i = 0; i < 20; i++) {
		struct reply r = lease(w, card(i, mac), NULL);
		assert_int_equal(r.type, 5);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(given.ip[k], r.ip);
		strcpy(given.ip[i], r.ip);
	}
	/* who asks again gets his own */
	for (int i = 0; i < 20; i++)
		assert_string_equal(lease(w, card(i, mac), NULL).ip, given.ip[i]);
}

static void test_known_nodes_are_sure_of_theirs(void **state)
{
	struct world *w = *state;
	/* one inside the range that strangers share, one outside */
	const struct phx_dhcp_host hosts[] = {{M1, "10.9.0.101", "n1"}, {M2, "10.9.0.11", "n2"}};
	char mac[18];
	int served = 0;
	sync_hosts(w, hosts, 2);
	start_dnsmasq(w, SMALL);
	wait_until_it_answers(w);
	for (int i = 0; i < 8; i++) {
		struct reply r = lease(w, card(i, mac), NULL);
		assert_true(!r.got || (strcmp(r.ip, "10.9.0.101") && strcmp(r.ip, "10.9.0.11")));
		served += r.type == 5;
	}
	assert_int_equal(served, 3);
	assert_string_equal(lease(w, M1, NULL).ip, "10.9.0.101");
	assert_string_equal(lease(w, M2, NULL).ip, "10.9.0.11");
}

static void test_leases_outlive_dnsmasq(void **state)
{
	struct world *w = *state;
	char mac[18], ip[4][16];
	start_dnsmasq(w, SMALL);
	wait_until_it_answers(w);
	for (int i = 0; i < 4; i++)
		strcpy(ip[i], lease(w, card(i, mac), NULL).ip);
	uint64_t pid = dnsmasq_pid(w);
	kill((pid_t)pid, SIGKILL);
	for (int i = 0; i < 100 && (dnsmasq_pid(w) == pid || !dnsmasq_pid(w)); i++)
		sleep_ms(50);
	/* full: a stranger gets nothing, those before keep theirs */
	for (int i = 0; i < 4; i++) {
		struct reply r = {0};
		for (int k = 0; k < 20 && r.type != 5; k++)
			r = lease(w, card(i, mac), NULL);
		assert_string_equal(r.ip, ip[i]);
	}
	assert_false(discover(w, card(9, mac)).got);
}

/* The head's own address, another's fixed one, one of another network: refused, and nothing is
 * given. */
static void test_what_is_not_ones_own_is_refused(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host host = {M1, "10.9.0.11", "n1"};
	static const char *const wanted[] = {"10.9.0.1", "10.9.0.11", "192.168.7.7", "10.9.0.200"};
	sync_hosts(w, &host, 1);
	start_dnsmasq(w, RANGE);
	wait_until_it_answers(w);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wanted); i++) {
		struct reply r = ask(
			w, (struct ask){.mac = M9, .type = 3, .request = wanted[i], .arch = -1});
		assert_true(r.type != 5);
	}
	assert_string_equal(lease(w, M1, NULL).ip, "10.9.0.11");
}

static void test_two_nodes_change_addresses(void **state)
{
	struct world *w = *state;
	struct phx_dhcp_host hosts[] = {{M1, "10.9.0.11", "n1"}, {M2, "10.9.0.12", "n2"}};
	sync_hosts(w, hosts, 2);
	start_dnsmasq(w, RANGE);
	wait_until_it_answers(w);
	assert_string_equal(lease(w, M1, NULL).ip, "10.9.0.11");
	assert_string_equal(lease(w, M2, NULL).ip, "10.9.0.12");
	strcpy(hosts[0].ip, "10.9.0.13");
	strcpy(hosts[1].ip, "10.9.0.11");
	assert_int_equal(sync_hosts(w, hosts, 2), PHX_DHCP_SIGHUP);
	phx_children_signal(w->children, "dnsmasq", SIGHUP, NULL);
	/* the one who must leave comes first: only then is the other's free */
	assert_string_equal(discover_until(w, M1, "10.9.0.13").ip, "10.9.0.13");
	assert_string_equal(lease(w, M1, NULL).ip, "10.9.0.13");
	assert_string_equal(discover_until(w, M2, "10.9.0.11").ip, "10.9.0.11");
	assert_string_equal(lease(w, M2, NULL).ip, "10.9.0.11");
}

/* What is not DHCP, or only half of it, does not end the server. */
static void test_rubbish(void **state)
{
	struct world *w = *state;
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(67), .sin_addr.s_addr = INADDR_BROADCAST};
	struct packet pk;
	start_dnsmasq(w, RANGE);
	wait_until_it_answers(w);
	uint64_t pid = dnsmasq_pid(w);
	build(&pk, &(struct ask){.mac = M1, .type = 1, .arch = 0}, 7);
	for (size_t n = 1; n < sizeof(pk); n += 7)
		sendto(w->sock, &pk, n, 0, (struct sockaddr *)&to, sizeof(to));
	memset(pk.options, 0xff, sizeof(pk.options));
	sendto(w->sock, &pk, sizeof(pk), 0, (struct sockaddr *)&to, sizeof(to));
	memset(pk.options, 53, sizeof(pk.options));
	sendto(w->sock, &pk, sizeof(pk), 0, (struct sockaddr *)&to, sizeof(to));
	struct reply r = {0};
	for (int i = 0; i < 10 && !r.got; i++)
		r = discover(w, M2);
	assert_true(r.got);
	assert_true(dnsmasq_pid(w) == pid);
}

static void test_many_known_nodes(void **state)
{
	struct world *w = *state;
	enum { N = 600 };
	PHX_AUTO_FREE struct phx_dhcp_host *hosts = calloc(N, sizeof(*hosts));
	for (int i = 0; i < N; i++) {
		snprintf(hosts[i].mac, sizeof(hosts[i].mac), "52:54:00:03:%02x:%02x", i / 200,
			 i % 200);
		snprintf(hosts[i].ip, sizeof(hosts[i].ip), "10.9.%d.%d", 1 + i / 200, 1 + i % 200);
		snprintf(hosts[i].name, sizeof(hosts[i].name), "n%d", i);
	}
	sync_hosts(w, hosts, N - 1);
	start_dnsmasq(w, "prefix = 16;\ndhcp_ra = false;\n");
	for (int i = 0; i < N - 1; i += 37) {
		assert_string_equal(discover_until(w, hosts[i].mac, hosts[i].ip).ip, hosts[i].ip);
		assert_string_equal(lease(w, hosts[i].mac, NULL).hostname, hosts[i].name);
	}
	/* the last comes while it runs, and is there within a second */
	assert_int_equal(sync_hosts(w, hosts, N), PHX_DHCP_LIVE);
	struct timeval begin, end;
	gettimeofday(&begin, NULL);
	assert_string_equal(discover_until(w, hosts[N - 1].mac, hosts[N - 1].ip).ip,
			    hosts[N - 1].ip);
	gettimeofday(&end, NULL);
	assert_true(end.tv_sec - begin.tv_sec <= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_WORLD(test_never_two_holders),
		RUN_WORLD(test_known_nodes_are_sure_of_theirs),
		RUN_WORLD(test_leases_outlive_dnsmasq),
		RUN_WORLD(test_what_is_not_ones_own_is_refused),
		RUN_WORLD(test_two_nodes_change_addresses),
		RUN_WORLD(test_rubbish),
		RUN_WORLD(test_many_known_nodes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
