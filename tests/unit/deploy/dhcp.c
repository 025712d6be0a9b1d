/* The real dnsmasq, configured by us, between two network namespaces: a client that sends what firmware, iPXE and
 * systems send. Needs root. */
#include "unit/deploy/net.h"

#include "deploy/child.h"

struct world {
	struct head *head;
	struct net net;
	struct phx_children *children;
	int sock; /* of the client */
};

struct reply {
	bool got;
	uint8_t type;
	char ip[16], next_server[16], file[129], hostname[64], vendor[64];
	uint8_t ipxe[64]; /* option 175 */
	size_t n_ipxe;
	uint32_t lease_s;
	bool router, dns;
};

struct ask {
	const char *mac;
	int type;            /* 1 discover, 3 request */
	const char *request; /* address asked for */
	const char *client_id;
	int arch; /* -1: no PXE client */
	bool ipxe, http;
	bool menu; /* the first item of the boot menu was taken */
	int port;  /* 0: 67, everywhere; 4011: to the proxy alone */
};

struct packet {
	uint8_t op, htype, hlen, hops;
	uint32_t xid;
	uint16_t secs, flags;
	uint8_t ciaddr[4], yiaddr[4], siaddr[4], giaddr[4];
	uint8_t chaddr[16], sname[64], file[128];
	uint8_t cookie[4], options[312];
};

static uint8_t *option(uint8_t *p, uint8_t code, const void *data, size_t n)
{
	*p++ = code;
	*p++ = (uint8_t)n;
	memcpy(p, data, n);
	return p + n;
}

static uint8_t *pxe_options(uint8_t *p, const struct ask *a)
{
	char vendor[40];
	uint8_t arch[2] = {0, (uint8_t)a->arch};
	snprintf(vendor, sizeof(vendor), "%s:Arch:%05d:UNDI:003016", a->http ? "HTTPClient" : "PXEClient", a->arch);
	p = option(p, 60, vendor, strlen(vendor));
	p = option(p, 93, arch, 2);
	p = option(p, 94, "\1\3\20", 3);
	p = option(p, 97, "\0aaaaaaaaaaaaaaaa", 17);
	if (a->menu)
		p = option(p, 43, a->ipxe ? "\x47\4\x80\1\0\0\xff" : "\x47\4\x80\0\0\0\xff", 7);
	return a->ipxe ? option(p, 175, "\x13\1\1", 3) : p;
}

static void build(struct packet *pk, const struct ask *a, uint32_t xid)
{
	unsigned m[6];
	struct in_addr ip;
	*pk = (struct packet){
		.op = 1, .htype = 1, .hlen = 6, .xid = xid, .flags = htons(0x8000), .cookie = {99, 130, 83, 99}};
	assert_int_equal(sscanf(a->mac, "%x:%x:%x:%x:%x:%x", m, m + 1, m + 2, m + 3, m + 4, m + 5), 6);
	for (int i = 0; i < 6; i++)
		pk->chaddr[i] = (uint8_t)m[i];
	uint8_t type = (uint8_t)a->type, *p = option(pk->options, 53, &type, 1);
	p = option(p, 55, "\1\3\6\14\17\53\74\102\103\257", 10);
	if (a->request) {
		inet_pton(AF_INET, a->request, &ip);
		p = option(p, 50, &ip, 4);
		inet_pton(AF_INET, "10.9.0.1", &ip);
		p = option(p, 54, &ip, 4);
	}
	if (a->client_id)
		p = option(p, 61, a->client_id, strlen(a->client_id));
	if (a->arch >= 0)
		p = pxe_options(p, a);
	*p = 255;
}

static void take_text(char *to, size_t size, const uint8_t *data, size_t n)
{
	snprintf(to, size, "%.*s", (int)n, (const char *)data);
}

static void take_option(struct reply *r, uint8_t code, const uint8_t *data, uint8_t n)
{
	switch (code) {
	case 3:
		r->router = true;
		break;
	case 6:
		r->dns = true;
		break;
	case 12:
		take_text(r->hostname, sizeof(r->hostname), data, n);
		break;
	case 51:
		r->lease_s = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
		break;
	case 53:
		r->type = data[0];
		break;
	case 60:
		take_text(r->vendor, sizeof(r->vendor), data, n);
		break;
	case 67:
		take_text(r->file, sizeof(r->file), data, n);
		break;
	case 175:
		r->n_ipxe = n < sizeof(r->ipxe) ? n : sizeof(r->ipxe);
		memcpy(r->ipxe, data, r->n_ipxe);
		break;
	}
}

static void parse(struct reply *r, const struct packet *pk, size_t n)
{
	const uint8_t *p = pk->options, *end = (const uint8_t *)pk + n;
	*r = (struct reply){.got = true};
	inet_ntop(AF_INET, pk->yiaddr, r->ip, sizeof(r->ip));
	inet_ntop(AF_INET, pk->siaddr, r->next_server, sizeof(r->next_server));
	take_text(r->file, sizeof(r->file), pk->file, sizeof(pk->file));
	while (p + 2 <= end && *p != 255) {
		if (*p == 0) {
			p++;
			continue;
		}
		if (p + 2 + p[1] > end)
			return;
		take_option(r, p[0], p + 2, p[1]);
		p += 2 + p[1];
	}
}

