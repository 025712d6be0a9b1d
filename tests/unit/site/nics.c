/* Network cards, bonds, VLANs and bridges of nodes: what is refused, with which words and place;
 * files of systemd-networkd and of NetworkManager. */
#include "unit/site/help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "site/effective.h"
#include "types/node.h"

#define NETWORKS \
	"\"networks\": [{\"name\": \"lan\", \"subnet\": \"10.1.0.0/16\", \"gateway\": " \
	"\"10.1.0.1\", \"dns\": [{\"text\": \"10.1.0.2\"}], \"domain\": \"a.org\", \"place\": " \
	"\"N\"}, {\"name\": \"san\", \"subnet\": \"10.2.0.0/24\", \"vlan\": 20, \"mtu\": 9000, " \
	"\"place\": \"N\"}]"
#define PROFILES(nics) \
	"\"profiles\": [{\"name\": \"p\", \"place\": \"d/p.conf:1\", \"nics\": [" nics "]}]"
#define GROUP(nodes, nics) \
	"{\"nodes\": \"" nodes "\", \"place\": \"d/n.conf:1\", \"nics\": [" nics "]}"
#define SITE(groups) "{" NETWORKS ", \"nodes\": [" groups "]}"
#define NIC(name, line, more) "{\"name\": \"" name "\", \"line\": " #line more "}"
#define A(address) ", \"network\": \"lan\", \"address\": \"" address "\""
#define S(key, text) ", \"" key "\": \"" text "\""
#define L(key, text) ", \"" key "\": [{\"text\": \"" text "\"}]"
#define L2(key, a, b) ", \"" key "\": [{\"text\": \"" a "\"}, {\"text\": \"" b "\"}]"

