/* Networks of a lab beside its own, each a bridge. The head has a card in it, or a router stands
 * between, with a DHCP relay (dhcrelay), in a namespace of its own. Bridges pass frames with tags
 * of VLANs as they are, as a switch does between trunks. Made by iproute2; called by net.c, and by
 * head.c for what the head is told of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/spawn.h"
#include "phx-lab/lab.h"

void lab_tap(const struct lab_machine *m, uint32_t card, char ret[16])
{
	if (card)
		snprintf(ret, 16, "tap%u-%u", m->index, card);
	else
		snprintf(ret, 16, "tap%u", m->index);
}

static uint32_t number_of(const struct lab *lab, const struct lab_network *n)
{
	return (uint32_t)(n - (const struct lab_network *)lab->networks.items);
}

bool lab_nets_netns(const struct lab *lab, uint32_t i, char ret[LAB_NAME_MAX + 12])
{
	char ns[LAB_NAME_MAX + 8];
	if (i >= lab->networks.n)
		return false;
	snprintf(ret, LAB_NAME_MAX + 12, "%s-r%u", lab_netns(lab, ns), i % 100);
	return true;
}

void lab_nets_bridge(const struct lab *lab, const char *network, char ret[16])
{
	const struct lab_network *n = lab_network_find(lab, network);
	if (n)
		snprintf(ret, 16, "phxnet%u", number_of(lab, n) % 1000);
	else
		snprintf(ret, 16, LAB_BRIDGE);
}

/* ---- who is in a network beside machines ---- */

static int add_bridge(const struct lab *lab, const struct lab_network *n, struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8], bridge[16];
	lab_netns(lab, ns);
	lab_nets_bridge(lab, n->name, bridge);
	int r = lab_ip("ip", ns, err, "link add %s type bridge forward_delay 0 stp_state 0",
		       bridge);
	return r ? r : lab_ip("ip", ns, err, "link set %s up", bridge);
}

static int add_head_card(const struct lab *lab, const struct lab_network *n, struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8], address[16], bridge[16];
	lab_nets_bridge(lab, n->name, bridge);
	lab_address(n->subnet, LAB_HOST_ROUTER, address);
	return lab_ip("ip", lab_netns(lab, ns), err, "addr add %s/24 brd + dev %s", address,
		      bridge);
}

/* One cable of a router, into the network (NULL: the lab's own) that it has this address in. */
static int plug_in(const struct lab *lab, const char *router, const char *card,
		   const struct lab_network *n, const char *address, struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8], port[16], bridge[16];
	lab_netns(lab, ns);
	lab_nets_bridge(lab, n ? n->name : "", bridge);
	snprintf(port, sizeof(port), "%s%s", n ? "r" : "u", router + strlen(ns) + 2);
	int r = lab_ip("ip", ns, err, "link add %s type veth peer name %s netns %s", port, card,
		       router);
	r = r ? r : lab_ip("ip", ns, err, "link set %s master %s up", port, bridge);
	r = r ? r : lab_ip("ip", router, err, "addr add %s/24 brd + dev %s", address, card);
	return r ? r : lab_ip("ip", router, err, "link set %s up", card);
}

/* Passes requests of DHCP on to the head, and answers back. */
static int start_relay(const struct lab *lab, const struct lab_network *n, const char *router,
		       struct phx_err *err)
{
	char head[16];
	PHX_AUTO_FREE char *pid = phx_path("%s/relay-%s.pid", lab->dir, n->name);
	PHX_AUTO_FREE char *log = phx_path("%s/relay-%s.log", lab->dir, n->name);
	if (!pid || !log)
		return -ENOMEM;
	lab_address(lab->subnet, LAB_HOST_HEAD, head);
	const char *const argv[] = {"dhcrelay", "-4",  "-d",    "--no-pid", "-id",
				    "inner",    "-iu", "outer", head,       NULL};
	const struct lab_program p = {
		.argv = argv, .netns = router, .pid_file = pid, .log_file = log};
	int r = lab_start(&p, err);
	return r == -ENOENT ? phx_err_prefix(err, r, "network %s (package isc-dhcp-relay)", n->name)
			    : r;
}

static int add_router(const struct lab *lab, const struct lab_network *n, struct phx_err *err)
{
	char ns[LAB_NAME_MAX + 8], router[LAB_NAME_MAX + 12], inner[16], outer[16], head[16];
	lab_netns(lab, ns);
	lab_nets_netns(lab, number_of(lab, n), router);
	lab_address(n->subnet, LAB_HOST_ROUTER, inner);
	lab_address(lab->subnet, LAB_HOST_RELAY - number_of(lab, n), outer);
	lab_address(lab->subnet, LAB_HOST_HEAD, head);
	int r = lab_ip("ip", NULL, err, "netns add %s", router);
	r = r ? r : lab_ip("ip", router, err, "link set lo up");
	r = r ? r : plug_in(lab, router, "inner", n, inner, err);
	r = r ? r : plug_in(lab, router, "outer", NULL, outer, err);
	r = r ? r : lab_ip("ip", router, err, "route add default via %s", head);
	r = r ? r
	      : lab_ip("ip", NULL, err, "netns exec %s sysctl -qw net.ipv4.ip_forward=1", router);
	r = r ? r : lab_ip("ip", ns, err, "route add %s via %s", n->subnet, outer);
	return r ? r : start_relay(lab, n, router, err);
}

int lab_nets_up(const struct lab *lab, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct lab_network, n, &lab->networks) {
		r = r ? r : add_bridge(lab, n, err);
		r = r ? r : n->relay ? add_router(lab, n, err) : add_head_card(lab, n, err);
	}
	return r;
}

/* ---- what the head is told ---- */

char *lab_nets_conf(const struct lab *lab)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char router[16], bridge[16];
	phx_buf_addf(&b, "# the networks of lab %s; made by phx lab up\nnetworks = (\n", lab->name);
	PHX_LIST_EACH(struct lab_network, n, &lab->networks) {
		lab_address(n->subnet, LAB_HOST_ROUTER, router);
		phx_buf_addf(&b, "\t{ name = \"%s\"; subnet = \"%s\"; ", n->name, n->subnet);
		lab_nets_bridge(lab, n->name, bridge);
		if (n->relay)
			phx_buf_addf(&b, "gateway = \"%s\"; relay = true; boot = true; }", router);
		else
			phx_buf_addf(&b, "interface = \"%s\"; head = \"%s\"; boot = %s; }", bridge,
				     router, n->boot ? "true" : "false");
		phx_buf_addf(&b, "%s\n", n + 1 < n_end_ ? "," : "");
	}
	phx_buf_addf(&b, ");\n");
	return phx_buf_take(&b);
}

char *lab_nets_head_conf(const struct lab *lab)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf names = {0};
	char address[16];
	PHX_LIST_EACH(struct lab_network, n, &lab->networks) {
		lab_address(n->subnet, LAB_HOST_ROUTER, address);
		if (!n->relay)
			phx_buf_addf(&names, "%s\"%s\"", names.n ? ", " : "", address);
	}
	if (!names.n)
		return names.failed ? NULL : strdup("");
	return phx_path("listen = \"0.0.0.0\";\nserver_names = [ %s ];\n", names.data);
}
