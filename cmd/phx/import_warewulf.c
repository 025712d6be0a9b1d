/* nodes.conf of Warewulf 4 into our settings: profiles, nodes, network devices, BMCs, arguments of
 * kernels, tags. What a node's network devices and BMC are follows from its profiles, in their
 * order, and then from what it says itself, key by key, as there. Called by import.c. */
#include <string.h>
#include <yaml.h>

#include "base/json.h"
#include "phx/import.h"
#include "phx/node_add.h"

enum { PROFILES_MAX = 16, TEXT_MAX = 512, DEPTH_MAX = 6 };

struct reader {
	struct import *im;
	yaml_document_t doc;
	json_t *networks, *nodes; /* names that are taken */
};

/* What counts for one node: its mappings, the later one wins. */
struct layers {
	yaml_node_t *at[PROFILES_MAX + 1];
	unsigned n;
};

/* ---- YAML ---- */

static unsigned line_of(const yaml_node_t *n)
{
	return (unsigned)n->start_mark.line + 1;
}

static const char *text_of(const yaml_node_t *n)
{
	return n && n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : "";
}

/* The pairs of a mapping; none of anything else. */
#define EACH_PAIR(pair, map) \
	for (yaml_node_pair_t *pair = (map) && (map)->type == YAML_MAPPING_NODE \
		     ? (map)->data.mapping.pairs.start \
		     : NULL; \
	     pair && pair < (map)->data.mapping.pairs.top; pair++)

#define EACH_ITEM(item, list) \
	for (yaml_node_item_t *item = (list) && (list)->type == YAML_SEQUENCE_NODE \
		     ? (list)->data.sequence.items.start \
		     : NULL; \
	     item && item < (list)->data.sequence.items.top; item++)

static yaml_node_t *node_at(struct reader *r, int id)
{
	return yaml_document_get_node(&r->doc, id);
}

static yaml_node_t *member(struct reader *r, yaml_node_t *map, const char *key)
{
	EACH_PAIR(pair, map)
		if (phx_str_eq(text_of(node_at(r, pair->key)), key))
			return node_at(r, pair->value);
	return NULL;
}

/* Everything below, each scalar with its path. */
static void leave(struct reader *r, const char *path, yaml_node_t *n, unsigned depth)
{
	char below[TEXT_MAX];
	bool secret = strstr(path, "password") || strstr(path, "passphrase");
	if (depth > DEPTH_MAX)
		return;
	if (n->type == YAML_SCALAR_NODE)
		import_left(r->im, line_of(n), "%s: %s", path, secret ? "(not shown)" : text_of(n));
	EACH_PAIR(pair, n) {
		snprintf(below, sizeof(below), "%s: %s", path, text_of(node_at(r, pair->key)));
		leave(r, below, node_at(r, pair->value), depth + 1);
	}
	EACH_ITEM(item, n)
		leave(r, path, node_at(r, *item), depth + 1);
}

static bool is_among(const char *const *keys, const char *key)
{
	for (; *keys; keys++)
		if (phx_str_eq(*keys, key))
			return true;
	return false;
}

/* The members of a mapping but those that are carried over. */
static void leave_others(struct reader *r, const char *path, yaml_node_t *map,
			 const char *const *carried)
{
	char below[TEXT_MAX];
	EACH_PAIR(pair, map) {
		const char *key = text_of(node_at(r, pair->key));
		snprintf(below, sizeof(below), "%s: %s", path, key);
		if (!is_among(carried, key))
			leave(r, below, node_at(r, pair->value), 0);
	}
}

/* ---- what profiles and nodes have in common ---- */

static void add_args(struct reader *r, yaml_node_t *of, json_t *group)
{
	yaml_node_t *args = member(r, member(r, of, "kernel"), "args");
	import_words(group, "kernel_args", text_of(args), " ");
	EACH_ITEM(item, args)
		import_words(group, "kernel_args", text_of(node_at(r, *item)), " ");
}