static const struct wrong settings[] = {
	{SITE(GROUP("n1", NIC("eth0", 2, A("10.1.0.9")))), NULL},
	{SITE(GROUP("n[1-9]", NIC("eth0", 2, S("address", "dhcp")))), NULL},
	{SITE(GROUP("n[1-9]", NIC("eth0", 2, A("pool") S("first", "10.1.0.9")))), NULL},
	{SITE(GROUP("n1", NIC("eth0", 2, A("10.2.0.9")))),
	 "d/n.conf:2: eth0: 10.2.0.9 of n1: network lan"},
	{SITE(GROUP("n1", NIC("eth0", 2, A("10.1.0.1")))), "10.1.0.1 of n1: network lan"},
	{SITE(GROUP("n1", NIC("eth0", 2, A("10.1.0")))), "address '10.1.0' must be"},
	{SITE(GROUP("n1", NIC("eth0", 2, A("pool")))), "needs `first`"},
	{SITE(GROUP("n[1-3]",
		    NIC("eth0", 2,
			S("network", "san") S("address", "pool") S("first", "10.2.0.253")))),
	 "d/n.conf:2: eth0: 10.2.0.255 of n3: network san"},
	{SITE(GROUP("n1", NIC("eth0", 2, S("address", "10.1.0.9")))),
	 "has an address, and no network"},
	{SITE(GROUP("n1", NIC("eth0", 2, S("network", "wan")))), "there is no network 'wan'"},
	/* one mistake of many nodes is said once */
	{SITE(GROUP("n[1-500]", NIC("eth0", 2, S("network", "wan")))), "there is no network 'wan'"},
	{SITE(GROUP("n1", NIC("eth0", 2, A("10.1.0.9"))) "," GROUP("n2",
								   NIC("eth0", 3, A("10.1.0.9")))),
	 "d/n.conf:3: eth0: 10.1.0.9 of n2 is that of n1, too (d/n.conf:2)"},
	{SITE(GROUP("n1", NIC("a", 2, S("mac", "52:54:00:00:00:01"))) "," GROUP(
		 "n2", NIC("b", 3, S("mac", "525400000001")))),
	 "d/n.conf:3: b: 525400000001 of n2 is that of n1, too (d/n.conf:2)"},
	{SITE(GROUP("n1", NIC("a", 2, S("mac", "52:54")))), "mac '52:54' must be"},
	{SITE(GROUP("n1", NIC("a", 2, S("mac", "52:54:00:00:00:01") S("path", "pci-0")))),
	 "has a mac and a path"},
	{SITE(GROUP("n1", NIC("a/b", 2, ""))), "is no name of a device"},
	{SITE(GROUP("n1", NIC("a", 2, S("path", "x\\nName=y")))), "must be as pci-"},
	{SITE(GROUP("n1", NIC("b0", 2, L2("members", "eth0", "eth1")))), NULL},
	{SITE(GROUP("n1", NIC("b0", 2, L2("members", "eth0", "eth0")))), "eth0 is there twice"},
	{SITE(GROUP("n1",
		    NIC("b0", 2, L("members", "eth0")) "," NIC("b1", 3, L("members", "eth1")))),
	 NULL},
	{SITE(GROUP("n1", NIC("b0", 2, L("members", "b0")))), "'b0' is no name of a card"},
	{SITE(GROUP("n1", NIC("b0", 2, L("members", "eth0") S("mode", "fast")))),
	 "mode 'fast' must be"},
	{SITE(GROUP("n1", NIC("eth0", 2, S("mode", "802.3ad")))), "has mode or monitor_ms, and no"},
	{SITE(GROUP("n1", NIC("b0", 2, L("members", "eth0") L("ports", "eth1")))),
	 "is one of a bond"},
	{SITE(GROUP("n1", NIC("b0", 2, L("members", "eth0") S("mac", "52:54:00:00:00:01")))),
	 "which are of a card"},
	{SITE(GROUP("n1",
		    NIC("eth0", 2, S("address", "dhcp")) "," NIC("b0", 3, L("members", "eth0")))),
	 "d/n.conf:2: eth0: is part of b0"},
	{SITE(GROUP("n1",
		    NIC("v", 2, S("parent", "eth0") S("network", "san")) "," NIC("eth0", 3, ""))),
	 NULL},
	{SITE(GROUP("n1", NIC("v", 2, S("parent", "eth0") S("network", "san")))),
	 "parent eth0 is none"},
	{SITE(GROUP("n1",
		    NIC("v", 2, S("parent", "eth0") S("network", "lan")) "," NIC("eth0", 3, ""))),
	 "and lan has no vlan"},
	{SITE(GROUP("n1", NIC("v", 2, S("parent", "eth0")) "," NIC("eth0", 3, ""))),
	 "no network has no vlan"},
	{SITE(GROUP("n1",
		    NIC("e", 2, "") "," NIC("v", 3, S("parent", "e") S("network", "san")) "," NIC(
			    "w", 4, S("parent", "v") S("network", "san")))),
	 "d/n.conf:4: w: its parent v must be a card"},
	{SITE(GROUP("n1", NIC("e", 2, S("network", "san") ", \"default_route\": true"))),
	 "its network no gateway"},
	{SITE(GROUP("n1",
		    NIC("e", 2, S("network", "lan") ", \"default_route\": true") "," NIC(
			    "f", 3, S("network", "lan") ", \"default_route\": true"))),
	 "d/n.conf:3: f: has the default route, and so has e"},
	{"{" NETWORKS
	 ", " PROFILES(NIC("eth0", 7, A("10.1.0.9"))) ", \"nodes\": [{\"nodes\": \"n1\", "
						      "\"place\": \"d/n.conf:1\", \"profiles\": "
						      "[{\"name\": \"p\", \"text\": \"p\"}]}]}",
	 "d/p.conf:7: eth0: its address stands in profile p"},
	{"{\"files\": [{\"path\": \"/etc/systemd/network/10-phoenix-eth0.network\", \"owner\": "
	 "\"root\", "
	 "\"group\": \"root\", \"mode\": \"0644\", \"place\": \"P\"}]}",
	 "it is made of `nics`"},
};

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(settings); i++)
		check_wrong(&settings[i]);
}

