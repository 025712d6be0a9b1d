/* More than one network: what dnsmasq is told, whom it answers with what (needs root), what does
 * not fit the head; and that nothing changes for a head without networks.conf. */
#include "unit/deploy/dhcp_world.h"

#include "base/file.h"
#include "base/json.h"

#define LISTENS "listen = \"0.0.0.0\";\nserver_names = [ \"10.2.0.2\" ];\n"
#define RELAYED \
	"{\"name\": \"far\", \"subnet\": \"10.2.0.0/16\", \"gateway\": \"10.2.0.1\", \"mtu\": " \
	"9000, " \
	"\"dns\": [{\"text\": \"10.2.0.3\"}, {\"text\": \"fd00::3\"}, {\"text\": \"10.2.0.4\"}], " \
	"\"domain\": \"far.example.org\", \"range\": {\"first\": \"10.2.9.0\", \"last\": " \
	"\"10.2.9.9\"}, \"boot\": true, \"relay\": true, \"head\": \"10.2.0.2\", \"place\": " \
	"\"P\"}"
#define PLAIN \
	"{\"name\": \"bare\", \"subnet\": \"10.3.0.0/24\", \"boot\": true, \"relay\": true, " \
	"\"place\": \"P\"}"
#define STORAGE "{\"name\": \"storage\", \"subnet\": \"10.4.0.0/24\", \"place\": \"P\"}"

static void parse_site(const char *list, struct phx_site *ret)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *json = NULL;
	assert_true(asprintf(&json, "{\"networks\": [%s]}", list) > 0);
	if (phx_json_text_to_record(&phx_site_record, json, ret, &err) < 0)
		fail_msg("%s: %s", json, err.text);
	assert_int_equal(phx_site_check(ret, NULL, NULL), 0);
}

