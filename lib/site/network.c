/* Networks of a site, and what is wrong with them: see network.h. Called by check.c, and by phxd
 * for addresses of nodes and for its DHCP server. Pure. */
#include "site/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

PHX_RECORD_TABLE(phx_site_network, PHX_SITE_NETWORK_FIELDS);

enum { MTU_MIN = 576, MTU_MAX = 9216, VLAN_MAX = 4094 };

/* ---- what is found in them ---- */

const struct phx_site_network *phx_site_network_find(const struct phx_list *networks,
						     const char *name)
{
	PHX_LIST_EACH(struct phx_site_network, n, networks)
		if (!strcmp(n->name, name))
			return n;
	return NULL;
}

bool phx_site_network_subnet(const struct phx_site_network *n, struct phx_ipv4_net *ret)
{
	uint32_t address;
	struct phx_ipv4_net net;
	if (!phx_ipv4_net_parse(n->subnet, &net, &address) || address != net.base ||
	    net.prefix < PHX_SITE_SUBNET_MIN || net.prefix > PHX_SITE_SUBNET_MAX)
		return false;
	*ret = net;
	return true;
}

const struct phx_site_network *phx_site_network_of(const struct phx_list *networks,
						   const char *address)
{
	uint32_t number;
	struct phx_ipv4_net net;
	if (!phx_ipv4_parse(address, &number))
		return NULL;
	PHX_LIST_EACH(struct phx_site_network, n, networks)
		if (phx_site_network_subnet(n, &net) && phx_ipv4_net_has(&net, number))
			return n;
	return NULL;
}

/* Is it an address that one machine can have? */
static bool is_inside(const struct phx_ipv4_net *net, uint32_t address)
{
	return phx_ipv4_net_has(net, address) && address != net->base &&
		address != phx_ipv4_net_last(net);
}

int phx_site_network_takes(const struct phx_site_network *n, const char *address,
			   struct phx_err *err)
{
	struct phx_ipv4_net net;
	uint32_t number;
	if (!phx_ipv4_parse(address, &number))
		return phx_err_set(err, -EINVAL, "'%.60s' is no IPv4 address", address);
	if (!phx_site_network_subnet(n, &net) || !is_inside(&net, number))
		return phx_err_set(err, -ERANGE,
				   "%s is no address for a machine in network %s (%s)", address,
				   n->name, n->subnet);
	if (!strcmp(address, n->gateway) || !strcmp(address, n->head))
		return phx_err_set(err, -EADDRINUSE, "%s is the address of the %s of network %s",
				   address, strcmp(address, n->head) ? "gateway" : "head", n->name);
	return 0;
}

bool phx_site_network_has6(const struct phx_site_network *n, const char *address)
{
	uint8_t net[PHX_IPV6_BYTES], bytes[PHX_IPV6_BYTES];
	uint32_t prefix;
	return phx_ipv6_net_parse(n->subnet6, net, &prefix) && phx_ipv6_parse(address, bytes) &&
		phx_ipv6_share(net, bytes, prefix);
}

bool phx_site_route_parse(const char *text, struct phx_site_route *ret)
{
	static const char between[] = " via ";
	const char *via = strstr(text, between);
	struct phx_site_route route = {.v6 = strchr(text, ':') != NULL};
	struct phx_ipv4_net net;
	uint8_t bytes[PHX_IPV6_BYTES];
	uint32_t number;
	size_t n = via ? (size_t)(via - text) : 0;
	if (!via || n >= sizeof(route.to))
		return false;
	memcpy(route.to, text, n);
	if (phx_str_copy(route.via, sizeof(route.via), via + strlen(between)) < 0)
		return false;
	bool right = route.v6
		? phx_ipv6_net_parse(route.to, bytes, &number) && phx_ipv6_parse(route.via, bytes)
		: phx_ipv4_net_parse(route.to, &net, &number) && number == net.base &&
			phx_ipv4_parse(route.via, &number);
	if (right)
		*ret = route;
	return right;
}

/* ---- what is wrong with one ---- */

static bool check_subnet(struct phx_site_checking *c, const struct phx_site_network *n,
			 struct phx_ipv4_net *ret)
{
	uint32_t address;
	char base[PHX_IPV4_MAX];
	if (phx_site_network_subnet(n, ret))
		return true;
	if (!phx_ipv4_net_parse(n->subnet, ret, &address)) {
		phx_site_complain(c, n->place, "network %s: subnet '%s' must be as \"10.1.0.0/16\"",
				  n->name, n->subnet);
	} else if (ret->prefix < PHX_SITE_SUBNET_MIN || ret->prefix > PHX_SITE_SUBNET_MAX) {
		phx_site_complain(c, n->place,
				  "network %s: subnet %s: behind the / stands a number from %d to "
				  "%d",
				  n->name, n->subnet, PHX_SITE_SUBNET_MIN, PHX_SITE_SUBNET_MAX);
	} else {
		phx_ipv4_format(ret->base, base);
		phx_site_complain(c, n->place,
				  "network %s: subnet %s is an address in one: write %s/%u",
				  n->name, n->subnet, base, ret->prefix);
	}
	return false;
}