/* One packet out, the answer to it in; none within a second: got is false. */
static struct reply ask(struct world *w, struct ask a)
{
	static uint32_t xid = 100;
	struct packet pk, in;
	struct reply r = {0};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(67), .sin_addr.s_addr = INADDR_BROADCAST};
	if (a.port) {
		to.sin_port = htons((uint16_t)a.port);
		inet_pton(AF_INET, "10.9.0.1", &to.sin_addr);
	}
	build(&pk, &a, ++xid);
	assert_int_equal(sendto(w->sock, &pk, sizeof(pk), 0, (struct sockaddr *)&to, sizeof(to)), sizeof(pk));
	for (ssize_t n; (n = recv(w->sock, &in, sizeof(in), 0)) > 0;)
		if (n > 240 && in.op == 2 && in.xid == xid) {
			parse(&r, &in, (size_t)n);
			break;
		}
	return r;
}

static struct reply discover(struct world *w, const char *mac)
{
	return ask(w, (struct ask){.mac = mac, .type = 1, .arch = -1});
}

/* Discover and request: the lease is made. */
static struct reply lease(struct world *w, const char *mac, const char *client_id)
{
	struct reply offer = ask(w, (struct ask){.mac = mac, .type = 1, .arch = -1, .client_id = client_id});
	if (!offer.got)
		return offer;
	char ip[16];
	strcpy(ip, offer.ip);
	return ask(w, (struct ask){.mac = mac, .type = 3, .request = ip, .arch = -1, .client_id = client_id});
}

/* dnsmasq learns of files by inotify: shortly after. */
static struct reply discover_until(struct world *w, const char *mac, const char *ip)
{
	struct reply r = {0};
	for (int i = 0; i < 30; i++) {
		r = discover(w, mac);
		if (r.got && !strcmp(r.ip, ip))
			break;
		sleep_ms(100);
	}
	return r;
}

static int client_socket(struct world *w)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(68)};
	struct timeval second = {1, 0};
	int one = 1;
	net_enter(w->net.client);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	net_enter(w->net.server);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "v1", 3), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	return fd;
}

static uint64_t dnsmasq_pid(struct world *w)
{
	struct phx_list list;
	assert_int_equal(phx_children_status(w->children, &list), 0);
	uint64_t pid = list.n ? PHX_LIST_AT(&list, struct phx_child_status, 0)->pid : 0;
	phx_list_fini(&list);
	return pid;
}

static void start_dnsmasq(struct world *w, const char *more)
{
	struct phx_argv argv;
	struct phx_err err = {0};
	char log[512];
	head_configure(w->head, more);
	assert_true(phx_dnsmasq_write(&w->head->cfg, 4, &err) >= 0);
	assert_int_equal(phx_dnsmasq_argv(&w->head->cfg, &argv), 0);
	snprintf(log, sizeof(log), "%s/dnsmasq.log", w->head->place.dir);
	struct phx_child_spec spec = {"dnsmasq", (const char *const *)argv.v, NULL, log};
	int r = phx_children_add(w->children, &spec, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	phx_argv_fini(&argv);
}

#define RANGE "dhcp_range = \"10.9.0.100,10.9.0.120\";\ndhcp_ra = false;\n"

static int world_make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	if (head_make((void **)&w->head) < 0)
		return -1;
	net_make(&w->net);
	w->sock = client_socket(w);
	assert_int_equal(phx_children_new(NULL, NULL, &w->children, NULL), 0);
	*state = w;
	return 0;
}

static int world_remove(void **state)
{
	struct world *w = *state;
	phx_children_free(w->children);
	close(w->sock);
	net_remove(&w->net);
	head_remove((void **)&w->head);
	free(w);
	return 0;
}

static int sync_hosts(struct world *w, const struct phx_dhcp_host *hosts, size_t n)
{
	struct phx_err err = {0};
	int r = phx_dhcp_hosts_sync(&w->head->cfg, hosts, n, &err);
	assert_string_equal(err.text, "");
	return r;
}

#define M1 "52:54:00:00:00:01"
#define M2 "52:54:00:00:00:02"
#define M9 "52:54:00:00:00:09"

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

/* An offer without a file sends the client to port 4011, where it has an address of the site's server by then. */
static struct reply ask_proxy(struct world *w, int arch, bool ipxe)
{
	struct reply r = ask(w, (struct ask){.mac = M1, .type = 1, .arch = arch, .ipxe = ipxe});
	if (!r.got || r.file[0])
		return r;
	return ask(w, (struct ask){.mac = M1, .type = 3, .arch = arch, .ipxe = ipxe, .menu = arch == 0, .port = 4011});
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

#define RUN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_make, world_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN_WORLD(test_fixed_and_free_addresses),    RUN_WORLD(test_only_known_nodes_without_a_range),
		RUN_WORLD(test_a_node_added_while_it_runs),  RUN_WORLD(test_another_mac_after_sighup),
		RUN_WORLD(test_a_removed_node_after_sighup), RUN_WORLD(test_client_ids_do_not_matter),
		RUN_WORLD(test_leases_survive_many_sighups), RUN_WORLD(test_who_boots_what),
		RUN_WORLD(test_proxy_gives_no_address),      RUN_WORLD(test_proxy_who_boots_what),
		RUN_WORLD(test_router_is_announced),         RUN_WORLD(test_dnsmasq_comes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