static char *conf_of(struct head *h, const struct phx_dhcp_site *site)
{
	char *text = NULL;
	struct phx_err err = {0};
	int r = phx_dnsmasq_conf(&h->cfg, site, 4, &text, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
	return text;
}

/* ---- without networks ---- */

static const char as_it_was[] =
	"# made by phxd, which replaces it: change phoenix.conf instead\n"
	"port=0\nno-resolv\nno-hosts\ninterface=v0\nexcept-interface=lo\nbind-dynamic\n"
	"log-dhcp\nlog-async=100\n"
	"user=dnsmasq\npid-file=/r/dnsmasq/dnsmasq.pid\nlog-facility=-\n"
	"dhcp-match=set:ipxe,175\ndhcp-match=set:efi,option:client-arch,7\n"
	"dhcp-match=set:efi,option:client-arch,9\ndhcp-match=set:efihttp,option:client-arch,16\n"
	"dhcp-range=10.9.0.100,10.9.0.120,255.255.255.0,3600\n"
	"dhcp-authoritative\nno-ping\ndhcp-ignore-clid\ndhcp-lease-max=1024\n"
	"dhcp-leasefile=/s/dnsmasq.leases\ndhcp-hostsdir=/r/dnsmasq/hosts\n"
	"dhcp-option=option:router,10.9.0.254\ndhcp-option=option:dns-server,10.9.0.253\n"
	"domain=cluster\ndhcp-option=tag:ipxe,encap:175,176,1b\n"
	"enable-ra\ndhcp-range=fd77::,ra-only\nra-param=v0,high,4\n"
	"dhcp-boot=tag:!ipxe,tag:!efi,tag:!efihttp,undionly.kpxe,,10.9.0.1\n"
	"dhcp-boot=tag:!ipxe,tag:efi,snponly.efi,,10.9.0.1\n"
	"dhcp-boot=tag:!ipxe,tag:efihttp,http://10.9.0.1:8080/ipxe/snponly.efi\n"
	"dhcp-option-force=tag:efihttp,60,HTTPClient\n"
	"dhcp-boot=tag:ipxe,http://10.9.0.1:8080/boot/${netX/mac:hexhyp}\n";

static void test_without_networks_nothing_changes(void **state)
{
	struct head *h = *state;
	const struct phx_list none = {0};
	const struct phx_dhcp_site site = {.networks = &none};
	head_configure(h,
		       "dhcp_range = \"10.9.0.100,10.9.0.120\";\ngateway = \"10.9.0.254\";\n"
		       "dns = \"10.9.0.253\";\ndomain = \"cluster\";\n");
	PHX_STR_SET(h->cfg.run_dir, "/r");
	PHX_STR_SET(h->cfg.state_dir, "/s");
	PHX_AUTO_FREE char *without = conf_of(h, NULL);
	PHX_AUTO_FREE char *empty = conf_of(h, &site);
	assert_string_equal(without, as_it_was);
	assert_string_equal(empty, as_it_was);
}

/* ---- the text ---- */

static void test_each_network_has_its_own(void **state)
{
	struct head *h = *state;
	struct phx_site s;
	struct phx_err err = {0};
	parse_site(RELAYED "," PLAIN "," STORAGE, &s);
	const struct phx_dhcp_site site = {.networks = &s.networks};
	head_configure(h, LISTENS "gateway = \"10.9.0.254\";\n");
	PHX_AUTO_FREE char *text = conf_of(h, &site);
	assert_contains(text, "\ndhcp-range=10.9.0.0,static,255.255.255.0,3600\n");
	assert_contains(text, "\ndhcp-option=option:router,10.9.0.254\n");
	assert_contains(text, "\ndhcp-range=set:net-far,10.2.9.0,10.2.9.9,255.255.0.0,3600\n");
	assert_contains(text, "\ndhcp-option=tag:net-far,option:router,10.2.0.1\n");
	assert_contains(text, "\ndhcp-option=tag:net-far,option:dns-server,10.2.0.3,10.2.0.4\n");
	assert_contains(text, "\ndhcp-option=tag:net-far,option:mtu,9000\n");
	assert_contains(text, "\ndomain=far.example.org,10.2.0.0/16\n");
	assert_contains(text, "\ndhcp-boot=tag:net-far,tag:ipxe,http://10.2.0.2:8080/boot/");
	assert_contains(text, "\ndhcp-range=set:net-bare,10.3.0.0,static,255.255.255.0,3600\n");
	assert_contains(text, "\ndhcp-option=tag:net-bare,option:router\n");
	assert_null(strstr(text, "tag:net-bare,tag:ipxe"));
	assert_null(strstr(text, "10.4.0"));
	if (access(h->cfg.dnsmasq, X_OK) == 0) {
		assert_int_equal(phx_dnsmasq_try(&h->cfg, &site, 4, &err), 0);
		assert_string_equal(err.text, "");
	}
	phx_record_fini(&phx_site_record, &s);
}

static void test_cards_of_the_head(void **state)
{
	struct head *h = *state;
	struct phx_site s;
	parse_site(
		"{\"name\": \"b\", \"subnet\": \"10.2.0.0/16\", \"boot\": true, \"interface\": "
		"\"v2\", \"head\": \"10.2.0.2\"}, {\"name\": \"c\", \"subnet\": \"10.5.0.0/16\", "
		"\"interface\": \"v3\", \"head\": \"10.5.0.2\"}",
		&s);
	const struct phx_dhcp_site site = {.networks = &s.networks};
	head_configure(h, LISTENS);
	PHX_AUTO_FREE char *text = conf_of(h, &site);
	assert_contains(text, "\ninterface=v0\ninterface=v2\nexcept-interface=lo\n");
	assert_null(strstr(text, "v3"));
	head_configure(h, "dhcp_mode = \"proxy\";\n");
	PHX_AUTO_FREE char *proxy = conf_of(h, &site);
	assert_contains(proxy, "\ndhcp-range=10.2.0.0,proxy,255.255.0.0\n");
	assert_null(strstr(proxy, "tag:net-"));
	phx_record_fini(&phx_site_record, &s);
}

/* networks.conf goes before phoenix.conf, for the head's own network too. */
static void test_its_own_network(void **state)
{
	struct head *h = *state;
	struct phx_site s;
	parse_site("{\"name\": \"here\", \"subnet\": \"10.9.0.0/24\", \"gateway\": \"10.9.0.9\", "
		   "\"mtu\": 1400, \"range\": {\"first\": \"10.9.0.20\", \"last\": \"10.9.0.29\"}}",
		   &s);
	const struct phx_dhcp_site site = {.networks = &s.networks};
	head_configure(h, "gateway = \"10.9.0.254\";\ndns = \"10.9.0.253\";\n");
	PHX_AUTO_FREE char *text = conf_of(h, &site);
	assert_contains(text, "\ndhcp-range=set:net-here,10.9.0.20,10.9.0.29,255.255.255.0,3600\n");
	assert_contains(text, "\ndhcp-option=tag:net-here,option:router,10.9.0.9\n");
	assert_contains(text, "\ndhcp-option=tag:net-here,option:dns-server,10.9.0.253\n");
	assert_contains(text, "\ndhcp-option=tag:net-here,option:mtu,1400\n");
	assert_null(strstr(text, "10.9.0.254"));
	phx_record_fini(&phx_site_record, &s);
}

static void test_the_head_of_a_machine(void **state)
{
	struct head *h = *state;
	struct phx_site s;
	parse_site(RELAYED "," PLAIN, &s);
	assert_string_equal(phx_dhcp_head(&h->cfg, &s.networks, "10.2.200.7"), "10.2.0.2");
	assert_string_equal(phx_dhcp_head(&h->cfg, &s.networks, "10.3.0.7"), "10.9.0.1");
	assert_string_equal(phx_dhcp_head(&h->cfg, &s.networks, "10.9.0.7"), "10.9.0.1");
	assert_string_equal(phx_dhcp_head(&h->cfg, &s.networks, ""), "10.9.0.1");
	phx_record_fini(&phx_site_record, &s);
}

/* ---- for other servers: that they take it, tests/system/networks.sh asks them ---- */

static void test_another_server_is_told_the_same(void **state)
{
	static const struct {
		enum phx_dhcp_server server;
		const char *has[8];
	} rows[] = {
		{PHX_DHCP_KEA,
		 {"\"subnet\": \"10.9.0.0/24\", // boot", "\"subnet\": \"10.2.0.0/16\", // far",
		  "\"pool\": \"10.2.9.0 - 10.2.9.9\"", "\"data\": \"10.2.0.3, 10.2.0.4\"",
		  "\"hw-address\": \"52:54:00:00:00:01\", \"ip-address\": \"10.2.0.77\", "
		  "\"hostname\": "
		  "\"n1\"",
		  "http://10.2.0.2:8080/boot/", "http://10.9.0.1:8080/boot/"}},
		{PHX_DHCP_ISC,
		 {"subnet 10.2.0.0 netmask 255.255.0.0 {\n  range 10.2.9.0 10.2.9.9;\n  option "
		  "routers "
		  "10.2.0.1;\n  option domain-name-servers 10.2.0.3, 10.2.0.4;\n",
		  "option interface-mtu 9000;", "next-server 10.2.0.2;",
		  "host phoenix-n1 { hardware ethernet 52:54:00:00:00:01; option host-name \"n1\"; "
		  "fixed-address 10.2.0.77; }\n"}},
		{PHX_DHCP_DNSMASQ,
		 {"\ndhcp-range=set:net-far,10.2.9.0,10.2.9.9,255.255.0.0,3600\n",
		  "\ndhcp-boot=tag:net-far,tag:ipxe,http://10.2.0.2:8080/boot/",
		  "\ndhcp-host=52:54:00:00:00:01,10.2.0.77,n1\n"}},
	};
	struct head *h = *state;
	const struct phx_dhcp_host host = {M1, "10.2.0.77", "n1"};
	struct phx_site s;
	parse_site(RELAYED "," STORAGE, &s);
	const struct phx_dhcp_site site = {.networks = &s.networks, .domain = ""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++) {
		PHX_AUTO_FREE char *text = NULL;
		assert_int_equal(phx_dhcp_foreign(rows[i].server, &h->cfg, &site, &host, 1, &text),
				 0);
		for (size_t k = 0; k < PHX_ARRAY_SIZE(rows[i].has) && rows[i].has[k]; k++)
			assert_contains(text, rows[i].has[k]);
		assert_null(strstr(text, "10.4.0"));
	}
	phx_record_fini(&phx_site_record, &s);
}

/* ---- what dnsmasq itself refuses ---- */

static void test_a_refusal_changes_nothing(void **state)
{
	struct head *h = *state;
	char path[600], line[600];
	struct phx_site s;
	struct phx_err err = {0};
	parse_site(PLAIN, &s);
	const struct phx_dhcp_site site = {.networks = &s.networks};
	assert_int_equal(phx_dnsmasq_write(&h->cfg, NULL, 4, &err), 1);
	place_write(&h->place, "fake", "#!/bin/sh\necho 'fake: bad range at line 7' >&2\nexit 1\n");
	assert_int_equal(chmod(place_path(&h->place, "fake", path), 0755), 0);
	snprintf(line, sizeof(line), "dnsmasq = \"%s\";\n", path);
	head_configure(h, line);
	assert_true(phx_dnsmasq_try(&h->cfg, &site, 4, &err) < 0);
	assert_contains(err.text, "bad range at line 7");
	snprintf(path, sizeof(path), "%s/dnsmasq/dnsmasq.conf.tried", h->cfg.run_dir);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(phx_dnsmasq_write(&h->cfg, NULL, 4, NULL), 0);
	phx_record_fini(&phx_site_record, &s);
}

/* ---- what does not fit ---- */

static const struct {
	const char *conf, *networks, *says; /* NULL: it fits */
} fits[] = {
	{"", "", NULL},
	{"", PLAIN "," STORAGE, NULL},
	{LISTENS, RELAYED, NULL},
	{"listen = \"0.0.0.0\";\n", RELAYED, "10.2.0.2 is not in server_names"},
	{"server_names = [ \"10.2.0.2\" ];\n", RELAYED, "does not listen at head 10.2.0.2"},
	{LISTENS "dhcp_mode = \"proxy\";\n", RELAYED, "knows one address"},
	{"", "{\"name\": \"x\", \"subnet\": \"10.2.0.0/16\", \"boot\": true, \"place\": \"P\"}",
	 "P: network x: machines that boot there reach the head by"},
	{"", "{\"name\": \"boot\", \"subnet\": \"10.2.0.0/16\"}",
	 "this name is that of the network"},
	{"", "{\"name\": \"boot\", \"subnet\": \"10.9.0.0/24\"}", NULL},
	{"", "{\"name\": \"x\", \"subnet\": \"10.9.0.0/16\"}", "say 10.9.0.1/24, subnet says"},
	{"", "{\"name\": \"x\", \"subnet\": \"10.9.0.128/25\"}", "overlaps with the network of"},
	{"", "{\"name\": \"x\", \"subnet\": \"10.9.0.0/24\", \"relay\": true}",
	 "there is no relay"},
	{"", "{\"name\": \"x\", \"subnet\": \"10.9.0.0/24\", \"head\": \"10.9.0.7\"}",
	 "head is 10.9.0.7"},
	{"",
	 "{\"name\": \"x\", \"subnet\": \"10.9.0.0/24\", \"interface\": \"v9\", \"head\": "
	 "\"10.9.0.1\"}",
	 "is v0, here it is v9"},
};

static void add_line(void *arg, const char *text)
{
	phx_buf_addf(arg, "%s\n", text);
}

static void test_what_does_not_fit_is_said(void **state)
{
	struct head *h = *state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fits); i++) {
		PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
		struct phx_site s;
		parse_site(fits[i].networks, &s);
		const struct phx_dhcp_site site = {.networks = &s.networks};
		head_configure(h, fits[i].conf);
		int n = phx_dhcp_site_check(&h->cfg, &site, add_line, &said);
		bool right = fits[i].says ? n == 1 && strstr(said.data, fits[i].says) : n == 0;
		if (!right)
			fail_msg("%s: %d: %s", fits[i].networks, n, said.n ? said.data : "");
		phx_record_fini(&phx_site_record, &s);
	}
}

