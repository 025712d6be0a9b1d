/* The real dnsmasq, configured by us, between two network namespaces: a client that sends what
 * firmware, iPXE and systems send. Needs root. */
#include "unit/deploy/dhcp_world.h"

static void test_fixed_and_free_addresses(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host host = {M1, "10.9.0.11", "n1"};
	sync_hosts(w, &host, 1);
	start_dnsmasq(w, RANGE);
	struct reply r = discover_until(w, M1, "10.9.0.11");
	assert_string_equal(r.ip, "10.9.0.11");
	assert_int_equal(r.type, 2);
	r = lease(w, M1, NULL);
	assert_int_equal(r.type, 5);
	assert_string_equal(r.ip, "10.9.0.11");
	assert_string_equal(r.hostname, "n1");
	assert_int_equal(r.lease_s, 3600);
	assert_false(r.router);
	assert_false(r.dns);
	r = lease(w, M2, NULL);
	assert_int_equal(r.type, 5);
	assert_true(ntohl(inet_addr(r.ip)) - ntohl(inet_addr("10.9.0.100")) <= 20);
}

static void test_only_known_nodes_without_a_range(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host host = {M1, "10.9.0.11", "n1"};
	sync_hosts(w, &host, 1);
	start_dnsmasq(w, "dhcp_ra = false;\n");
	assert_string_equal(discover_until(w, M1, "10.9.0.11").ip, "10.9.0.11");
	assert_false(discover(w, M2).got);
}

static void test_a_node_added_while_it_runs(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host hosts[] = {{M1, "10.9.0.11", "n1"}, {M2, "10.9.0.12", "n2"}};
	sync_hosts(w, hosts, 1);
	start_dnsmasq(w, RANGE);
	assert_string_equal(discover_until(w, M1, "10.9.0.11").ip, "10.9.0.11");
	/* it has booted before it was known */
	struct reply r = lease(w, M2, NULL);
	assert_int_equal(r.type, 5);
	assert_string_not_equal(r.ip, "10.9.0.12");
	uint64_t pid = dnsmasq_pid(w);
	assert_int_equal(sync_hosts(w, hosts, 2), PHX_DHCP_LIVE);
	assert_string_equal(discover_until(w, M2, "10.9.0.12").ip, "10.9.0.12");
	assert_string_equal(lease(w, M2, NULL).ip, "10.9.0.12");
	assert_true(dnsmasq_pid(w) == pid);
}

/* A card was replaced: the address follows the node. */
static void test_another_mac_after_sighup(void **state)
{
	struct world *w = *state;
	struct phx_dhcp_host host = {M1, "10.9.0.11", "n1"};
	sync_hosts(w, &host, 1);
	start_dnsmasq(w, RANGE);
	discover_until(w, M1, "10.9.0.11");
	assert_string_equal(lease(w, M1, NULL).ip, "10.9.0.11");
	uint64_t pid = dnsmasq_pid(w);
	strcpy(host.mac, M9);
	assert_int_equal(sync_hosts(w, &host, 1), PHX_DHCP_SIGHUP);
	assert_int_equal(phx_children_signal(w->children, "dnsmasq", SIGHUP, NULL), 0);
	assert_string_equal(discover_until(w, M9, "10.9.0.11").ip, "10.9.0.11");
	assert_true(dnsmasq_pid(w) == pid);
}

static void test_a_removed_node_after_sighup(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host host = {M1, "10.9.0.11", "n1"};
	sync_hosts(w, &host, 1);
	start_dnsmasq(w, RANGE);
	assert_string_equal(discover_until(w, M1, "10.9.0.11").ip, "10.9.0.11");
	assert_int_equal(sync_hosts(w, NULL, 0), PHX_DHCP_SIGHUP);
	assert_int_equal(phx_children_signal(w->children, "dnsmasq", SIGHUP, NULL), 0);
	struct reply r = {0};
	for (int i = 0; i < 20; i++) {
		r = discover(w, M1);
		if (r.got && strcmp(r.ip, "10.9.0.11"))
			break;
		sleep_ms(100);
	}
	assert_true(r.got);
	assert_string_not_equal(r.ip, "10.9.0.11");
}

