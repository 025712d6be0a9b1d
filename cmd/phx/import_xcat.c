/* Stanzas of xCAT, as "lsdef -z" prints them for nodes and ("-t network") networks:
 *
 *	n1:
 *	    objtype=node
 *	    mac=52:54:00:00:00:01
 *
 * into our settings. Called by import.c. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "phx/import.h"
#include "phx/node_add.h"

/* An object with its lines: member "KEY" is {"text", "line"}. */
struct stanza {
	const char *name;
	unsigned line;
	json_t *values; /* borrowed */
};

static const char *text_of(const struct stanza *s, const char *key)
{
	return phx_json_str(json_object_get(s->values, key), "text", "");
}

static unsigned line_of(const struct stanza *s, const char *key)
{
	return (unsigned)phx_json_int(json_object_get(s->values, key), "line", s->line);
}

/* The same, and it is not left any more. */
static void done(const struct stanza *s, const char *key)
{
	json_object_set_new(json_object_get(s->values, key), "done", json_true());
}

static const char *take(const struct stanza *s, const char *key)
{
	done(s, key);
	return text_of(s, key);
}

/* What says how it stands at the moment, and nothing of what is wanted. */
static bool is_of_the_moment(const char *key)
{
	static const char *const keys[] = {"objtype",          "status",        "statustime",
					   "appstatus",        "appstatustime", "updatestatus",
					   "updatestatustime", "currstate",     "currchain"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++)
		if (phx_str_eq(keys[i], key))
			return true;
	return false;
}

static void leave_rest(struct import *im, const struct stanza *s)
{
	const char *key;
	json_t *value;
	json_object_foreach(s->values, key, value) {
		if (json_object_get(value, "done") || is_of_the_moment(key))
			continue;
		bool secret = strstr(key, "password") || strstr(key, "passwd");
		import_left(im, line_of(s, key), "%s: %s=%s", s->name, key,
			    secret ? "(not shown)" : phx_json_str(value, "text", ""));
	}
}

/* ---- networks ---- */

static void set_number(struct import *im, const struct stanza *s, const char *key, json_t *group,
		       const char *to)
{
	uint64_t n = 0;
	const char *text = take(s, key);
	if (!*text)
		return;
	if (phx_u64_parse(text, 0, 65535, &n) < 0)
		import_wrong(im, line_of(s, key), "%s: %s: '%s' is no number", s->name, key, text);
	else
		json_object_set_new(group, to, json_integer((json_int_t)n));
}

static void set_address(const struct stanza *s, const char *key, json_t *group, const char *to)
{
	uint32_t number;
	if (!phx_ipv4_parse(text_of(s, key), &number)) /* "<xcatmaster>" */
		return;
	json_object_set_new(group, to, json_string(take(s, key)));
}

static void read_network(struct import *im, const struct stanza *s)
{
	char subnet[32];
	if (import_subnet(text_of(s, "net"), text_of(s, "mask"), subnet) < 0) {
		import_wrong(im, line_of(s, "net"), "network %s: net=%s and mask=%s are no subnet",
			     s->name, text_of(s, "net"), text_of(s, "mask"));
		return;
	}
	json_t *group = import_group(im->networks, "name", s->name);
	done(s, "net");
	done(s, "mask");
	json_object_set_new(group, "subnet", json_string(subnet));
	set_address(s, "gateway", group, "gateway");
	set_number(im, s, "vlanid", group, "vlan");
	set_number(im, s, "mtu", group, "mtu");
	if (!strpbrk(text_of(s, "nameservers"), "<>"))
		import_words(group, "dns", take(s, "nameservers"), ", ");
	if (*text_of(s, "domain"))
		json_object_set_new(group, "domain", json_string(take(s, "domain")));
	if (*text_of(s, "dynamicrange") && !strchr(text_of(s, "dynamicrange"), ','))
		json_object_set_new(group, "range", json_string(take(s, "dynamicrange")));
	leave_rest(im, s);
}

/* ---- nodes ---- */

/* "MAC!NAME|MAC": what stands behind ! is the name by which it asks. */
static void add_macs(struct import *im, const struct stanza *s, json_t *machine)
{
	const char *text = take(s, "mac");
	for (const char *at = text + strspn(text, "|"); *at; at += strspn(at, "|")) {
		size_t n = strcspn(at, "|"), n_mac = strcspn(at, "!|");
		PHX_AUTO_FREE char *mac = strndup(at, n_mac);
		if (mac && cli_mac_add(machine, mac) < 0)
			import_wrong(im, line_of(s, "mac"), "%s: mac: '%s' is no MAC address",
				     s->name, mac);
		at += n;
	}
}

static void add_bmc(const struct stanza *s, json_t *machine)
{
	static const char *const keys[][2] = {
		{"bmc", "address"}, {"bmcusername", "user"}, {"bmcpassword", "password"}};
	if (!*text_of(s, "bmc") || strcmp(text_of(s, "mgt"), "ipmi") != 0)
		return;
	json_t *bmc = json_pack("{s:s}", "driver", "ipmi");
	done(s, "mgt");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++)
		if (*text_of(s, keys[i][0]))
			json_object_set_new(bmc, keys[i][1], json_string(take(s, keys[i][0])));
	json_object_set_new(machine, "bmc", bmc);
}