/* ---- the real program ---- */

/* The client's side of the cable is the relay of 10.2.0.0/16, too. */
static void make_relay(struct world *w)
{
	net_enter(w->net.client);
	IP("addr", "add", "10.2.0.1/16", "dev", "v1");
	net_enter(w->net.server);
	IP("route", "add", "10.2.0.0/16", "dev", "v0");
	close(w->sock);
	w->sock = client_socket(w, 67);
}

static struct reply through_relay(struct world *w, const char *mac, bool ipxe)
{
	struct reply r = {0};
	for (int i = 0; i < 30 && !r.got; i++) {
		r = ask(w,
			(struct ask){.mac = mac,
				     .type = 1,
				     .arch = ipxe ? 0 : -1,
				     .ipxe = ipxe,
				     .relay = "10.2.0.1"});
		if (!r.got)
			sleep_ms(100);
	}
	return r;
}

static void test_who_comes_by_a_relay(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host host = {M1, "10.2.0.77", "n1"};
	struct phx_site s;
	parse_site(RELAYED, &s);
	const struct phx_dhcp_site site = {.networks = &s.networks};
	w->site = &site;
	sync_hosts(w, &host, 1);
	make_relay(w);
	start_dnsmasq(w, LISTENS RANGE "gateway = \"10.9.0.254\";\n");
	struct reply r = through_relay(w, M1, false);
	assert_string_equal(r.ip, "10.2.0.77");
	assert_string_equal(r.router_ip, "10.2.0.1");
	assert_string_equal(r.dns_ip, "10.2.0.3");
	assert_string_equal(r.domain, "far.example.org");
	assert_int_equal(r.mtu, 9000);
	r = through_relay(w, M2, true);
	assert_true(!strncmp(r.ip, "10.2.9.", 7));
	assert_true(!strncmp(r.file, "http://10.2.0.2:8080/boot/", 26));
	/* who is in the head's own network gets its own */
	close(w->sock);
	w->sock = client_socket(w, 68);
	r = lease(w, M9, NULL);
	assert_true(!strncmp(r.ip, "10.9.0.1", 8));
	assert_string_equal(r.router_ip, "10.9.0.254");
	assert_int_equal(r.mtu, 0);
	r = ask(w, (struct ask){.mac = M9, .type = 1, .arch = 0, .ipxe = true});
	assert_true(!strncmp(r.file, "http://10.9.0.1:8080/boot/", 26));
	phx_record_fini(&phx_site_record, &s);
}