/* Two bonds and a bridge that share a card: each says it. */
static void a_card_is_in_one_bond(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf said = {0};
	struct phx_site s;
	(void)state;
	parse(SITE(GROUP(
		      "n1",
		      NIC("b0", 2, L("members", "eth0")) "," NIC("b1", 3, L("members", "eth0")))),
	      &s);
	assert_int_equal(phx_site_check(&s, add_line, &said), 2);
	assert_non_null(strstr(said.data, "d/n.conf:2: b0: eth0 is in b1, too"));
	assert_non_null(strstr(said.data, "d/n.conf:3: b1: eth0 is in b0, too"));
	phx_record_fini(&phx_site_record, &s);
}

/* ---- files ---- */

/* nics.json: lines are where things would be written in d/p.conf and d/n.conf */
static void load(struct phx_site *ret)
{
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(TEST_DIR "/unit/site/nics.json", 1 << 16, &text, NULL, NULL),
			 0);
	parse(text, ret);
}

static void render(const char *os, struct phx_site_bundle *ret)
{
	struct phx_list none = {0};
	struct phx_site s;
	struct phx_site_index *ix;
	const struct phx_site_node n = {"n3", "10.0.0.9", "role", "pool", os, &none};
	load(&s);
	assert_int_equal(phx_site_index_new(&s, &ix), 0);
	assert_int_equal(phx_site_render(ix, &n, ret, NULL), 0);
	phx_site_index_free(ix);
	phx_record_fini(&phx_site_record, &s);
}

struct expected {
	const char *name, *text;
};

static void files_are(const struct phx_site_bundle *b, const char *before, const char *after,
		      uint32_t mode, const struct expected *files, uint32_t n)
{
	uint32_t there = 0;
	PHX_LIST_EACH(struct phx_site_out, f, &b->files)
		there += phx_site_is_network(f->path);
	assert_int_equal(there, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct phx_site_out *found = NULL;
		char path[256];
		snprintf(path, sizeof(path), "%s%s%s", before, files[i].name, after);
		PHX_LIST_EACH(struct phx_site_out, f, &b->files)
			found = !strcmp(f->path, path) ? f : found;
		if (!found)
			fail_msg("there is no %s", path);
		assert_int_equal(found->mode, mode);
		assert_string_equal(phx_text(found->text), files[i].text);
	}
}

#define MADE "# made by phx-agent from the settings of the site\n"