static bool is_variable(const char *name)
{
	return *name >= 'A' && *name <= 'Z' &&
		!name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

static void add_tags(struct reader *r, const char *name, yaml_node_t *of, json_t *group)
{
	char path[TEXT_MAX];
	json_t *variables = json_object();
	yaml_node_t *tags = member(r, of, "tags");
	EACH_PAIR(pair, tags) {
		const char *key = text_of(node_at(r, pair->key));
		yaml_node_t *value = node_at(r, pair->value);
		snprintf(path, sizeof(path), "%s: tags: %s", name, key);
		if (is_variable(key))
			json_object_set_new(variables, key, json_string(text_of(value)));
		else
			leave(r, path, value, 0);
	}
	if (json_object_size(variables))
		json_object_set(group, "variables", variables);
	json_decref(variables);
}

/* What has no place here, of a profile or node. */
static void leave_rest(struct reader *r, const char *name, yaml_node_t *of)
{
	static const char *const carried[] = {"profiles", "network devices", "ipmi", "kernel",
					      "tags",     "primary network", NULL};
	static const char *const of_kernel[] = {"args", NULL},
				 *const of_ipmi[] = {"ipaddr", "username", "password", "interface",
						     NULL},
				 *const of_device[] = {"device",  "hwaddr", "ipaddr", "netmask",
						       "gateway", "mtu",    "type",   NULL};
	char path[TEXT_MAX];
	leave_others(r, name, of, carried);
	snprintf(path, sizeof(path), "%s: kernel", name);
	leave_others(r, path, member(r, of, "kernel"), of_kernel);
	snprintf(path, sizeof(path), "%s: ipmi", name);
	leave_others(r, path, member(r, of, "ipmi"), of_ipmi);
	yaml_node_t *devices = member(r, of, "network devices");
	EACH_PAIR(pair, devices) {
		snprintf(path, sizeof(path), "%s: network devices: %s", name,
			 text_of(node_at(r, pair->key)));
		leave_others(r, path, node_at(r, pair->value), of_device);
	}
}

/* ---- layers ---- */

static yaml_node_t *effective(struct reader *r, const struct layers *l, const char *group,
			      const char *part, const char *key)
{
	for (unsigned i = l->n; i-- > 0;) {
		yaml_node_t *map = member(r, l->at[i], group);
		map = part ? member(r, map, part) : map;
		yaml_node_t *found = key ? member(r, map, key) : map;
		if (found && (!key || *text_of(found)))
			return found;
	}
	return NULL;
}

/* The node's profiles, by name, as far as they are there. */
static void take_profiles(struct reader *r, yaml_node_t *node, yaml_node_t *profiles, json_t *group,
			  struct layers *ret)
{
	yaml_node_t *list = member(r, node, "profiles");
	EACH_ITEM(item, list) {
		yaml_node_t *name = node_at(r, *item), *map = member(r, profiles, text_of(name));
		if (!map)
			import_wrong(r->im, line_of(name), "there is no profile '%s'",
				     text_of(name));
		else if (ret->n == PROFILES_MAX)
			import_wrong(r->im, line_of(name), "more than %d profiles", PROFILES_MAX);
		else
			ret->at[ret->n++] = map;
		json_array_append_new(import_list(group, "profiles"), json_string(text_of(name)));
	}
	ret->at[ret->n++] = node;
}

/* ---- network devices ---- */

/* The network of a device, by its address and mask; the first device that is in it says what its
 * router is. */
static json_t *network_of(struct reader *r, const struct layers *l, const char *device,
			  yaml_node_t *address)
{
	char subnet[32], name[PHX_NAME_MAX];
	const char *mask = text_of(effective(r, l, "network devices", device, "netmask")),
		   *gateway = text_of(effective(r, l, "network devices", device, "gateway"));
	json_t *network = import_network_of(r->im, text_of(address));
	uint64_t mtu = 0;
	if (network)
		return network;
	if (import_subnet(text_of(address), mask, subnet) < 0) {
		import_wrong(r->im, line_of(address),
			     "network device %s: address '%s' and netmask '%s' are no subnet",
			     device, text_of(address), mask);
		return NULL;
	}
	snprintf(name, sizeof(name), "%s", device);
	for (unsigned i = 2; json_object_get(r->networks, name); i++)
		snprintf(name, sizeof(name), "%.40s-%u", device, i);
	json_object_set_new(r->networks, name, json_true());
	network = import_group(r->im->networks, "name", name);
	json_object_set_new(network, "subnet", json_string(subnet));
	if (*gateway)
		json_object_set_new(network, "gateway", json_string(gateway));
	if (phx_u64_parse(text_of(effective(r, l, "network devices", device, "mtu")), 576, 9216,
			  &mtu) == 0)
		json_object_set_new(network, "mtu", json_integer((json_int_t)mtu));
	return network;
}

static void add_device(struct reader *r, const struct layers *l, const char *device, bool first,
		       json_t *machine, json_t *nics)
{
	yaml_node_t *mac = effective(r, l, "network devices", device, "hwaddr"),
		    *address = effective(r, l, "network devices", device, "ipaddr"),
		    *type = effective(r, l, "network devices", device, "type"),
		    *name = effective(r, l, "network devices", device, "device");
	if (type && strcasecmp(text_of(type), "ethernet") != 0) {
		import_left(
			r->im, line_of(type), "%s: network device %s of type %s, with address '%s'",
			phx_json_str(machine, "name", ""), device, text_of(type), text_of(address));
		return;
	}
	if (mac && cli_mac_add(machine, text_of(mac)) < 0)
		import_wrong(r->im, line_of(mac), "'%s' is no MAC address", text_of(mac));
	if (!address)
		return;
	json_t *network = network_of(r, l, device, address);
	if (first)
		json_object_set_new(machine, "ip", json_string(text_of(address)));
	if (!network)
		return;
	json_t *nic = json_pack("{s:s,s:s,s:s}", "name", *text_of(name) ? text_of(name) : device,
				"network", phx_json_str(network, "name", ""), "address",
				text_of(address));
	if (mac)
		json_object_set_new(nic, "mac", json_string(text_of(mac)));
	if (first && json_object_get(network, "gateway"))
		json_object_set_new(nic, "default_route", json_true());
	json_array_append_new(nics, nic);
}

/* The names of the devices of all layers, the primary one first. */
static json_t *device_names(struct reader *r, const struct layers *l)
{
	json_t *names = json_array(), *seen = json_object();
	const char *primary = "default";
	for (unsigned i = 0; i < l->n; i++)
		if (member(r, l->at[i], "primary network"))
			primary = text_of(member(r, l->at[i], "primary network"));
	for (unsigned i = 0; i < l->n; i++) {
		yaml_node_t *devices = member(r, l->at[i], "network devices");
		EACH_PAIR(pair, devices) {
			const char *name = text_of(node_at(r, pair->key));
			if (json_object_get(seen, name))
				continue;
			json_object_set_new(seen, name, json_true());
			json_array_insert_new(
				names, phx_str_eq(name, primary) ? 0 : json_array_size(names),
				json_string(name));
		}
	}
	json_decref(seen);
	return names;
}

static void add_devices(struct reader *r, const struct layers *l, json_t *machine, json_t *group)
{
	PHX_AUTO_JSON json_t *names = device_names(r, l), *nics = json_array();
	size_t i;
	json_t *name;
	json_array_foreach(names, i, name) {
		add_device(r, l, json_string_value(name), i == 0, machine, nics);
	}
	if (json_array_size(nics))
		json_object_set(group, "nics", nics);
}

/* ---- profiles and nodes ---- */

static void add_bmc(struct reader *r, const struct layers *l, json_t *machine)
{
	static const char *const keys[][2] = {
		{"ipaddr", "address"}, {"username", "user"}, {"password", "password"}};
	if (!effective(r, l, "ipmi", NULL, "ipaddr"))
		return;
	json_t *bmc = json_pack("{s:s}", "driver", "ipmi");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(keys); i++) {
		const char *text = text_of(effective(r, l, "ipmi", NULL, keys[i][0]));
		if (*text)
			json_object_set_new(bmc, keys[i][1], json_string(text));
	}
	json_object_set_new(machine, "bmc", bmc);
}

