/* dnsmasq as we configure it, and a client in the other namespace that sends what firmware, iPXE
 * and systems send. */
#ifndef TESTS_DEPLOY_DHCP_WORLD_H
#define TESTS_DEPLOY_DHCP_WORLD_H

#include "unit/deploy/net.h"

#include "deploy/child.h"

struct world {
	struct head *head;
	struct net net;
	struct phx_children *children;
	int sock;                         /* of the client */
	const struct phx_dhcp_site *site; /* NULL: none */
};

struct reply {
	bool got;
	uint8_t type;
	char ip[16], next_server[16], file[129], hostname[64], vendor[64];
	uint8_t ipxe[64]; /* option 175 */
	size_t n_ipxe;
	uint32_t lease_s;
	bool router, dns;
	char router_ip[16], dns_ip[16], domain[64];
	uint32_t mtu;
};

struct ask {
	const char *mac;
	int type;            /* 1 discover, 3 request */
	const char *request; /* address asked for */
	const char *client_id;
	int arch; /* -1: no PXE client */
	bool ipxe, http;
	bool menu;         /* the first item of the boot menu was taken */
	int port;          /* 0: 67, everywhere; 4011: to the proxy alone */
	const char *relay; /* the address of the relay that passes it on, to 67 of the head alone */
};

struct packet {
	uint8_t op, htype, hlen, hops;
	uint32_t xid;
	uint16_t secs, flags;
	uint8_t ciaddr[4], yiaddr[4], siaddr[4], giaddr[4];
	uint8_t chaddr[16], sname[64], file[128];
	uint8_t cookie[4], options[312];
};

static __attribute__((unused)) uint8_t *option(uint8_t *p, uint8_t code, const void *data, size_t n)
{
	*p++ = code;
	*p++ = (uint8_t)n;
	memcpy(p, data, n);
	return p + n;
}

static __attribute__((unused)) uint8_t *pxe_options(uint8_t *p, const struct ask *a)
{
	char vendor[40];
	uint8_t arch[2] = {0, (uint8_t)a->arch};
	snprintf(vendor, sizeof(vendor), "%s:Arch:%05d:UNDI:003016",
		 a->http ? "HTTPClient" : "PXEClient", a->arch);
	p = option(p, 60, vendor, strlen(vendor));
	p = option(p, 93, arch, 2);
	p = option(p, 94, "\1\3\20", 3);
	p = option(p, 97, "\0aaaaaaaaaaaaaaaa", 17);
	if (a->menu)
		p = option(p, 43, a->ipxe ? "\x47\4\x80\1\0\0\xff" : "\x47\4\x80\0\0\0\xff", 7);
	return a->ipxe ? option(p, 175, "\x13\1\1", 3) : p;
}

static __attribute__((unused)) void build(struct packet *pk, const struct ask *a, uint32_t xid)
{
	unsigned m[6];
	struct in_addr ip;
	*pk = (struct packet){.op = 1,
			      .htype = 1,
			      .hlen = 6,
			      .xid = xid,
			      .flags = htons(0x8000),
			      .cookie = {99, 130, 83, 99}};
	assert_int_equal(sscanf(a->mac, "%x:%x:%x:%x:%x:%x", m, m + 1, m + 2, m + 3, m + 4, m + 5),
			 6);
	for (int i = 0; i < 6; i++)
		pk->chaddr[i] = (uint8_t)m[i];
	uint8_t type = (uint8_t)a->type, *p = option(pk->options, 53, &type, 1);
	p = option(p, 55, "\1\3\6\14\17\32\53\74\102\103\257", 11);
	if (a->request) {
		inet_pton(AF_INET, a->request, &ip);
		p = option(p, 50, &ip, 4);
		inet_pton(AF_INET, "10.9.0.1", &ip);
		p = option(p, 54, &ip, 4);
	}
	if (a->relay) {
		inet_pton(AF_INET, a->relay, pk->giaddr);
		pk->hops = 1;
	}
	if (a->client_id)
		p = option(p, 61, a->client_id, strlen(a->client_id));
	if (a->arch >= 0)
		p = pxe_options(p, a);
	*p = 255;
}

static __attribute__((unused)) void take_text(char *to, size_t size, const uint8_t *data, size_t n)
{
	snprintf(to, size, "%.*s", (int)n, (const char *)data);
}