static void check_inside(struct phx_site_checking *c, const struct phx_site_network *n,
			 const struct phx_ipv4_net *net, const char *key, const char *text)
{
	uint32_t address;
	if (!text[0])
		return;
	if (!phx_ipv4_parse(text, &address))
		phx_site_complain(c, n->place, "network %s: %s '%s' is no IPv4 address", n->name,
				  key, text);
	else if (!is_inside(net, address))
		phx_site_complain(c, n->place,
				  "network %s: %s %s is no address for a machine in %s", n->name,
				  key, text, n->subnet);
}

static void check_not_in_range(struct phx_site_checking *c, const struct phx_site_network *n,
			       const char *key, const char *text)
{
	uint32_t address, first, last;
	if (phx_ipv4_parse(text, &address) && phx_ipv4_parse(n->range.first, &first) &&
	    phx_ipv4_parse(n->range.last, &last) && address >= first && address <= last)
		phx_site_complain(c, n->place,
				  "network %s: %s %s lies within the range of unknown machines, "
				  "%s-%s",
				  n->name, key, text, n->range.first, n->range.last);
}

static void check_range(struct phx_site_checking *c, const struct phx_site_network *n,
			const struct phx_ipv4_net *net)
{
	uint32_t first, last;
	if (!n->range.first[0] && !n->range.last[0])
		return;
	check_inside(c, n, net, "range", n->range.first[0] ? n->range.first : "?");
	check_inside(c, n, net, "range", n->range.last[0] ? n->range.last : "?");
	if (phx_ipv4_parse(n->range.first, &first) && phx_ipv4_parse(n->range.last, &last) &&
	    first > last)
		phx_site_complain(c, n->place, "network %s: range %s-%s ends before it begins",
				  n->name, n->range.first, n->range.last);
	check_not_in_range(c, n, "gateway", n->gateway);
	check_not_in_range(c, n, "head", n->head);
}