static void test_a_network_without_a_router(void **state)
{
	struct world *w = *state;
	const struct phx_dhcp_host host = {M1, "10.2.0.77", "n1"};
	struct phx_site s;
	parse_site(
		"{\"name\": \"far\", \"subnet\": \"10.2.0.0/16\", \"boot\": true, \"relay\": true}",
		&s);
	const struct phx_dhcp_site site = {.networks = &s.networks};
	w->site = &site;
	sync_hosts(w, &host, 1);
	make_relay(w);
	start_dnsmasq(w, RANGE "gateway = \"10.9.0.254\";\ndns = \"10.9.0.253\";\n");
	struct reply r = through_relay(w, M1, false);
	assert_string_equal(r.ip, "10.2.0.77");
	assert_false(r.router);
	assert_false(r.dns);
	/* only known nodes get an address there */
	r = ask(w, (struct ask){.mac = M2, .type = 1, .arch = -1, .relay = "10.2.0.1"});
	assert_false(r.got);
	phx_record_fini(&phx_site_record, &s);
}

/* ---- names ---- */

/* "n1.example.org" as DNS writes it; returns its length. */
static size_t put_labels(uint8_t *to, const char *name)
{
	size_t n = 0;
	for (const char *at = name; *at; at += *at == '.') {
		size_t k = strcspn(at, ".");
		to[n++] = (uint8_t)k;
		memcpy(to + n, at, k);
		n += k;
		at += k;
	}
	to[n++] = 0;
	return n;
}