static __attribute__((unused)) void take_option(struct reply *r, uint8_t code, const uint8_t *data,
						uint8_t n)
{
	switch (code) {
	case 3:
		r->router = true;
		inet_ntop(AF_INET, data, r->router_ip, sizeof(r->router_ip));
		break;
	case 6:
		r->dns = true;
		inet_ntop(AF_INET, data, r->dns_ip, sizeof(r->dns_ip));
		break;
	case 15:
		take_text(r->domain, sizeof(r->domain), data, n);
		break;
	case 26:
		r->mtu = (uint32_t)data[0] << 8 | data[1];
		break;
	case 12:
		take_text(r->hostname, sizeof(r->hostname), data, n);
		break;
	case 51:
		r->lease_s = (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 |
			(uint32_t)data[2] << 8 | data[3];
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

static __attribute__((unused)) void parse(struct reply *r, const struct packet *pk, size_t n)
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
static __attribute__((unused)) struct reply ask(struct world *w, struct ask a)
{
	static uint32_t xid = 100;
	struct packet pk, in;
	struct reply r = {0};
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(67), .sin_addr.s_addr = INADDR_BROADCAST};
	if (a.port || a.relay) {
		to.sin_port = htons((uint16_t)(a.port ? a.port : 67));
		inet_pton(AF_INET, "10.9.0.1", &to.sin_addr);
	}
	build(&pk, &a, ++xid);
	assert_int_equal(sendto(w->sock, &pk, sizeof(pk), 0, (struct sockaddr *)&to, sizeof(to)),
			 sizeof(pk));
	for (ssize_t n; (n = recv(w->sock, &in, sizeof(in), 0)) > 0;)
		if (n > 240 && in.op == 2 && in.xid == xid) {
			parse(&r, &in, (size_t)n);
			break;
		}
	return r;
}

static __attribute__((unused)) struct reply discover(struct world *w, const char *mac)
{
	return ask(w, (struct ask){.mac = mac, .type = 1, .arch = -1});
}

/* Discover and request: the lease is made. */
static __attribute__((unused)) struct reply lease(struct world *w, const char *mac,
						  const char *client_id)
{
	struct reply offer =
		ask(w, (struct ask){.mac = mac, .type = 1, .arch = -1, .client_id = client_id});
	if (!offer.got)
		return offer;
	char ip[16];
	strcpy(ip, offer.ip);
	return ask(
		w,
		(struct ask){
			.mac = mac, .type = 3, .request = ip, .arch = -1, .client_id = client_id});
}

/* dnsmasq learns of files by inotify: shortly after. */
static __attribute__((unused)) struct reply discover_until(struct world *w, const char *mac,
							   const char *ip)
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

static __attribute__((unused)) int client_socket(struct world *w, uint16_t port)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
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

static __attribute__((unused)) uint64_t dnsmasq_pid(struct world *w)
{
	struct phx_list list;
	assert_int_equal(phx_children_status(w->children, &list), 0);
	uint64_t pid = list.n ? PHX_LIST_AT(&list, struct phx_child_status, 0)->pid : 0;
	phx_list_fini(&list);
	return pid;
}

static __attribute__((unused)) void start_dnsmasq(struct world *w, const char *more)
{
	struct phx_argv argv;
	struct phx_err err = {0};
	char log[512];
	head_configure(w->head, more);
	assert_true(phx_dnsmasq_write(&w->head->cfg, w->site, 4, &err) >= 0);
	assert_int_equal(phx_dnsmasq_argv(&w->head->cfg, &argv), 0);
	snprintf(log, sizeof(log), "%s/dnsmasq.log", w->head->place.dir);
	struct phx_child_spec spec = {"dnsmasq", (const char *const *)argv.v, NULL, log};
	int r = phx_children_add(w->children, &spec, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	phx_argv_fini(&argv);
	/* it writes its pid when it listens */
	snprintf(log, sizeof(log), "%s/dnsmasq/dnsmasq.pid", w->head->cfg.run_dir);
	for (int i = 0; i < 300 && access(log, F_OK) < 0; i++)
		sleep_ms(10);
}

#define RANGE "dhcp_range = \"10.9.0.100,10.9.0.120\";\ndhcp_ra = false;\n"

static __attribute__((unused)) int world_make(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	if (head_make((void **)&w->head) < 0)
		return -1;
	net_make(&w->net);
	w->sock = client_socket(w, 68);
	assert_int_equal(phx_children_new(NULL, NULL, &w->children, NULL), 0);
	*state = w;
	return 0;
}

static __attribute__((unused)) int world_remove(void **state)
{
	struct world *w = *state;
	phx_children_free(w->children);
	close(w->sock);
	net_remove(&w->net);
	head_remove((void **)&w->head);
	free(w);
	return 0;
}

static __attribute__((unused)) int sync_hosts(struct world *w, const struct phx_dhcp_host *hosts,
					      size_t n)
{
	struct phx_err err = {0};
	int r = phx_dhcp_hosts_sync(&w->head->cfg, hosts, n, &err);
	assert_string_equal(err.text, "");
	return r;
}

#define M1 "52:54:00:00:00:01"
#define M2 "52:54:00:00:00:02"
#define M9 "52:54:00:00:00:09"

#define RUN_WORLD(test) cmocka_unit_test_setup_teardown(test, world_make, world_remove)

#endif