/* Firmware, iPXE and systems send different client ids: one card, one address. */
static void test_client_ids_do_not_matter(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host host = {M1, "10.9.0.11", "n1"};
	sync_hosts(w, &host, 1);
	start_dnsmasq(w, RANGE);
	discover_until(w, M1, "10.9.0.11");
	assert_string_equal(lease(w, M1, "\1firmware").ip, "10.9.0.11");
	assert_string_equal(lease(w, M1, "\1system").ip, "10.9.0.11");
	assert_string_equal(lease(w, M1, NULL).ip, "10.9.0.11");
	struct reply first = lease(w, M2, "\1firmware");
	struct reply second = lease(w, M2, "\1system");
	assert_int_equal(second.type, 5);
	assert_string_equal(first.ip, second.ip);
}

/* What aborted dnsmasq with tags in its host files. */
static void test_leases_survive_many_sighups(void **state)
{
	struct world *w = *state;
	struct phx_dhcp_host hosts[] = {{M1, "10.9.0.11", "n1"}, {M2, "10.9.0.12", "n2"}};
	sync_hosts(w, hosts, 2);
	start_dnsmasq(w, RANGE);
	discover_until(w, M1, "10.9.0.11");
	lease(w, M1, NULL);
	lease(w, M2, NULL);
	uint64_t pid = dnsmasq_pid(w);
	for (int i = 0; i < 10; i++) {
		snprintf(hosts[1].ip, sizeof(hosts[1].ip), "10.9.0.%d", 20 + i);
		assert_int_equal(sync_hosts(w, hosts, 2), PHX_DHCP_SIGHUP);
		phx_children_signal(w->children, "dnsmasq", SIGHUP, NULL);
		assert_string_equal(discover_until(w, M2, hosts[1].ip).ip, hosts[1].ip);
		assert_string_equal(lease(w, M1, NULL).ip, "10.9.0.11");
	}
	assert_true(dnsmasq_pid(w) == pid);
}

static void test_who_boots_what(void **state)
{
	struct world *w = *state;
	start_dnsmasq(w, RANGE);
	discover_until(w, M1, "");
	struct reply bios = ask(w, (struct ask){.mac = M1, .type = 1, .arch = 0});
	assert_string_equal(bios.file, "undionly.kpxe");
	assert_string_equal(bios.next_server, "10.9.0.1");
	struct reply uefi = ask(w, (struct ask){.mac = M1, .type = 1, .arch = 7});
	assert_string_equal(uefi.file, "snponly.efi");
	assert_string_equal(uefi.next_server, "10.9.0.1");
	uefi = ask(w, (struct ask){.mac = M1, .type = 1, .arch = 9});
	assert_string_equal(uefi.file, "snponly.efi");
	struct reply http = ask(w, (struct ask){.mac = M1, .type = 1, .arch = 16, .http = true});
	assert_string_equal(http.file, "http://10.9.0.1:8080/ipxe/snponly.efi");
	assert_string_equal(http.vendor, "HTTPClient");
	struct reply ipxe = ask(w, (struct ask){.mac = M1, .type = 1, .arch = 7, .ipxe = true});
	assert_string_equal(ipxe.file, "http://10.9.0.1:8080/boot/${netX/mac:hexhyp}");
	assert_true(ipxe.n_ipxe >= 3);
	assert_memory_equal(ipxe.ipxe, "\260\1\1", 3);
}

static void test_proxy_gives_no_address(void **state)
{
	struct world *w = *state;
	start_dnsmasq(w, "dhcp_mode = \"proxy\";\n");
	struct reply r = {0};
	for (int i = 0; i < 20 && !r.got; i++)
		r = ask(w, (struct ask){.mac = M1, .type = 1, .arch = 0});
	assert_true(r.got);
	assert_string_equal(r.ip, "0.0.0.0");
	assert_contains(r.vendor, "PXEClient");
	/* who does not boot from the network gets no answer at all */
	assert_false(discover(w, M1).got);
}

