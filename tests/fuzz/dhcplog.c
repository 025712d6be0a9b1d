/* Lines of dnsmasq's log, in which stands what machines call themselves. What is taken is a row of
 * a MAC or an address, of a known kind, with no control character; an address is one.
 * Parsers: lib/deploy/dhcp_log.c */
#include "deploy/dhcp_log.h"
#include "fuzz/fuzz.h"

#include <string.h>

static void check(const struct phx_start_row *row, const char *address)
{
	char mac[PHX_MAC_MAX];
	uint32_t ip;
	fuzz_never(row->kind < 0 || row->kind >= PHX_START_KIND_COUNT_);
	fuzz_never(phx_mac_parse(row->node, mac) < 0 && !phx_ipv4_parse(row->node, &ip));
	fuzz_never(address[0] && !phx_ipv4_parse(address, &ip));
	for (const char *p = row->text; *p; p++)
		fuzz_never((unsigned char)*p < ' ');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_dhcp_log log = {0};
	struct phx_start_row row;
	char address[PHX_IPV4_MAX];
	PHX_AUTO_FREE char *text = fuzz_text(data, n);
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (phx_dhcp_log_take(&log, line, &row, address))
			check(&row, address);
	return 0;
}