/* n3 is the third of its group: the pools count to it. */
static void networkd_has_its_files(void **state)
{
	static const struct expected files[] = {
		{"left.network",
		 MADE "[Match]\nPermanentMACAddress=52:54:00:00:00:0a\n\n[Link]\n"
		      "RequiredForOnline=no\n\n[Network]\nLinkLocalAddressing=no\nBond=bond0\n"},
		{"eth7.network",
		 MADE "[Match]\nName=eth7\n\n[Link]\nRequiredForOnline=no\n\n[Network]\n"
		      "LinkLocalAddressing=no\nBond=bond0\n"},
		{"bond0.netdev",
		 MADE "[NetDev]\nName=bond0\nKind=bond\n\n[Bond]\nMode=802.3ad\n"
		      "MIIMonitorSec=50ms\n"},
		{"bond0.network",
		 MADE "[Match]\nName=bond0\n\n[Link]\nRequiredForOnline=no\n\n[Network]\n"
		      "LinkLocalAddressing=no\nVLAN=bond0.20\nAddress=10.1.0.13/16\n"
		      "Gateway=10.1.0.1\nDNS=10.1.0.2\nDomains=a.org\n"},
		{"bond0.20.netdev",
		 MADE "[NetDev]\nName=bond0.20\nKind=vlan\nMTUBytes=9000\n\n[VLAN]\n"
		      "Id=20\n"},
		{"bond0.20.network",
		 MADE "[Match]\nName=bond0.20\n\n[Link]\nRequiredForOnline=no\nMTUBytes=9000\n\n"
		      "[Network]\nLinkLocalAddressing=no\nAddress=10.2.0.13/24\n"},
		{"br0.netdev", MADE "[NetDev]\nName=br0\nKind=bridge\n\n[Bridge]\nSTP=no\n"},
		{"br0.network",
		 MADE "[Match]\nName=br0\n\n[Link]\nRequiredForOnline=no\n\n[Network]\n"
		      "LinkLocalAddressing=no\nDHCP=ipv4\n\n[DHCPv4]\n"
		      "ClientIdentifier=mac\nUseDomains=yes\nUseHostname=no\n"
		      "RouteMetric=2048\n"},
		{"eth2.network",
		 MADE "[Match]\nName=eth2\n\n[Link]\nRequiredForOnline=no\n\n[Network]\n"
		      "LinkLocalAddressing=no\nBridge=br0\n"},
	};
	struct phx_site_bundle b;
	(void)state;
	render("Debian GNU/Linux 12 (bookworm)", &b);
	files_are(&b, "/etc/systemd/network/10-phoenix-", "", 0644, files, PHX_ARRAY_SIZE(files));
	phx_record_fini(&phx_site_bundle_record, &b);
}

static void network_manager_has_its_files(void **state)
{
	struct phx_site_bundle b;
	char bond[40] = "";
	(void)state;
	render("Rocky Linux 9.4 (Blue Onyx)", &b);
	const struct phx_site_out *left = NULL, *eth7 = NULL, *vlan = NULL, *bonded = NULL;
	uint32_t n = 0;
	PHX_LIST_EACH(struct phx_site_out, f, &b.files) {
		if (!phx_site_is_network(f->path))
			continue;
		n++;
		assert_int_equal(f->mode, 0600);
		left = strstr(f->path, "/phoenix-left.nmconnection") ? f : left;
		eth7 = strstr(f->path, "/phoenix-eth7.nmconnection") ? f : eth7;
		vlan = strstr(f->path, "/phoenix-bond0.20.nmconnection") ? f : vlan;
		bonded = strstr(f->path, "/phoenix-bond0.nmconnection") ? f : bonded;
	}
	assert_int_equal(n, 6);
	assert_true(left && eth7 && vlan && bonded);
	sscanf(strstr(bonded->text, "uuid="), "uuid=%39s", bond);
	assert_int_equal(strlen(bond), 36);
	char want[64];
	snprintf(want, sizeof(want), "master=%s\nslave-type=bond\n", bond);
	assert_non_null(strstr(left->text, want));
	assert_non_null(strstr(eth7->text, want));
	assert_non_null(strstr(left->text, "mac-address=52:54:00:00:00:0a\n"));
	assert_null(strstr(left->text, "interface-name"));
	assert_null(strstr(left->text, "[ipv4]"));
	assert_non_null(strstr(eth7->text, "interface-name=eth7\n"));
	assert_non_null(strstr(bonded->text, "type=bond\n"));
	assert_non_null(strstr(bonded->text, "[bond]\nmode=802.3ad\nmiimon=50\n"));
	assert_non_null(strstr(bonded->text,
			       "[ipv4]\nmethod=manual\naddress1=10.1.0.13/16,10.1.0.1\n"
			       "dns=10.1.0.2;\ndns-search=a.org;\n\n[ipv6]\n"));
	snprintf(want, sizeof(want), "[vlan]\nid=20\nparent=%s\n", bond);
	assert_non_null(strstr(vlan->text, want));
	assert_non_null(strstr(vlan->text, "[ethernet]\nmtu=9000\n"));
	assert_non_null(strstr(vlan->text, "address1=10.2.0.13/24\nnever-default=true\n"));
	phx_record_fini(&phx_site_bundle_record, &b);
}

