/* Network cards, bonds, VLANs and bridges as files of systemd-networkd: see internal.h. A card
 * that no setting names keeps what the image says of it. Called by render.c. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ip.h"
#include "site/internal.h"

enum { MODE_READ = 0644, MONITOR_MS = 100 };

static const struct phx_site_network *network_of(const struct phx_site_making *m,
						 const struct phx_site_nic *n)
{
	return phx_site_network_find(&m->s->networks, n->network);
}

static int add(struct phx_site_making *m, const char *name, const char *kind, struct phx_buf *b)
{
	char path[256];
	snprintf(path, sizeof(path), "/etc/systemd/network/10-phoenix-%s.%s", name, kind);
	return phx_site_out_add(m, path, MODE_READ, phx_buf_take(b), NULL);
}

/* ---- devices that are made ---- */

static int make_device(struct phx_site_making *m, const struct phx_site_nic *n)
{
	const struct phx_site_network *network = network_of(m, n);
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	const char *kind = n->members.n ? "bond" : n->ports.n ? "bridge" : "vlan";
	phx_buf_addf(&b, PHX_SITE_MADE "[NetDev]\nName=%s\nKind=%s\n", n->name, kind);
	if (network && network->mtu)
		phx_buf_addf(&b, "MTUBytes=%u\n", network->mtu);
	if (n->members.n)
		phx_buf_addf(&b, "\n[Bond]\nMode=%s\nMIIMonitorSec=%ums\n",
			     n->mode[0] ? n->mode : "active-backup",
			     n->monitor_ms ? n->monitor_ms : MONITOR_MS);
	else if (n->ports.n)
		phx_buf_addf(&b, "\n[Bridge]\nSTP=no\n");
	else
		phx_buf_addf(&b, "\n[VLAN]\nId=%u\n", network ? network->vlan : 0);
	return add(m, n->name, "netdev", &b);
}

/* ---- what they are configured to ---- */

/* By the address that the card was made with: the members of a bond take the bond's. */
static void put_match(struct phx_buf *b, const struct phx_site_nic *n)
{
	char mac[PHX_MAC_MAX];
	phx_buf_addf(b, PHX_SITE_MADE "[Match]\n");
	if (n->mac[0] && phx_mac_parse(n->mac, mac) == 0)
		phx_buf_addf(b, "PermanentMACAddress=%s\n", mac);
	else if (n->path[0])
		phx_buf_addf(b, "Path=%s\n", n->path);
	else
		phx_buf_addf(b, "Name=%s\n", n->name);
}

static void put_address(struct phx_buf *b, const struct phx_site_found_nic *f,
			const struct phx_site_network *network)
{
	char text[PHX_IPV4_MAX];
	struct phx_ipv4_net net;
	uint32_t number;
	if (!strcmp(f->nic.address, "dhcp"))
		phx_buf_addf(b, "DHCP=ipv4\n");
	if (!network || !phx_site_network_subnet(network, &net) ||
	    phx_site_nic_address(f, &number) != 1)
		return;
	phx_ipv4_format(number, text);
	phx_buf_addf(b, "Address=%s/%u\n", text, net.prefix);
	if (f->nic.default_route)
		phx_buf_addf(b, "Gateway=%s\n", network->gateway);
	PHX_LIST_EACH(struct phx_word, w, &network->dns)
		phx_buf_addf(b, "DNS=%s\n", w->text);
	if (network->domain[0])
		phx_buf_addf(b, "Domains=%s\n", network->domain);
}

static void put_address6(struct phx_buf *b, const struct phx_site_nic *n,
			 const struct phx_site_network *network)
{
	if (!n->address6[0] || !network || !network->subnet6[0])
		return;
	phx_buf_addf(b, "Address=%s%s\nIPv6AcceptRA=no\n", n->address6,
		     strchr(network->subnet6, '/'));
	if (n->default_route && network->gateway6[0])
		phx_buf_addf(b, "Gateway=%s\n", network->gateway6);
	if (n->address[0])
		return; /* they are there already, or DHCP tells them */
	PHX_LIST_EACH(struct phx_word, w, &network->dns)
		phx_buf_addf(b, "DNS=%s\n", w->text);
}

/* Of the versions of IP that the card has an address of. */
static void put_routes(struct phx_buf *b, const struct phx_site_nic *n,
		       const struct phx_site_network *network)
{
	struct phx_site_route r;
	if (!network)
		return;
	PHX_LIST_EACH(struct phx_word, w, &network->routes)
		if (phx_site_route_parse(w->text, &r) && (r.v6 ? n->address6 : n->address)[0])
			phx_buf_addf(b, "\n[Route]\nDestination=%s\nGateway=%s\n", r.to, r.via);
}

/* The same client id as the firmware and the deploy environment have, so the same address. */
static void put_dhcp(struct phx_buf *b, const struct phx_site_nic *n)
{
	if (strcmp(n->address, "dhcp") != 0)
		return;
	phx_buf_addf(b, "\n[DHCPv4]\nClientIdentifier=mac\nUseDomains=yes\nUseHostname=no\n");
	if (!n->default_route)
		phx_buf_addf(b, "RouteMetric=2048\n");
}

static int make_network(struct phx_site_making *m, const struct phx_site_found_nic *f)
{
	const struct phx_site_nic *n = &f->nic;
	const struct phx_site_network *network = network_of(m, n);
	const struct phx_site_found_nic *holder = phx_site_nic_holder(m->e, n->name, NULL);
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	put_match(&b, n);
	phx_buf_addf(&b, "\n[Link]\nRequiredForOnline=no\n");
	if (network && network->mtu)
		phx_buf_addf(&b, "MTUBytes=%u\n", network->mtu);
	phx_buf_addf(&b, "\n[Network]\nLinkLocalAddressing=%s\n",
		     n->address6[0] && !holder ? "ipv6" : "no");
	if (holder)
		phx_buf_addf(&b, "%s=%s\n", holder->nic.members.n ? "Bond" : "Bridge",
			     holder->nic.name);
	PHX_LIST_EACH(struct phx_site_found_nic, v, &m->e->nics)
		if (!strcmp(v->nic.parent, n->name))
			phx_buf_addf(&b, "VLAN=%s\n", v->nic.name);
	if (!holder) {
		put_address(&b, f, network);
		put_address6(&b, n, network);
	}
	put_dhcp(&b, n);
	if (!holder)
		put_routes(&b, n, network);
	return add(m, n->name, "network", &b);
}

static int make_nic(struct phx_site_making *m, const struct phx_site_found_nic *f)
{
	const struct phx_site_nic *n = &f->nic;
	bool made = n->members.n || n->ports.n || n->parent[0];
	int r = made ? make_device(m, n) : 0;
	return r ? r : make_network(m, f);
}

int phx_site_make_networkd(struct phx_site_making *m)
{
	return phx_site_each_nic(m, make_nic);
}
