/* What dnsmasq writes of machines that ask for an address or a file (log-dhcp): lines into rows of
 * their starts. Reads no file. What stands in a line comes from machines: only the form that
 * dnsmasq itself writes is taken, and MACs and addresses are checked. */
#ifndef PHX_DEPLOY_DHCP_LOG_H
#define PHX_DEPLOY_DHCP_LOG_H

#include "base/ip.h"
#include "types/start.h"

enum { PHX_DHCP_ASKS = 256 /* that are under way and known, the last ones */ };

/** An exchange, by the number that its client has drawn. */
struct phx_dhcp_ask {
	uint64_t number;
	char mac[PHX_MAC_MAX];
	bool network; /* firmware, or iPXE, that wants to boot */
	bool asked;   /* it looked for a server: no mere renewal */
	bool told;    /* that it asked is told */
};

/** All zero at first. */
struct phx_dhcp_log {
	struct phx_dhcp_ask asks[PHX_DHCP_ASKS];
};

/** Does the line say something of a start? Then `ret_row` has whose (its MAC; of a file the address
 * that asked), of what kind, and a text, but no time; ret_address ("": none) is the address that
 * the machine has from now on. */
bool phx_dhcp_log_take(struct phx_dhcp_log *l, const char *line, struct phx_start_row *ret_row,
		       char ret_address[PHX_IPV4_MAX]);

#endif
