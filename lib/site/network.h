/* Networks of a site: subnets with their gateway, VLAN, name servers, and which of them machines
 * boot over. The head's own network, that of `address` in phoenix.conf, need not be among them: it
 * is called PHX_SITE_BOOT_NETWORK then. Pure. */
#ifndef PHX_SITE_NETWORK_H
#define PHX_SITE_NETWORK_H

#include "base/ip.h"
#include "base/key.h"

#define PHX_SITE_PLACE_MAX 320 /* "files/node/n1/etc/motd:12" */
#define PHX_SITE_BOOT_NETWORK "boot"
#define PHX_SITE_NETWORKS_MAX 256
enum { PHX_SITE_SUBNET_MIN = 8, PHX_SITE_SUBNET_MAX = 30 }; /* bits of a prefix */

#define PHX_SITE_NETWORK_FIELDS(F, S) \
	F(S, name, STR(PHX_NAME_MAX), KEY(name, NAME, PHX_REQUIRED, "Name of the network.")) \
	F(S, subnet, STR(32), \
	  KEY(subnet, TEXT(9, 18), PHX_REQUIRED, \
	      "Its IPv4 addresses, as \"10.1.0.0/16\"; no two networks overlap.")) \
	F(S, gateway, STR(46), \
	  KEY(gateway, ADDRESS, "", "The router there; without it nodes are told of none.")) \
	F(S, vlan, U32, \
	  KEY(vlan, NUMBER(0, 4094), "0", "Number of its VLAN; 0: its frames have no tag.")) \
	F(S, mtu, U32, \
	  KEY(mtu, NUMBER(0, 9216, "bytes"), "0", \
	      "Longest packet, from 576; 0: what the card has by itself.")) \
	F(S, dns, LIST(phx_word), \
	  KEY(dns, WORDS(8), "", "Addresses of name servers that its machines are told of.")) \
	F(S, domain, STR(128), \
	  KEY(domain, TEXT(0, 127), "", "Domain of its machines; empty: that of phoenix.conf.")) \
	F(S, range, REC(phx_ip_range), \
	  KEY(range, RANGE, "", \
	      "\"FIRST-LAST\": addresses for machines that are not known yet; empty: only known " \
	      "nodes get one.")) \
	F(S, boot, BOOL, \
	  KEY(boot, YES, "false", \
	      "Do machines boot over it? phxd's DHCP server answers there then.")) \
	F(S, relay, BOOL, \
	  KEY(relay, YES, "false", \
	      "The head has no card in it: its machines reach the head through a DHCP relay, " \
	      "which sends their requests to `address` of phoenix.conf.")) \
	F(S, interface, STR(16), \
	  KEY(interface, TEXT(0, 15), "", \
	      "The head's card in it, when that is another one than `interface` of " \
	      "phoenix.conf.")) \
	F(S, head, STR(46), \
	  KEY(head, ADDRESS, "", \
	      "Address of the head as its machines reach it; empty: `address` of phoenix.conf. " \
	      "phxd must listen there: `listen` of phoenix.conf.")) \
	F(S, subnet6, STR(50), \
	  KEY(subnet6, TEXT(0, 49), "", "Its IPv6 addresses, as \"fd00:1::/64\".")) \
	F(S, gateway6, STR(46), KEY(gateway6, TEXT(0, 45), "", "The IPv6 router there.")) \
	F(S, routes, LIST(phx_word), \
	  KEY(routes, WORDS(64), "", \
	      "What is reached by other routers there, for cards of nodes in it: \"10.9.0.0/16 " \
	      "via 10.1.0.254\", of IPv6 too.")) \
	F(S, place, STR(PHX_SITE_PLACE_MAX)) /* where it is written, for complaints */
PHX_RECORD_STRUCT(phx_site_network, PHX_SITE_NETWORK_FIELDS);

/** The network of that name in a list of them; NULL. Borrowed, as all that is returned here. */
const struct phx_site_network *phx_site_network_find(const struct phx_list *networks,
						     const char *name);
/** The network that the IPv4 address lies in; NULL: none, or that is no address. */
const struct phx_site_network *phx_site_network_of(const struct phx_list *networks,
						   const char *address);
/** Its subnet as numbers. False: it is not well formed, which phx_site_check() says. */
bool phx_site_network_subnet(const struct phx_site_network *n, struct phx_ipv4_net *ret);
/** May a machine have this address there? -EINVAL: it is no IPv4 address; -ERANGE: it lies outside,
 * or is the first or last one; -EADDRINUSE: the gateway or the head has it. The text follows a name
 * and a colon. */
int phx_site_network_takes(const struct phx_site_network *n, const char *address,
			   struct phx_err *err);

/** A route of a network. */
struct phx_site_route {
	char to[64], via[46];
	bool v6;
};
/** "10.9.0.0/16 via 10.1.0.254" or "fd00:9::/64 via fd00:1::1". False: it is not so written, or its
 * two sides are of two versions of IP. */
bool phx_site_route_parse(const char *text, struct phx_site_route *ret);
/** May the router, or a machine, have this IPv6 address there? */
bool phx_site_network_has6(const struct phx_site_network *n, const char *address);

#endif