/* An offer without a file sends the client to port 4011, where it has an address of the site's
 * server by then. */
static struct reply ask_proxy(struct world *w, int arch, bool ipxe)
{
	struct reply r = ask(w, (struct ask){.mac = M1, .type = 1, .arch = arch, .ipxe = ipxe});
	if (!r.got || r.file[0])
		return r;
	return ask(w,
		   (struct ask){.mac = M1,
				.type = 3,
				.arch = arch,
				.ipxe = ipxe,
				.menu = arch == 0,
				.port = 4011});
}

static void test_proxy_who_boots_what(void **state)
{
	struct world *w = *state;
	start_dnsmasq(w, "dhcp_mode = \"proxy\";\n");
	net_enter(w->net.client);
	IP("addr", "add", "10.9.0.200/24", "dev", "v1");
	net_enter(w->net.server);
	for (int i = 0; i < 20 && !ask(w, (struct ask){.mac = M1, .type = 1, .arch = 0}).got; i++)
		sleep_ms(100);
	static const char script[] = "http://10.9.0.1:8080/boot/${netX/mac:hexhyp}";
	static const int efi[] = {7, 9};
	struct reply r = ask_proxy(w, 0, false);
	assert_string_equal(r.file, "undionly.kpxe");
	assert_string_equal(r.next_server, "10.9.0.1");
	assert_string_equal(ask_proxy(w, 0, true).file, script);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(efi); i++) {
		r = ask_proxy(w, efi[i], false);
		assert_string_equal(r.file, "snponly.efi");
		assert_string_equal(r.next_server, "10.9.0.1");
		assert_string_equal(ask_proxy(w, efi[i], true).file, script);
	}
	r = ask_proxy(w, 16, false);
	assert_string_equal(r.file, "http://10.9.0.1:8080/ipxe/snponly.efi");
}

/* Without this iPXE waits 13 s for a router. */
static void test_router_is_announced(void **state)
{
	struct world *w = *state;
	uint8_t in[1500];
	struct timeval wait = {6, 0};
	IP("-6", "addr", "add", "fd77::1/64", "dev", "v0", "nodad");
	net_enter(w->net.client);
	int fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6);
	net_enter(w->net.server);
	assert_true(fd >= 0);
	struct ipv6_mreq all = {.ipv6mr_interface = 0};
	inet_pton(AF_INET6, "ff02::1", &all.ipv6mr_multiaddr);
	setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &all, sizeof(all));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	start_dnsmasq(w, "dhcp_range = \"10.9.0.100,10.9.0.120\";\n");
	bool seen = false;
	for (ssize_t n; !seen && (n = recv(fd, in, sizeof(in), 0)) > 0;)
		seen = in[0] == 134;
	assert_true(seen);
	close(fd);
}

static void test_dnsmasq_comes_back(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host host = {M1, "10.9.0.11", "n1"};
	sync_hosts(w, &host, 1);
	start_dnsmasq(w, RANGE);
	assert_string_equal(discover_until(w, M1, "10.9.0.11").ip, "10.9.0.11");
	uint64_t pid = dnsmasq_pid(w);
	kill((pid_t)pid, SIGKILL);
	assert_string_equal(discover_until(w, M1, "10.9.0.11").ip, "10.9.0.11");
	assert_true(dnsmasq_pid(w) != pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_WORLD(test_fixed_and_free_addresses),
		RUN_WORLD(test_only_known_nodes_without_a_range),
		RUN_WORLD(test_a_node_added_while_it_runs),
		RUN_WORLD(test_another_mac_after_sighup),
		RUN_WORLD(test_a_removed_node_after_sighup),
		RUN_WORLD(test_client_ids_do_not_matter),
		RUN_WORLD(test_leases_survive_many_sighups),
		RUN_WORLD(test_who_boots_what),
		RUN_WORLD(test_proxy_gives_no_address),
		RUN_WORLD(test_proxy_who_boots_what),
		RUN_WORLD(test_router_is_announced),
		RUN_WORLD(test_dnsmasq_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