/* Asks the head's dnsmasq from the client's namespace. Returns the code of the answer (-1: none
 * came); ret: what the last answer holds, an address or the first label of a name. */
static int resolve(struct world *w, const char *name, uint8_t type, char ret[64])
{
	uint8_t q[300] = {0, 7, 1, 0, 0, 1}, in[600];
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
	struct timeval second = {1, 0};
	size_t n = 12 + put_labels(q + 12, name);
	memcpy(q + n, (const uint8_t[]){0, type, 0, 1}, 4);
	inet_pton(AF_INET, "10.9.0.1", &to.sin_addr);
	net_enter(w->net.client);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	net_enter(w->net.server);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	(void)!sendto(fd, q, n + 4, 0, (struct sockaddr *)&to, sizeof(to));
	ssize_t got = recv(fd, in, sizeof(in), 0);
	close(fd);
	ret[0] = '\0';
	if (got < 12)
		return -1;
	/* behind the question: a pointer, type, class, time to live, length, value */
	const uint8_t *value = in + n + 4 + 12;
	if (in[7] && type == 1)
		inet_ntop(AF_INET, value, ret, 64);
	else if (in[7])
		snprintf(ret, 64, "%.*s", (int)value[0], (const char *)value + 1);
	return in[3] & 15;
}