/* nicips.eth1=10.3.0.11: an address of a card, where that is in a network that is known. */
static void add_card(struct import *im, const struct stanza *s, const char *key, json_t *group)
{
	const char *name = key + strlen("nicips."), *address = text_of(s, key);
	PHX_AUTO_FREE char *type_key = phx_path("nictypes.%s", name),
			   *network_key = phx_path("nicnetworks.%s", name);
	const char *type = type_key ? text_of(s, type_key) : "";
	const json_t *network = import_network_of(im, address);
	if ((*type && strcasecmp(type, "Ethernet") != 0) || !network || strlen(name) > 15)
		return; /* it is left */
	json_array_append_new(import_list(group, "nics"),
			      json_pack("{s:s,s:s,s:s}", "name", name, "network",
					phx_json_str(network, "name", ""), "address", address));
	done(s, key);
	if (type_key)
		done(s, type_key);
	if (network_key)
		done(s, network_key);
}

static void read_node(struct import *im, const struct stanza *s)
{
	json_t *machine =
		json_pack("{s:s,s:I,s:[]}", "name", s->name, "line", (json_int_t)s->line, "macs");
	const char *key;
	json_t *value;
	if (!phx_name_valid(s->name))
		import_wrong(im, s->line, "'%s' is no name of a node", s->name);
	json_array_append_new(im->machines, machine);
	add_macs(im, s, machine);
	set_address(s, "ip", machine, "ip");
	if (*text_of(s, "serial"))
		json_object_set_new(machine, "serial", json_string(take(s, "serial")));
	add_bmc(s, machine);
	json_t *group = json_pack("{s:s}", "nodes", s->name);
	import_words(group, "kernel_args", take(s, "addkcmdline"), " ");
	json_object_foreach(s->values, key, value) {
		if (phx_str_starts(key, "nicips."))
			add_card(im, s, key, group);
	}
	if (json_object_size(group) > 1)
		json_array_append(im->nodes, group);
	json_decref(group);
	leave_rest(im, s);
}

/* ---- the file ---- */

struct reader {
	struct import *im;
	json_t *stanzas; /* {"name", "line", "values"} */
	unsigned line;
};

static void add_value(struct reader *r, char *text)
{
	char *equals = strchr(text, '=');
	json_t *stanza = json_array_get(r->stanzas, json_array_size(r->stanzas) - 1),
	       *values = json_object_get(stanza, "values");
	if (!equals || !stanza) {
		import_wrong(r->im, r->line, "must be NAME: or, below one, KEY=VALUE");
		return;
	}
	*equals = '\0';
	json_t *value = json_pack("{s:s,s:I}", "text", equals + 1, "line", (json_int_t)r->line);
	bool twice = json_object_get(values, text);
	if (json_object_set_new(values, text, value) < 0)
		import_wrong(r->im, r->line, "is no text in UTF-8");
	else if (twice)
		import_wrong(r->im, r->line, "%s: %s is there twice",
			     phx_json_str(stanza, "name", ""), text);
}

static void read_line(struct reader *r, char *line)
{
	size_t n = strlen(line);
	while (n && strchr(" \t\r", line[n - 1]))
		line[--n] = '\0';
	char *text = line + strspn(line, " \t");
	if (!*text || *text == '#')
		return;
	if (text > line || line[n - 1] != ':') {
		add_value(r, text);
		return;
	}
	line[n - 1] = '\0';
	json_t *stanza =
		json_pack("{s:s,s:I,s:{}}", "name", line, "line", (json_int_t)r->line, "values");
	if (!stanza)
		import_wrong(r->im, r->line, "is no text in UTF-8");
	json_array_append_new(r->stanzas, stanza);
}

/* Networks first: cards of nodes lie in them. */
static void read_stanzas(struct import *im, const json_t *stanzas, bool networks)
{
	size_t i;
	json_t *j;
	json_array_foreach((json_t *)stanzas, i, j) {
		struct stanza s = {phx_json_str(j, "name", ""),
				   (unsigned)phx_json_int(j, "line", 0),
				   json_object_get(j, "values")};
		const char *type = text_of(&s, "objtype");
		if (phx_str_eq(type, "network") && networks)
			read_network(im, &s);
		else if (phx_str_eq(type, "node") && !networks)
			read_node(im, &s);
		else if (strcmp(type, "network") != 0 && strcmp(type, "node") != 0 && networks)
			import_left(im, s.line, "%s: objtype=%s", s.name, type);
	}
}

void import_xcat(struct import *im, char *text)
{
	PHX_AUTO_JSON json_t *stanzas = json_array();
	struct reader r = {.im = im, .stanzas = stanzas};
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		r.line++;
		read_line(&r, line);
	}
	read_stanzas(im, stanzas, true);
	read_stanzas(im, stanzas, false);
}
