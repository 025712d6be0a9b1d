/* What a switch says of itself and of the port that a network card is plugged into (IEEE 802.1AB,
 * LLDP): see inventory.h. Called for each frame by the agent. Anybody on the wire may send one:
 * reads within its bounds, believes no length. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfs.h"
#include "inventory/inventory.h"

enum tlv {
	TLV_END = 0,
	TLV_CHASSIS = 1,
	TLV_PORT = 2,
	TLV_TTL = 3,
	TLV_PORT_DESCRIPTION = 4,
	TLV_SYSTEM_NAME = 5
};

/* How an id is written, by its subtype. */
enum form { TEXT, MAC, ADDRESS, UNKNOWN };
static const enum form chassis_forms[] = {UNKNOWN, TEXT, TEXT, TEXT, MAC, ADDRESS, TEXT, TEXT};
static const enum form port_forms[] = {UNKNOWN, TEXT, TEXT, MAC, ADDRESS, TEXT, UNKNOWN, TEXT};

static void put_text(const uint8_t *p, size_t n, char *ret, size_t size)
{
	n = n < size ? n : size - 1;
	memcpy(ret, p, n);
	ret[n] = '\0';
	phx_sys_clean(ret);
	for (char *c = ret; *c; c++) /* it keeps tabs and newlines */
		*c = *c < ' ' ? ' ' : *c;
}

/* An address with its family in front; IPv4 alone is written. */
static void put_address(const uint8_t *p, size_t n, char *ret, size_t size)
{
	if (n != 5 || p[0] != 1 || !inet_ntop(AF_INET, p + 1, ret, (socklen_t)size))
		ret[0] = '\0';
}

/* The subtype is in front. */
static void put_id(const enum form forms[8], const uint8_t *p, size_t n, char *ret, size_t size)
{
	enum form form = n && p[0] < 8 ? forms[p[0]] : UNKNOWN;
	ret[0] = '\0';
	if (form == TEXT)
		put_text(p + 1, n - 1, ret, size);
	else if (form == ADDRESS)
		put_address(p + 1, n - 1, ret, size);
	else if (form == MAC && n == 7)
		snprintf(ret, size, "%02x:%02x:%02x:%02x:%02x:%02x", p[1], p[2], p[3], p[4], p[5],
			 p[6]);
}

/* What a frame says. */
struct said {
	char chassis[64], name[64], port[64], description[64];
	bool ends; /* it was the last word: the neighbor goes away */
	unsigned seen;
};

static void take(struct said *s, unsigned type, const uint8_t *p, size_t n)
{
	switch (type) {
	case TLV_CHASSIS:
		put_id(chassis_forms, p, n, s->chassis, sizeof(s->chassis));
		break;
	case TLV_PORT:
		put_id(port_forms, p, n, s->port, sizeof(s->port));
		break;
	case TLV_TTL:
		s->ends = n >= 2 && !p[0] && !p[1];
		break;
	case TLV_PORT_DESCRIPTION:
		put_text(p, n, s->description, sizeof(s->description));
		break;
	case TLV_SYSTEM_NAME:
		put_text(p, n, s->name, sizeof(s->name));
		break;
	default:
		return;
	}
	s->seen |= 1u << type;
}

/* A MAC address says less of a port than its description. */
static const char *port_of(const struct said *s)
{
	bool is_mac = strlen(s->port) == 17 && s->port[2] == ':' && s->port[5] == ':';
	return s->description[0] && (!s->port[0] || is_mac) ? s->description : s->port;
}

int phx_lldp_parse(const void *frame, size_t n, struct phx_lldp_neighbor *ret)
{
	enum { WANTED = 1 << TLV_CHASSIS | 1 << TLV_PORT | 1 << TLV_TTL };
	const uint8_t *p = frame;
	struct said s = {0};
	for (size_t at = 0; at + 2 <= n;) {
		unsigned type = p[at] >> 1;
		size_t length = (size_t)(p[at] & 1) << 8 | p[at + 1];
		at += 2;
		if (type == TLV_END)
			break;
		if (length > n - at)
			return -EBADMSG;
		take(&s, type, p + at, length);
		at += length;
	}
	const char *system = s.name[0] ? s.name : s.chassis;
	if ((s.seen & WANTED) != WANTED || !system[0])
		return -EBADMSG;
	*ret = (struct phx_lldp_neighbor){.ends = s.ends};
	PHX_STR_SET(ret->system, system);
	PHX_STR_SET(ret->port, port_of(&s));
	return 0;
}