/* ---- IPv6 and routes ---- */

#define SIX \
	"{\"networks\": [{\"name\": \"lan\", \"subnet\": \"10.1.0.0/16\", \"gateway\": " \
	"\"10.1.0.1\", \"subnet6\": \"fd00:1::/64\", \"gateway6\": \"fe80::1\", \"dns\": " \
	"[{\"text\": \"10.1.0.2\"}, {\"text\": \"fd00:1::2\"}], \"routes\": [{\"text\": " \
	"\"10.9.0.0/16 via 10.1.0.254\"}, {\"text\": \"fd00:9::/64 via fd00:1::fe\"}], " \
	"\"place\": " \
	"\"N\"}, {\"name\": \"san\", \"subnet\": \"10.2.0.0/24\", \"place\": \"N\"}], " \
	"\"nodes\": ["
#define SIX_SITE(groups) SIX groups "]}"
#define A6(address) S("network", "lan") S("address6", address)
#define ROUTE(text) \
	"{\"networks\": [{\"name\": \"lan\", \"subnet\": \"10.1.0.0/16\", \"subnet6\": " \
	"\"fd00:1::/64\", \"routes\": [" text "], \"place\": \"N\"}]}"
#define T(text) "{\"text\": \"" text "\"}"

static const struct wrong sixes[] = {
	{SIX_SITE(GROUP("n1", NIC("eth0", 2, A6("fd00:1::9")))), NULL},
	{SIX_SITE(GROUP("n1", NIC("eth0", 2, A6("fd00:2::9")))),
	 "d/n.conf:2: eth0: address6 fd00:2::9 lies outside fd00:1::/64"},
	{SIX_SITE(GROUP("n1", NIC("eth0", 2, A6("10.1.0.9")))), "is no IPv6 address"},
	{SIX_SITE(GROUP("n1", NIC("eth0", 2, S("network", "san") S("address6", "fd00:1::9")))),
	 "its network no subnet6"},
	{SIX_SITE(GROUP("n1", NIC("eth0", 2, A6("fd00:1::9"))) "," GROUP(
		 "n2", NIC("eth0", 3, A6("fd00:1:0::9")))),
	 "d/n.conf:3: eth0: fd00:1:0::9 of n2 is that of n1, too (d/n.conf:2)"},
	{SIX_SITE(GROUP("n1",
			NIC("eth0", 2, A6("fd00:1::9")) "," NIC("b0", 3, L("members", "eth0")))),
	 "d/n.conf:2: eth0: is part of b0"},
	{ROUTE(T("10.9.0.0/16 via 10.1.0.9") "," T("fd00:9::/64 via fe80::9")), NULL},
	{ROUTE(T("10.9.0.0/16 via 10.2.0.9")), "10.2.0.9 lies outside 10.1.0.0/16"},
	{ROUTE(T("10.9.0.0/16 via 10.1.255.255")), "10.1.255.255 lies outside"},
	{ROUTE(T("fd00:9::/64 via fd00:2::9")), "fd00:2::9 lies outside fd00:1::/64"},
	{ROUTE(T("10.9.0.0/16 via fd00:1::9")), "must be as"},
	{ROUTE(T("10.9.0.1/16 via 10.1.0.9")), "begin with its first address"},
	{ROUTE(T("10.9.0.0/16")), "must be as"},
	{ROUTE(T("10.1.0.0/16 via 10.1.0.9")), "leads to the network itself"},
	{ROUTE(T("10.9.0.0/16 via 10.1.0.9") "," T("10.9.0.0/16 via 10.1.0.8")),
	 "two routes lead to 10.9.0.0/16"},
};

static void what_is_wrong_with_routes_is_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(sixes); i++)
		check_wrong(&sixes[i]);
}