static bool is_own_link(const char *address)
{
	uint8_t bytes[PHX_IPV6_BYTES];
	return phx_ipv6_parse(address, bytes) && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

static void check_ipv6(struct phx_site_checking *c, const struct phx_site_network *n)
{
	uint8_t net[PHX_IPV6_BYTES], gateway[PHX_IPV6_BYTES];
	uint32_t prefix = 0;
	bool right = phx_ipv6_net_parse(n->subnet6, net, &prefix) && prefix >= 16 && prefix <= 126;
	if (n->subnet6[0] && !right)
		phx_site_complain(c, n->place,
				  "network %s: subnet6 '%s' must be as \"fd00:1::/64\"", n->name,
				  n->subnet6);
	if (!n->gateway6[0])
		return;
	if (!n->subnet6[0])
		phx_site_complain(c, n->place, "network %s: gateway6 needs subnet6", n->name);
	else if (!phx_ipv6_parse(n->gateway6, gateway))
		phx_site_complain(c, n->place, "network %s: gateway6 '%s' is no IPv6 address",
				  n->name, n->gateway6);
	/* routers often name their link's own address */
	else if (right && !phx_ipv6_share(net, gateway, prefix) && !is_own_link(n->gateway6))
		phx_site_complain(c, n->place, "network %s: gateway6 %s lies outside %s", n->name,
				  n->gateway6, n->subnet6);
}

static void check_route(struct phx_site_checking *c, const struct phx_site_network *n,
			const struct phx_ipv4_net *net, const char *text)
{
	struct phx_site_route route;
	uint32_t via;
	if (!phx_site_route_parse(text, &route)) {
		phx_site_complain(c, n->place,
				  "network %s: route '%s' must be as \"10.9.0.0/16 via "
				  "10.1.0.254\", and its net begin with its first address",
				  n->name, text);
		return;
	}
	bool there = route.v6 ? phx_site_network_has6(n, route.via) || is_own_link(route.via)
			      : phx_ipv4_parse(route.via, &via) && is_inside(net, via);
	if (!there)
		phx_site_complain(c, n->place, "network %s: route '%s': %s lies outside %s",
				  n->name, text, route.via, route.v6 ? n->subnet6 : n->subnet);
	if (!strcmp(route.to, n->subnet) || !strcmp(route.to, n->subnet6))
		phx_site_complain(c, n->place, "network %s: route '%s' leads to the network itself",
				  n->name, text);
}

/* Two to one net: the first word of each. */
static void check_routes(struct phx_site_checking *c, const struct phx_site_network *n,
			 const struct phx_ipv4_net *net)
{
	PHX_LIST_EACH(struct phx_word, w, &n->routes) {
		size_t to = strcspn(w->text, " ") + 1;
		check_route(c, n, net, w->text);
		for (const struct phx_word *b = n->routes.items; b < w; b++)
			if (!strncmp(b->text, w->text, to))
				phx_site_complain(c, n->place,
						  "network %s: two routes lead to %.*s", n->name,
						  (int)to - 1, w->text);
	}
}

static void check_dns(struct phx_site_checking *c, const struct phx_site_network *n)
{
	const struct phx_word *words = n->dns.items;
	uint8_t v6[PHX_IPV6_BYTES];
	uint32_t v4;
	for (uint32_t i = 0; i < n->dns.n; i++) {
		if (!phx_ipv4_parse(words[i].text, &v4) && !phx_ipv6_parse(words[i].text, v6))
			phx_site_complain(c, n->place, "network %s: dns '%s' is no IP address",
					  n->name, words[i].text);
		for (uint32_t k = 0; k < i; k++)
			if (!strcmp(words[k].text, words[i].text))
				phx_site_complain(c, n->place, "network %s: dns %s is there twice",
						  n->name, words[i].text);
	}
}

static bool is_card(const char *s)
{
	return strlen(s) ==
		strspn(s,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		       "0123456789-_.");
}

static void check_words(struct phx_site_checking *c, const struct phx_site_network *n)
{
	if (!phx_name_valid(n->name))
		phx_site_complain(c, n->place, "'%s' is no name of a network", n->name);
	if (n->mtu && (n->mtu < MTU_MIN || n->mtu > MTU_MAX))
		phx_site_complain(c, n->place, "network %s: mtu %u must be from %d to %d, or 0",
				  n->name, n->mtu, MTU_MIN, MTU_MAX);
	if (n->vlan > VLAN_MAX)
		phx_site_complain(c, n->place, "network %s: vlan %u must be from 1 to %d, or 0",
				  n->name, n->vlan, VLAN_MAX);
	if (n->domain[0] && !phx_site_is_host(n->domain))
		phx_site_complain(c, n->place, "network %s: domain '%s' is no name of a domain",
				  n->name, n->domain);
	if (!is_card(n->interface))
		phx_site_complain(c, n->place, "network %s: interface '%s' is no name of a card",
				  n->name, n->interface);
	if (n->relay && n->interface[0])
		phx_site_complain(c, n->place,
				  "network %s: with relay the head has no card in it, and "
				  "interface names one",
				  n->name);
}

/* ---- what is wrong with two ---- */

static void check_twins(struct phx_site_checking *c, const struct phx_site_network *b,
			const struct phx_site_network *n)
{
	struct phx_ipv4_net net, other;
	uint8_t net6[PHX_IPV6_BYTES], other6[PHX_IPV6_BYTES];
	uint32_t bits, other_bits;
	if (!strcmp(b->name, n->name))
		phx_site_complain(c, n->place, "network %s is there twice: also %s", n->name,
				  b->place);
	if (n->vlan && b->vlan == n->vlan)
		phx_site_complain(c, n->place, "network %s has the VLAN %u of network %s (%s)",
				  n->name, n->vlan, b->name, b->place);
	if (phx_site_network_subnet(n, &net) && phx_site_network_subnet(b, &other) &&
	    (phx_ipv4_net_has(&net, other.base) || phx_ipv4_net_has(&other, net.base)))
		phx_site_complain(c, n->place, "network %s: %s overlaps with network %s, %s (%s)",
				  n->name, n->subnet, b->name, b->subnet, b->place);
	if (phx_ipv6_net_parse(n->subnet6, net6, &bits) &&
	    phx_ipv6_net_parse(b->subnet6, other6, &other_bits) &&
	    phx_ipv6_share(net6, other6, bits < other_bits ? bits : other_bits))
		phx_site_complain(c, n->place, "network %s: %s overlaps with network %s, %s (%s)",
				  n->name, n->subnet6, b->name, b->subnet6, b->place);
}

static void check_network(struct phx_site_checking *c, const struct phx_list *networks,
			  const struct phx_site_network *n)
{
	struct phx_ipv4_net net;
	uint32_t number;
	check_words(c, n);
	if (check_subnet(c, n, &net)) {
		check_inside(c, n, &net, "gateway", n->gateway);
		check_range(c, n, &net);
		check_routes(c, n, &net);
		if (n->interface[0])
			check_inside(c, n, &net, "head", n->head);
	}
	if (n->head[0] && !phx_ipv4_parse(n->head, &number))
		phx_site_complain(c, n->place, "network %s: head '%s' is no IPv4 address", n->name,
				  n->head);
	if (n->interface[0] && !n->head[0])
		phx_site_complain(
			c, n->place,
			"network %s: interface needs head, the address of this head there",
			n->name);
	check_ipv6(c, n);
	check_dns(c, n);
	for (const struct phx_site_network *b = networks->items; b < n; b++)
		check_twins(c, b, n);
}

int phx_site_networks_check(const struct phx_list *networks, phx_site_say_fn say, void *arg)
{
	struct phx_site_checking c = {say, arg, 0};
	if (networks->n > PHX_SITE_NETWORKS_MAX)
		phx_site_complain(&c, "networks.conf", "there are more than %d networks",
				  PHX_SITE_NETWORKS_MAX);
	else
		PHX_LIST_EACH(struct phx_site_network, n, networks)
			check_network(&c, networks, n);
	return c.n;
}