static void expect_name(struct world *w, const char *name, uint8_t type, const char *value)
{
	char got[64] = "";
	int code = -1;
	for (int i = 0; i < 30 && (code < 0 || strcmp(got, value) != 0); i++) {
		code = resolve(w, name, type, got);
		if (strcmp(got, value) != 0)
			sleep_ms(100);
	}
	if (strcmp(got, value) != 0)
		fail_msg("%s is '%s' (%d) instead of '%s'", name, got, code, value);
}

static void test_names_of_nodes(void **state)
{
	struct world *w = *state;
	struct phx_dhcp_name names[] = {{"n2", "10.9.0.12", "far.example.org"},
					{"n1", "10.9.0.11", "example.org"}};
	const struct phx_dhcp_host host = {M9, "", "n9"};
	const struct phx_list none = {0};
	const struct phx_dhcp_site site = {
		.networks = &none, .serve_names = true, .domain = "example.org"};
	struct phx_err err = {0};
	char got[64];
	net_enter(w->net.client);
	IP("addr", "add", "10.9.0.50/24", "dev", "v1");
	net_enter(w->net.server);
	head_configure(w->head, RANGE);
	assert_int_equal(phx_dhcp_names_sync(&w->head->cfg, names, 2, &err), 0);
	sync_hosts(w, &host, 1);
	w->site = &site;
	start_dnsmasq(w, RANGE "dns = \"10.9.0.253\";\n");
	expect_name(w, "n1", 1, "10.9.0.11");
	expect_name(w, "n1.example.org", 1, "10.9.0.11");
	expect_name(w, "n2.far.example.org", 1, "10.9.0.12");
	expect_name(w, "12.0.9.10.in-addr.arpa", 12, "n2");
	/* one that changes, one that goes, without a signal */
	struct phx_dhcp_name moved = {"n1", "10.9.0.21", "example.org"};
	assert_int_equal(phx_dhcp_name_sync(&w->head->cfg, "n1", &moved, &err), 0);
	expect_name(w, "n1.example.org", 1, "10.9.0.21");
	assert_int_equal(phx_dhcp_name_sync(&w->head->cfg, "n2", NULL, &err), 0);
	expect_name(w, "n2.far.example.org", 1, "");
	/* a lease of a known node without a reserved address */
	struct reply r = lease(w, M9, NULL);
	assert_string_equal(r.dns_ip, "10.9.0.1");
	expect_name(w, "n9", 1, r.ip);
	/* what is not ours is refused, and nobody is asked */
	assert_int_equal(resolve(w, "www.example.com", 1, got), 5);
	assert_string_equal(err.text, "");
}

