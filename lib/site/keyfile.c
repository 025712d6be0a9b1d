/* Network cards, bonds, VLANs and bridges as files of NetworkManager: see internal.h. A card that
 * no setting names keeps what the image says of it. Called by render.c. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ip.h"
#include "base/mix.h"
#include "site/internal.h"

enum { MODE_SECRET = 0600, MONITOR_MS = 100, UUID_MAX = 37 };

bool phx_site_has_network_manager(const struct phx_site_node *n)
{
	static const char *const names[] = {"Red Hat", "Rocky",  "AlmaLinux", "CentOS",
					    "Fedora",  "Oracle", "openSUSE",  "SUSE"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		if (phx_str_starts(phx_text(n->os), names[i]))
			return true;
	return false;
}

/* One connection names another by its UUID: a card found by its MAC address has any name. */
static void uuid_of(const struct phx_site_making *m, const char *nic, char ret[UUID_MAX])
{
	uint64_t a = phx_mix_text(phx_mix_text(PHX_MIX_NONE, m->n->name), nic);
	uint64_t b = phx_mix_text(phx_mix_text(a, "phoenix"), nic);
	snprintf(ret, UUID_MAX, "%08x-%04x-5%03x-8%03x-%012llx", (unsigned)(a >> 32),
		 (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(b >> 48 & 0xfff),
		 (unsigned long long)(b & 0xffffffffffffULL));
}

static const char *type_of(const struct phx_site_nic *n)
{
	return n->members.n ? "bond" : n->ports.n ? "bridge" : n->parent[0] ? "vlan" : "ethernet";
}

static void put_connection(const struct phx_site_making *m, struct phx_buf *b,
			   const struct phx_site_nic *n)
{
	const struct phx_site_found_nic *holder = phx_site_nic_holder(m->e, n->name, NULL);
	char uuid[UUID_MAX];
	uuid_of(m, n->name, uuid);
	phx_buf_addf(b,
		     PHX_SITE_MADE "[connection]\nid=phoenix-%s\nuuid=%s\ntype=%s\n"
				   "autoconnect-priority=100\n",
		     n->name, uuid, type_of(n));
	if (!n->mac[0] && !n->path[0])
		phx_buf_addf(b, "interface-name=%s\n", n->name);
	if (n->members.n || n->ports.n)
		phx_buf_addf(b, "autoconnect-slaves=1\n");
	if (holder) {
		uuid_of(m, holder->nic.name, uuid);
		phx_buf_addf(b, "master=%s\nslave-type=%s\n", uuid, type_of(&holder->nic));
	}
	if (n->path[0])
		phx_buf_addf(b, "\n[match]\npath=%s\n", n->path);
}

static void put_kind(const struct phx_site_making *m, struct phx_buf *b,
		     const struct phx_site_nic *n, const struct phx_site_network *network)
{
	char mac[PHX_MAC_MAX], uuid[UUID_MAX];
	phx_buf_addf(b, "\n[ethernet]\n");
	if (n->mac[0] && phx_mac_parse(n->mac, mac) == 0)
		phx_buf_addf(b, "mac-address=%s\n", mac);
	if (network && network->mtu)
		phx_buf_addf(b, "mtu=%u\n", network->mtu);
	if (n->members.n)
		phx_buf_addf(b, "\n[bond]\nmode=%s\nmiimon=%u\n",
			     n->mode[0] ? n->mode : "active-backup",
			     n->monitor_ms ? n->monitor_ms : MONITOR_MS);
	else if (n->ports.n)
		phx_buf_addf(b, "\n[bridge]\nstp=false\n");
	else if (n->parent[0]) {
		uuid_of(m, n->parent, uuid);
		phx_buf_addf(b, "\n[vlan]\nid=%u\nparent=%s\n", network ? network->vlan : 0, uuid);
	}
}

static void put_dns(struct phx_buf *b, const struct phx_site_network *network, bool v6)
{
	unsigned n = 0;
	PHX_LIST_EACH(struct phx_word, w, &network->dns)
		if (!strchr(w->text, ':') == !v6)
			phx_buf_addf(b, "%s%s;", n++ ? "" : "dns=", w->text);
	if (n)
		phx_buf_addf(b, "\n");
}

static void put_routes(struct phx_buf *b, const struct phx_site_network *network, bool v6)
{
	struct phx_site_route r;
	unsigned n = 0;
	PHX_LIST_EACH(struct phx_word, w, &network->routes)
		if (phx_site_route_parse(w->text, &r) && r.v6 == v6)
			phx_buf_addf(b, "route%u=%s,%s\n", ++n, r.to, r.via);
}

static void put_ip6(struct phx_buf *b, const struct phx_site_nic *n,
		    const struct phx_site_network *network)
{
	bool fixed = n->address6[0] && network && network->subnet6[0];
	bool out = fixed && n->default_route && network->gateway6[0];
	phx_buf_addf(b, "\n[ipv6]\nmethod=%s\n", fixed ? "manual" : "disabled");
	if (!fixed)
		return;
	phx_buf_addf(b, "address1=%s%s%s%s\n", n->address6, strchr(network->subnet6, '/'),
		     out ? "," : "", out ? network->gateway6 : "");
	put_dns(b, network, true);
	put_routes(b, network, true);
	if (!out)
		phx_buf_addf(b, "never-default=true\n");
}

static void put_ip(struct phx_buf *b, const struct phx_site_found_nic *f,
		   const struct phx_site_network *network)
{
	char text[PHX_IPV4_MAX];
	struct phx_ipv4_net net;
	uint32_t number;
	bool dhcp = !strcmp(f->nic.address, "dhcp");
	bool fixed = network && phx_site_network_subnet(network, &net) &&
		phx_site_nic_address(f, &number) == 1;
	phx_buf_addf(b, "\n[ipv4]\nmethod=%s\n", dhcp ? "auto" : fixed ? "manual" : "disabled");
	if (fixed) {
		phx_ipv4_format(number, text);
		phx_buf_addf(b, "address1=%s/%u%s%s\n", text, net.prefix,
			     f->nic.default_route ? "," : "",
			     f->nic.default_route ? network->gateway : "");
		put_dns(b, network, false);
		if (network->domain[0])
			phx_buf_addf(b, "dns-search=%s;\n", network->domain);
	}
	if (network && (fixed || dhcp))
		put_routes(b, network, false);
	if (fixed && !f->nic.default_route)
		phx_buf_addf(b, "never-default=true\n");
	if (dhcp)
		phx_buf_addf(b, "dhcp-client-id=mac\n");
	put_ip6(b, &f->nic, network);
}

static int make_connection(struct phx_site_making *m, const struct phx_site_found_nic *f)
{
	const struct phx_site_network *network =
		phx_site_network_find(&m->s->networks, f->nic.network);
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char path[256];
	put_connection(m, &b, &f->nic);
	put_kind(m, &b, &f->nic, network);
	if (!phx_site_nic_holder(m->e, f->nic.name, NULL))
		put_ip(&b, f, network);
	snprintf(path, sizeof(path),
		 "/etc/NetworkManager/system-connections/phoenix-%s.nmconnection", f->nic.name);
	return phx_site_out_add(m, path, MODE_SECRET, phx_buf_take(&b), NULL);
}

int phx_site_make_keyfiles(struct phx_site_making *m)
{
	return phx_site_each_nic(m, make_connection);
}
