/* Lines of dnsmasq's log into rows of starts: see dhcp_log.h. Called by the daemon for each line.
 *
 *	dnsmasq-dhcp[7]: 4063418120 vendor class: PXEClient:Arch:00000:UNDI:002001
 *	dnsmasq-dhcp[7]: 4063418120 DHCPDISCOVER(br0) ee:f0:2e:54:69:09
 *	dnsmasq-dhcp[7]: 4063418120 tags: ipxe, br0
 *	dnsmasq-dhcp[7]: 4063418120 DHCPOFFER(br0) 10.99.0.12 ee:f0:2e:54:69:09
 *	dnsmasq-tftp[7]: sent /run/phoenix/tftp/undionly.kpxe to 10.99.0.12
 *
 * That a machine asked is told at the line of its tags, which says whether it is iPXE. */
#include "deploy/dhcp_log.h"
#include "deploy/tftp_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64 };

/* The place of an exchange; who draws the number of another takes its place. */
static struct phx_dhcp_ask *ask_of(struct phx_dhcp_log *l, uint64_t number)
{
	struct phx_dhcp_ask *a = &l->asks[number % PHX_DHCP_ASKS];
	if (a->number != number)
		*a = (struct phx_dhcp_ask){.number = number};
	return a;
}

/* Takes the next word, up to a blank; false: there is none, or it is too long. */
static bool next_word(const char **at, char ret[WORD_MAX])
{
	const char *from = *at + strspn(*at, " ");
	size_t n = strcspn(from, " \r\n");
	if (!n || n >= WORD_MAX)
		return false;
	memcpy(ret, from, n);
	ret[n] = '\0';
	*at = from + n;
	return true;
}

static void set(struct phx_start_row *row, enum phx_start_kind kind, const char *node,
		const char *text)
{
	*row = (struct phx_start_row){.kind = (int)kind, .proven = true};
	PHX_STR_SET(row->node, node);
	phx_start_clean(row->text, sizeof(row->text), text + strspn(text, " "));
}

/* ---- DHCP ---- */

/* "MAC [why it gets none]" */
static bool take_discover(struct phx_dhcp_ask *a, const char *rest, struct phx_start_row *ret)
{
	char word[WORD_MAX], mac[PHX_MAC_MAX];
	if (!next_word(&rest, word) || phx_mac_parse(word, mac) < 0)
		return false;
	PHX_STR_SET(a->mac, mac);
	a->asked = true;
	a->told = false;
	rest += strspn(rest, " \r\n");
	if (*rest)
		set(ret, PHX_START_dhcp_refused, mac, rest);
	return *rest != '\0';
}

static bool take_tags(struct phx_dhcp_ask *a, const char *rest, struct phx_start_row *ret)
{
	bool ipxe = strstr(rest, " ipxe,") != NULL;
	if (!a->asked || a->told)
		return false;
	a->told = true;
	set(ret,
	    ipxe                 ? PHX_START_ipxe_asked
		    : a->network ? PHX_START_pxe_asked
				 : PHX_START_dhcp_asked,
	    a->mac, a->mac);
	return true;
}

/* "ADDRESS MAC [text]" */
static bool take_answer(const struct phx_dhcp_ask *a, const char *what, const char *rest,
			struct phx_start_row *ret, char ret_address[PHX_IPV4_MAX])
{
	char address[WORD_MAX], mac[WORD_MAX], known[PHX_MAC_MAX];
	uint32_t ip;
	if (!next_word(&rest, address) || !next_word(&rest, mac) || !phx_ipv4_parse(address, &ip) ||
	    phx_mac_parse(mac, known) < 0)
		return false;
	if (phx_str_starts(what, "DHCPNAK(")) {
		bool other = strstr(rest, "wrong server-ID") != NULL;
		char text[WORD_MAX * 3];
		snprintf(text, sizeof(text), "%s,%.100s", address, rest);
		set(ret, other ? PHX_START_dhcp_other : PHX_START_dhcp_refused, known, text);
		return true;
	}
	bool acked = phx_str_starts(what, "DHCPACK(");
	if (acked)
		phx_str_copy(ret_address, PHX_IPV4_MAX, address);
	set(ret, acked ? PHX_START_dhcp_acked : PHX_START_dhcp_offered, known, address);
	return a->asked;
}

static bool take_dhcp(struct phx_dhcp_log *l, const char *text, struct phx_start_row *ret,
		      char ret_address[PHX_IPV4_MAX])
{
	char word[WORD_MAX];
	char *end;
	uint64_t number = strtoull(text, &end, 10);
	if (end == text || *end != ' ')
		return false;
	struct phx_dhcp_ask *a = ask_of(l, number);
	const char *rest = end + 1;
	if (phx_str_starts(rest, "vendor class: ")) {
		a->network = phx_str_starts(rest, "vendor class: PXEClient") ||
			phx_str_starts(rest, "vendor class: HTTPClient");
		return false;
	}
	if (phx_str_starts(rest, "tags: "))
		return take_tags(a, rest + strlen("tags:"), ret);
	if (!next_word(&rest, word))
		return false;
	if (phx_str_starts(word, "DHCPDISCOVER("))
		return take_discover(a, rest, ret);
	if (phx_str_starts(word, "DHCPOFFER(") || phx_str_starts(word, "DHCPACK(") ||
	    phx_str_starts(word, "DHCPNAK("))
		return take_answer(a, word, rest, ret, ret_address);
	return false;
}

bool phx_dhcp_log_take(struct phx_dhcp_log *l, const char *line, struct phx_start_row *ret_row,
		       char ret_address[PHX_IPV4_MAX])
{
	const char *text = strstr(line, "]: ");
	ret_address[0] = '\0';
	if (!text)
		return false;
	if (phx_str_starts(line, "dnsmasq-dhcp["))
		return take_dhcp(l, text + 3, ret_row, ret_address);
	return phx_str_starts(line, "dnsmasq-tftp[") && phx_tftp_log_dnsmasq(text + 3, ret_row);
}