static void test_names_in_the_text(void **state)
{
	struct head *h = *state;
	struct phx_site s;
	parse_site(RELAYED, &s);
	struct phx_dhcp_site site = {
		.networks = &s.networks, .serve_names = true, .domain = "example.org"};
	head_configure(h, LISTENS "dns = \"10.2.0.3\";\n");
	PHX_AUTO_FREE char *alone = conf_of(h, &site);
	site.forward_dns = true;
	PHX_AUTO_FREE char *forwards = conf_of(h, &site);
	assert_null(strstr(alone, "port=0"));
	assert_contains(alone, "\ndhcp-ignore-names\n");
	assert_contains(alone, "\nlocal=/example.org/\nlocal=/far.example.org/\n");
	assert_contains(alone, "\ndhcp-option=option:dns-server,10.9.0.1\n");
	assert_contains(alone, "\ndhcp-option=tag:net-far,option:dns-server,10.2.0.2\n");
	assert_contains(alone, "\ndomain=example.org\n");
	assert_null(strstr(alone, "server=1"));
	assert_contains(forwards, "\nserver=10.2.0.3\nserver=fd00::3\nserver=10.2.0.4\n");
	assert_string_equal(phx_dhcp_domain(&h->cfg, &site, "10.2.7.7"), "far.example.org");
	assert_string_equal(phx_dhcp_domain(&h->cfg, &site, "10.9.0.7"), "example.org");
	head_configure(h, LISTENS "dhcp_mode = \"none\";\n");
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	assert_int_equal(phx_dhcp_site_check(&h->cfg, &site, add_line, &said), 1);
	assert_contains(said.data, "serve_names needs dhcp_mode");
	phx_record_fini(&phx_site_record, &s);
}

static void test_files_of_names(void **state)
{
	struct head *h = *state;
	char path[600];
	struct phx_err err = {0};
	struct phx_dhcp_name names[] = {{"n2", "10.9.0.12", ""}, {"n1", "10.9.0.11", "a.b"}};
	assert_int_equal(phx_dhcp_names_sync(&h->cfg, names, 2, &err), 0);
	snprintf(path, sizeof(path), "%s/dnsmasq/names/n1", h->cfg.run_dir);
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(path, 4096, &text, NULL, NULL), 0);
	assert_string_equal(text, "10.9.0.11 n1.a.b n1\n");
	assert_int_equal(phx_dhcp_name_sync(&h->cfg, "../x", NULL, NULL), -EINVAL);
	assert_int_equal(phx_dhcp_names_sync(&h->cfg, NULL, 0, NULL), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_string_equal(err.text, "");
}

static void assert_name(const struct head *h, const char *node, const char *want)
{
	char path[600];
	PHX_AUTO_FREE char *text = NULL;
	snprintf(path, sizeof(path), "%s/dnsmasq/names/%s", h->cfg.run_dir, node);
	phx_file_read(path, 4096, &text, NULL, NULL);
	assert_string_equal(text ? text : "", want);
}

/* It keeps the file that it had, and all others follow. */
static void test_a_wrong_name_holds_up_no_other(void **state)
{
	struct head *h = *state;
	struct phx_err err = {0};
	char path[600];
	struct phx_dhcp_name names[] = {{"n1", "10.9.0.1", "a.b"},
					{"n2", "10.9.0.2", "a.b"},
					{"n3", "10.9.0.3", "a.b"},
					{"n4", "10.9.0.4", "a.b"}};
	assert_int_equal(phx_dhcp_names_sync(&h->cfg, names, 3, NULL), 0);
	PHX_STR_SET(names[0].domain, "a b");
	PHX_STR_SET(names[0].ip, "10.9.0.9");
	PHX_STR_SET(names[2].ip, "10.9.0.8");
	assert_int_equal(phx_dhcp_names_sync(&h->cfg, names, 4, &err), -EINVAL);
	assert_string_equal(err.text, "node n1: 'a b' is no name of a domain");
	assert_name(h, "n1", "10.9.0.1 n1.a.b n1\n");
	assert_name(h, "n3", "10.9.0.8 n3.a.b n3\n");
	assert_name(h, "n4", "10.9.0.4 n4.a.b n4\n");
	/* two, of which one has a folder in its place; n4 goes all the same */
	assert_int_equal(phx_dhcp_name_sync(&h->cfg, "n2", NULL, NULL), 0);
	snprintf(path, sizeof(path), "%s/dnsmasq/names/n2", h->cfg.run_dir);
	assert_int_equal(mkdir(path, 0755), 0);
	phx_err_clear(&err);
	assert_int_equal(phx_dhcp_names_sync(&h->cfg, names, 3, &err), -EINVAL);
	assert_string_equal(err.text, "node n1: 'a b' is no name of a domain, and 1 more");
	assert_name(h, "n4", "");
	/* what cannot be removed holds up none either, and is told */
	PHX_STR_SET(names[2].ip, "10.9.0.7");
	phx_err_clear(&err);
	assert_int_equal(phx_dhcp_names_sync(&h->cfg, &names[2], 1, &err), -EISDIR);
	assert_non_null(strstr(err.text, "names of nodes that have none: "));
	assert_name(h, "n3", "10.9.0.7 n3.a.b n3\n");
	assert_name(h, "n1", "");
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(phx_dhcp_names_sync(&h->cfg, NULL, 0, NULL), 0);
}