/* The file of n1's eth0 ends so. */
static void ends(const char *more, const char *os, const char *want)
{
	PHX_AUTO_FREE char *text =
		phx_path("%s{\"nodes\": \"n1\", \"place\": \"d/n.conf:1\", \"nics\": [{\"name\": "
			 "\"eth0\", \"line\": 2, \"network\": \"lan\"%s}]}]}",
			 SIX, more);
	struct phx_list none = {0};
	const struct phx_site_node n = {"n1", "10.0.0.9", "role", "pool", os, &none};
	struct phx_site_index *ix;
	struct phx_site_bundle b;
	struct phx_site s;
	const char *found = "";
	parse(text, &s);
	assert_int_equal(phx_site_index_new(&s, &ix), 0);
	assert_int_equal(phx_site_render(ix, &n, &b, NULL), 0);
	PHX_LIST_EACH(struct phx_site_out, f, &b.files)
		found = phx_site_is_network(f->path) ? f->text : found;
	if (strlen(found) < strlen(want))
		fail_msg("%s", found);
	assert_string_equal(found + strlen(found) - strlen(want), want);
	phx_record_fini(&phx_site_bundle_record, &b);
	phx_site_index_free(ix);
	phx_record_fini(&phx_site_record, &s);
}

#define OUT ", \"default_route\": true"
#define ROUTE4 "\n[Route]\nDestination=10.9.0.0/16\nGateway=10.1.0.254\n"
#define ROUTE6 "\n[Route]\nDestination=fd00:9::/64\nGateway=fd00:1::fe\n"

static void networkd_has_routes(void **state)
{
	(void)state;
	ends(S("address", "10.1.0.9") S("address6", "fd00:1::9") OUT, "Debian GNU/Linux 12",
	     "[Network]\nLinkLocalAddressing=ipv6\nAddress=10.1.0.9/16\nGateway=10.1.0.1\n"
	     "DNS=10.1.0.2\nDNS=fd00:1::2\nAddress=fd00:1::9/64\nIPv6AcceptRA=no\n"
	     "Gateway=fe80::1\n" ROUTE4 ROUTE6);
	ends(S("address6", "fd00:1::9"), "Debian GNU/Linux 12",
	     "[Network]\nLinkLocalAddressing=ipv6\nAddress=fd00:1::9/64\nIPv6AcceptRA=no\n"
	     "DNS=10.1.0.2\nDNS=fd00:1::2\n" ROUTE6);
	ends(S("address", "10.1.0.9"), "Debian GNU/Linux 12",
	     "LinkLocalAddressing=no\nAddress=10.1.0.9/16\nDNS=10.1.0.2\nDNS=fd00:1::2\n" ROUTE4);
}

static void network_manager_has_routes(void **state)
{
	(void)state;
	ends(S("address", "10.1.0.9") S("address6", "fd00:1::9") OUT, "Rocky Linux 9.4",
	     "[ipv4]\nmethod=manual\naddress1=10.1.0.9/16,10.1.0.1\ndns=10.1.0.2;\n"
	     "route1=10.9.0.0/16,10.1.0.254\n\n[ipv6]\nmethod=manual\n"
	     "address1=fd00:1::9/64,fe80::1\ndns=fd00:1::2;\nroute1=fd00:9::/64,fd00:1::fe\n");
	ends(S("address", "dhcp"), "Rocky Linux 9.4",
	     "[ipv4]\nmethod=auto\nroute1=10.9.0.0/16,10.1.0.254\ndhcp-client-id=mac\n\n[ipv6]\n"
	     "method=disabled\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(a_card_is_in_one_bond),
		cmocka_unit_test(networkd_has_its_files),
		cmocka_unit_test(network_manager_has_its_files),
		cmocka_unit_test(what_is_wrong_with_routes_is_said),
		cmocka_unit_test(networkd_has_routes),
		cmocka_unit_test(network_manager_has_routes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
