/* What is wrong with network cards, bonds, VLANs and bridges of nodes, all of it: see internal.h.
 * Of one card several sets may speak, so a node is looked at as it is in the end; what is wrong
 * with many nodes in the same way is said once. Called by check.c. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/ip.h"
#include "base/mix.h"
#include "site/internal.h"

enum { SAID_MAX = 10000 };

/* What one node has, and no other may. */
struct owned {
	uint64_t what; /* a MAC address or an address, as numbers */
	const char *node;
	const struct phx_site_set *set;
	uint32_t line;
};

struct check {
	const struct phx_site *s;
	const struct phx_site_index *ix;
	struct phx_site_checking *said;
	const char *node;
	const struct phx_site_effective *e;
	struct phx_list owned; /* struct owned */
	struct phx_hash owners;
	struct phx_list texts; /* uint64_t, what was said */
	struct phx_hash texts_at;
	struct phx_hash nodes; /* places in `names` */
	struct phx_list names; /* const char *, of nodes that were looked at */
	int r;
};

/* ---- saying ---- */

static bool is_said(struct check *c, uint64_t mix)
{
	uint32_t hash = (uint32_t)(mix ^ mix >> 32), i;
	for (uint32_t at = hash; phx_hash_next(&c->texts_at, hash, &at, &i);)
		if (*PHX_LIST_AT(&c->texts, uint64_t, i) == mix)
			return true;
	uint64_t *to = phx_list_push(&c->texts, sizeof(*to));
	if (to)
		*to = mix;
	if (!to || phx_hash_put(&c->texts_at, hash, c->texts.n - 1) < 0)
		c->r = -ENOMEM;
	return false;
}

__attribute__((format(printf, 5, 6))) static void say(struct check *c,
						      const struct phx_site_set *set, uint32_t line,
						      const char *nic, const char *fmt, ...)
{
	char place[PHX_SITE_PLACE_MAX], what[256];
	va_list args;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	phx_site_place(set, line, place);
	uint64_t mix = phx_mix_text(phx_mix_text(phx_mix_text(PHX_MIX_NONE, place), nic), what);
	if (c->texts.n < SAID_MAX && !is_said(c, mix))
		phx_site_complain(c->said, place, "%s: %s", nic, what);
}
#define SAY(c, f, ...) say(c, (f)->set, (f)->nic.line, (f)->nic.name, __VA_ARGS__)

/* ---- what is one node's alone ---- */

static void own(struct check *c, uint64_t what, const char *as, const struct phx_site_found_nic *f,
		const struct phx_site_set *set, uint32_t line)
{
	uint64_t mix = phx_mix(PHX_MIX_NONE, &what, sizeof(what));
	uint32_t hash = (uint32_t)(mix ^ mix >> 32), i;
	for (uint32_t at = hash; phx_hash_next(&c->owners, hash, &at, &i);) {
		const struct owned *o = PHX_LIST_AT(&c->owned, struct owned, i);
		char place[PHX_SITE_PLACE_MAX];
		if (o->what != what)
			continue;
		phx_site_place(o->set, o->line, place);
		say(c, set, line, f->nic.name, "%s of %s is that of %s, too (%s)", as, c->node,
		    o->node, place);
		return;
	}
	struct owned *to = phx_list_push(&c->owned, sizeof(*to));
	if (to)
		*to = (struct owned){what, c->node, set, line};
	if (!to || phx_hash_put(&c->owners, hash, c->owned.n - 1) < 0)
		c->r = -ENOMEM;
}

static uint64_t mac_number(const char *mac)
{
	uint64_t n = 1; /* no address of version 4 is so large */
	for (; *mac; mac++)
		if (*mac != ':')
			n = n << 4 | (uint64_t)(*mac <= '9' ? *mac - '0' : *mac - 'a' + 10);
	return n;
}

static void check_mac(struct check *c, const struct phx_site_found_nic *f)
{
	char mac[PHX_MAC_MAX];
	if (!f->nic.mac[0])
		return;
	if (phx_mac_parse(f->nic.mac, mac) < 0)
		SAY(c, f, "mac '%s' must be as 52:54:00:12:34:56", f->nic.mac);
	else
		own(c, mac_number(mac), f->nic.mac, f, f->set, f->nic.line);
	if (f->nic.path[0])
		SAY(c, f, "has a mac and a path: one of them says which card it is");
}

/* ---- names ---- */