/* A line for each address of a service: its name stands for all of them. */
static void test_files_of_services(void **state)
{
	struct head *h = *state;
	char path[600];
	struct phx_err err = {0};
	struct phx_dhcp_service services[] = {{"shop", "a.b", "10.9.0.11, 10.9.0.12"},
					      {"news", "", "10.9.0.13"}};
	struct phx_dhcp_name node = {"n1", "10.9.0.1", ""};
	assert_int_equal(phx_dhcp_names_sync(&h->cfg, &node, 1, &err), 0);
	assert_int_equal(phx_dhcp_services_sync(&h->cfg, services, 2, &err), 0);
	snprintf(path, sizeof(path), "%s/dnsmasq/services/shop", h->cfg.run_dir);
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(path, 4096, &text, NULL, NULL), 0);
	assert_string_equal(text, "10.9.0.11 shop.a.b shop\n10.9.0.12 shop.a.b shop\n");
	PHX_STR_SET(services[1].addresses, "10.9.0.13 10.9.0");
	PHX_STR_SET(services[0].addresses, "10.9.0.12");
	struct phx_dhcp_service turned[] = {services[1], services[0]};
	assert_int_equal(phx_dhcp_services_sync(&h->cfg, turned, 2, &err), -EINVAL);
	assert_string_equal(err.text, "service news: '10.9.0' is no IPv4 address");
	PHX_AUTO_FREE char *follows = NULL;
	assert_int_equal(phx_file_read(path, 4096, &follows, NULL, NULL), 0);
	assert_string_equal(follows, "10.9.0.12 shop.a.b shop\n");
	phx_err_clear(&err);
	assert_int_equal(phx_dhcp_services_sync(&h->cfg, &services[0], 0, &err), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	/* names of nodes are others */
	snprintf(path, sizeof(path), "%s/dnsmasq/names/n1", h->cfg.run_dir);
	assert_int_equal(access(path, F_OK), 0);
	assert_string_equal(err.text, "");
}

int main(void)
{
	const struct CMUnitTest texts[] = {
		RUN_HEAD(test_without_networks_nothing_changes),
		RUN_HEAD(test_each_network_has_its_own),
		RUN_HEAD(test_cards_of_the_head),
		RUN_HEAD(test_its_own_network),
		RUN_HEAD(test_the_head_of_a_machine),
		RUN_HEAD(test_a_refusal_changes_nothing),
		RUN_HEAD(test_what_does_not_fit_is_said),
		RUN_HEAD(test_another_server_is_told_the_same),
		RUN_HEAD(test_names_in_the_text),
		RUN_HEAD(test_files_of_names),
		RUN_HEAD(test_a_wrong_name_holds_up_no_other),
		RUN_HEAD(test_files_of_services),
	};
	const struct CMUnitTest worlds[] = {
		RUN_WORLD(test_who_comes_by_a_relay),
		RUN_WORLD(test_a_network_without_a_router),
		RUN_WORLD(test_names_of_nodes),
	};
	int failed = cmocka_run_group_tests(texts, NULL, NULL);
	if (geteuid() != 0)
		return failed;
	return failed + cmocka_run_group_tests(worlds, NULL, NULL);
}