static void read_profile(struct reader *r, yaml_node_t *key, yaml_node_t *of)
{
	const char *name = text_of(key);
	if (!phx_name_valid(name))
		import_wrong(r->im, line_of(key), "'%s' is no name of a profile", name);
	json_t *group = json_pack("{s:s}", "name", name);
	json_array_append_new(r->im->profiles, group);
	if (member(r, of, "profiles"))
		import_left(r->im, line_of(key), "%s: profiles of a profile", name);
	add_args(r, of, group);
	add_tags(r, name, of, group);
	leave_rest(r, name, of);
}

static void read_node(struct reader *r, yaml_node_t *key, yaml_node_t *of, yaml_node_t *profiles)
{
	const char *name = text_of(key);
	struct layers l = {.n = 0};
	if (!phx_name_valid(name) || json_object_get(r->nodes, name)) {
		import_wrong(r->im, line_of(key), "'%s' is no name of a node, or there twice",
			     name);
		return;
	}
	json_object_set_new(r->nodes, name, json_true());
	json_t *group = json_pack("{s:s}", "nodes", name),
	       *machine = json_pack("{s:s,s:I,s:[]}", "name", name, "line",
				    (json_int_t)line_of(key), "macs");
	json_array_append_new(r->im->nodes, group);
	json_array_append_new(r->im->machines, machine);
	take_profiles(r, of, profiles, group, &l);
	add_args(r, of, group);
	add_tags(r, name, of, group);
	add_devices(r, &l, machine, group);
	add_bmc(r, &l, machine);
	leave_rest(r, name, of);
}

static void read_document(struct reader *r)
{
	static const char *const carried[] = {"nodeprofiles", "nodes", NULL};
	yaml_node_t *root = yaml_document_get_root_node(&r->doc),
		    *profiles = member(r, root, "nodeprofiles"), *nodes = member(r, root, "nodes");
	EACH_PAIR(pair, profiles)
		read_profile(r, node_at(r, pair->key), node_at(r, pair->value));
	EACH_PAIR(pair, nodes)
		read_node(r, node_at(r, pair->key), node_at(r, pair->value), profiles);
	EACH_PAIR(pair, root) {
		const char *key = text_of(node_at(r, pair->key));
		if (!is_among(carried, key))
			leave(r, key, node_at(r, pair->value), 0);
	}
}

void import_warewulf(struct import *im, const char *text, size_t n)
{
	struct reader r = {.im = im, .networks = json_object(), .nodes = json_object()};
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser)) {
		import_wrong(im, 1, "out of memory");
	} else {
		yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
		if (yaml_parser_load(&parser, &r.doc)) {
			read_document(&r);
			yaml_document_delete(&r.doc);
		} else {
			import_wrong(im, (unsigned)parser.problem_mark.line + 1, "%s",
				     parser.problem ? parser.problem : "is no YAML");
		}
		yaml_parser_delete(&parser);
	}
	json_decref(r.networks);
	json_decref(r.nodes);
}