static bool is_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= 'A' && *p <= 'Z') &&
		    !(*p >= '0' && *p <= '9') && !(p != name && strchr("._-", *p)))
			return false;
	return *name;
}

static bool is_path(const char *path)
{
	for (; *path; path++)
		if (!(*path >= 'a' && *path <= 'z') && !(*path >= 'A' && *path <= 'Z') &&
		    !(*path >= '0' && *path <= '9') && !strchr("._:-", *path))
			return false;
	return true;
}

static bool is_mode(const char *mode)
{
	static const char *const modes[] = {"active-backup", "802.3ad",   "balance-rr",
					    "balance-xor",   "broadcast", "balance-tlb",
					    "balance-alb",   ""};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(modes); i++)
		if (!strcmp(modes[i], mode))
			return true;
	return false;
}

/* ---- what it is made of ---- */

static void check_parts(struct check *c, const struct phx_site_found_nic *f,
			const struct phx_list *parts, bool bond)
{
	PHX_LIST_EACH(struct phx_word, w, parts) {
		const struct phx_site_found_nic *part = phx_site_nic_of(c->e, w->text),
						*other = phx_site_nic_holder(c->e, w->text, f);
		if (!is_name(w->text) || strlen(w->text) >= sizeof(f->nic.name) ||
		    !strcmp(w->text, f->nic.name))
			SAY(c, f, "'%.40s' is no name of a card", w->text);
		if (other)
			SAY(c, f, "%.40s is in %s, too", w->text, other->nic.name);
		for (const struct phx_word *b = parts->items; b < w; b++)
			if (!strcmp(b->text, w->text))
				SAY(c, f, "%.40s is there twice", w->text);
		if (part && part != f && bond &&
		    (part->nic.members.n || part->nic.ports.n || part->nic.parent[0]))
			SAY(c, f, "%.40s is no card, so no bond can have it", w->text);
		if (part &&
		    (part->nic.address[0] || part->nic.address6[0] || part->nic.default_route))
			SAY(c, part, "is part of %s, which has the address in its place",
			    f->nic.name);
	}
}

static void check_vlan(struct check *c, const struct phx_site_found_nic *f,
		       const struct phx_site_network *network)
{
	const struct phx_site_found_nic *parent = phx_site_nic_of(c->e, f->nic.parent);
	if (!parent)
		SAY(c, f, "its parent %s is none of the node's nics", f->nic.parent);
	else if (parent == f || parent->nic.parent[0])
		SAY(c, f, "its parent %s must be a card, a bond or a bridge", f->nic.parent);
	if (!f->nic.network[0] || (network && !network->vlan))
		SAY(c, f, "is a VLAN on %s, and %s has no vlan", f->nic.parent,
		    f->nic.network[0] ? f->nic.network : "no network");
}

static void check_kind(struct check *c, const struct phx_site_found_nic *f,
		       const struct phx_site_network *network)
{
	const struct phx_site_nic *n = &f->nic;
	int made = (n->members.n > 0) + (n->ports.n > 0) + (n->parent[0] != '\0');
	if (!is_name(n->name))
		SAY(c, f, "is no name of a device");
	if (!is_path(n->path))
		SAY(c, f, "path '%s' must be as pci-0000:3b:00.0", n->path);
	if (made > 1)
		SAY(c, f, "is one of a bond (members), a bridge (ports) and a VLAN (parent)");
	if (made && (n->mac[0] || n->path[0]))
		SAY(c, f, "has a mac or path, which are of a card");
	if ((n->mode[0] || n->monitor_ms) && !n->members.n)
		SAY(c, f, "has mode or monitor_ms, and no members");
	if (!is_mode(n->mode))
		SAY(c, f,
		    "mode '%s' must be active-backup, 802.3ad, balance-rr, balance-xor, "
		    "broadcast, balance-tlb or balance-alb",
		    n->mode);
	check_parts(c, f, &n->members, true);
	check_parts(c, f, &n->ports, false);
	if (n->parent[0])
		check_vlan(c, f, network);
}

/* ---- addresses ---- */

static void check_address(struct check *c, const struct phx_site_found_nic *f,
			  const struct phx_site_network *network)
{
	const struct phx_site_set *set = f->address_set ? f->address_set : f->set;
	uint32_t line = f->address_set ? f->address_line : f->nic.line, number;
	char text[PHX_IPV4_MAX];
	struct phx_err err = {0};
	int r = phx_site_nic_address(f, &number);
	if (r == -EINVAL && !strcmp(f->nic.address, "pool"))
		say(c, set, line, f->nic.name, "address \"pool\" needs `first`, its first address");
	else if (r < 0)
		say(c, set, line, f->nic.name,
		    "address '%s' must be \"dhcp\", \"pool\" or an IPv4 "
		    "address",
		    f->nic.address);
	if (r == 1 && set->name[0])
		say(c, set, line, f->nic.name,
		    "its address stands in profile %s, and each node has another one: write it in "
		    "nodes.conf",
		    set->name);
	if (r == 1 && !f->nic.network[0])
		say(c, set, line, f->nic.name, "has an address, and no network");
	if (r != 1 || !network)
		return;
	phx_ipv4_format(number, text);
	if (phx_site_network_takes(network, text, &err) < 0)
		say(c, set, line, f->nic.name, "%s of %s: network %s: %s", text, c->node,
		    network->name, err.text);
	own(c, number, text, f, set, line);
}

static void check_address6(struct check *c, const struct phx_site_found_nic *f,
			   const struct phx_site_network *network)
{
	const char *text = f->nic.address6;
	uint8_t bytes[PHX_IPV6_BYTES];
	if (!text[0])
		return;
	if (!phx_ipv6_parse(text, bytes))
		SAY(c, f, "address6 '%s' is no IPv6 address", text);
	else if (!network || !network->subnet6[0])
		SAY(c, f, "has an address6, and its network no subnet6");
	else if (!phx_site_network_has6(network, text))
		SAY(c, f, "address6 %s lies outside %s of network %s", text, network->subnet6,
		    network->name);
	else if (!strcmp(text, network->gateway6))
		SAY(c, f, "address6 %s is the address of the gateway of network %s", text,
		    network->name);
	else
		own(c, phx_mix(PHX_MIX_NONE, bytes, sizeof(bytes)) | 1ULL << 63, text, f, f->set,
		    f->nic.line);
}

static void check_route(struct check *c, const struct phx_site_found_nic *f,
			const struct phx_site_network *network)
{
	if (!f->nic.default_route)
		return;
	if (!network || !network->gateway[0])
		SAY(c, f, "has the default route, and its network no gateway");
	PHX_LIST_EACH(struct phx_site_found_nic, other, &c->e->nics)
		if (other < f && other->nic.default_route)
			SAY(c, f, "has the default route, and so has %s", other->nic.name);
}

static void check_nic(struct check *c, const struct phx_site_found_nic *f)
{
	const struct phx_site_network *network =
		phx_site_network_find(&c->s->networks, f->nic.network);
	if (f->nic.network[0] && !network)
		SAY(c, f, "there is no network '%s' in networks.conf", f->nic.network);
	check_mac(c, f);
	check_kind(c, f, network);
	check_address(c, f, network);
	check_address6(c, f, network);
	check_route(c, f, network);
}

/* ---- nodes ---- */

/* A node may be in several groups. */
static bool seen(struct check *c, const char *name)
{
	uint32_t hash = phx_hash_text(name), i;
	for (uint32_t at = hash; phx_hash_next(&c->nodes, hash, &at, &i);)
		if (!strcmp(*PHX_LIST_AT(&c->names, const char *, i), name))
			return true;
	const char **to = phx_list_push(&c->names, sizeof(*to));
	if (to)
		*to = name;
	if (!to || phx_hash_put(&c->nodes, hash, c->names.n - 1) < 0)
		c->r = -ENOMEM;
	return false;
}

static void check_node(void *arg, const struct phx_site_set *group, const char *name)
{
	struct check *c = arg;
	struct phx_site_effective e;
	(void)group;
	if (c->r < 0 || seen(c, name))
		return;
	c->r = phx_site_effective(c->ix, name, &e);
	if (c->r < 0)
		return;
	c->node = name;
	c->e = &e;
	PHX_LIST_EACH(struct phx_site_found_nic, f, &e.nics)
		check_nic(c, f);
	phx_site_effective_fini(&e);
}

int phx_site_check_nics(const struct phx_site_index *ix, struct phx_site_checking *said)
{
	struct check c = {.s = phx_site_index_of(ix), .ix = ix, .said = said};
	phx_site_each_name(ix, check_node, &c);
	phx_list_fini(&c.owned);
	phx_hash_fini(&c.owners);
	phx_list_fini(&c.texts);
	phx_hash_fini(&c.texts_at);
	phx_hash_fini(&c.nodes);
	phx_list_fini(&c.names);
	return c.r;
}
