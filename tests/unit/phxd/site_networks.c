/* What of the networks of the site phxd goes by (cmd/phxd/site_networks.c): which addresses nodes
 * may have, how they reach the head and what they are called, and which settings would leave a node
 * without its address. The networks are real ones of lib/site; the launcher is a fake. */
#include "fake/engine.h"

#include <errno.h>

#include "phxd/site_networks.c" /* a part of a program, not of the library */

static struct daemon head;
static struct phx_state core;
static struct phx_site in_force, next; /* next: that are to be applied */
static bool borrowed;
static int launch_result, copy_result;
static const char *launch_says;
static unsigned n_tried, n_told;
static uint32_t told_of;             /* so many nodes */
static const struct phx_site *tried; /* by dnsmasq */

/* ---- what is behind ---- */

const struct phx_site *site_borrow(struct site *s)
{
	(void)s;
	assert_false(borrowed);
	borrowed = true;
	return &in_force;
}

void site_return(struct site *s)
{
	(void)s;
	assert_true(borrowed);
	borrowed = false;
}

int site_copy(struct site *s, bool *ret_there, struct phx_site *ret)
{
	(void)s;
	*ret_there = in_force.networks.n > 0;
	return copy_result < 0 ? copy_result : phx_record_copy(&phx_site_record, ret, &in_force);
}

/* The launcher, and dnsmasq, take their time. */
static int launched(uint32_t n_nodes, struct phx_err *err)
{
	assert_false(borrowed);
	assert_false(fake_engine_held);
	told_of = n_nodes;
	if (launch_says)
		return phx_err_set(err, launch_result, "%s", launch_says);
	return launch_result;
}

int launch_networks_try(struct launch *l, const struct phx_site *site, uint32_t n_nodes,
			struct phx_err *err)
{
	(void)l;
	n_tried++;
	tried = site;
	return launched(n_nodes, err);
}

int launch_networks(struct launch *l, const struct phx_site *site, uint32_t n_nodes,
		    struct phx_err *err)
{
	(void)l;
	n_told++;
	assert_int_equal(site->networks.n, in_force.networks.n);
	return launched(n_nodes, err);
}

/* ---- a head at 10.9.0.1/16, and networks ---- */

static struct phx_site_network *network(struct phx_site *s, const char *name, const char *subnet)
{
	struct phx_site_network *n = phx_list_push(&s->networks, sizeof(*n));
	assert_non_null(n);
	PHX_STR_SET(n->name, name);
	PHX_STR_SET(n->subnet, subnet);
	PHX_STR_SET(n->place, "networks.conf:1");
	return n;
}

/* "far", over which machines boot by a relay; "storage", over which none does. */
static struct phx_site_network *two_networks(struct phx_site *s)
{
	network(s, "storage", "10.3.0.0/24");
	struct phx_site_network *far = network(s, "far", "10.2.0.0/16");
	far->boot = far->relay = true;
	PHX_STR_SET(far->gateway, "10.2.0.1");
	PHX_STR_SET(far->head, "10.2.0.2");
	PHX_STR_SET(far->domain, "far.example.org");
	return far;
}

static void node_has(const char *name, const char *ip)
{
	struct phx_node *n = phx_list_push(&core.nodes, sizeof(*n));
	assert_non_null(n);
	PHX_STR_SET(n->name, name);
	PHX_STR_SET(n->ip, ip);
}

static int setup(void **state)
{
	(void)state;
	head = (struct daemon){.cfg = {.prefix = 16, .dhcp_mode = PHX_DHCP_SERVE}};
	PHX_STR_SET(head.cfg.address, "10.9.0.1");
	PHX_STR_SET(head.cfg.gateway, "10.9.0.254");
	PHX_STR_SET(head.cfg.listen, "0.0.0.0");
	PHX_STR_SET(head.cfg.domain, "cluster");
	struct phx_word *w = phx_list_push(&head.cfg.server_names, sizeof(*w));
	PHX_STR_SET(w->text, "10.2.0.2");
	core = (struct phx_state){0};
	fake_state = &core;
	in_force = next = (struct phx_site){0};
	borrowed = false;
	launch_result = copy_result = 0;
	launch_says = NULL;
	n_tried = n_told = told_of = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_false(borrowed);
	fake_engine_is_free();
	phx_list_fini(&core.nodes);
	phx_list_fini(&head.cfg.server_names);
	phx_record_fini(&phx_site_record, &in_force);
	phx_record_fini(&phx_site_record, &next);
	return 0;
}

/* ---- addresses of nodes ---- */

static void assert_ip(const char *ip, const char *want)
{
	struct phx_err err = {0};
	int r = site_check_ip(&head, ip, &err);
	assert_string_equal(err.text, want);
	assert_int_equal(r, *want ? -EINVAL : 0);
}

static void without_networks_phoenix_conf_says_what_a_node_may_have(void **state)
{
	(void)state;
	assert_ip("10.9.0.7", "");
	assert_ip("10.9.0.1", "ip: 10.9.0.1 is the head's own address");
	assert_ip("10.9.0.254", "ip: 10.9.0.254 is the router's (gateway)");
	assert_ip("10.2.0.7",
		  "ip: 10.2.0.7 is outside of the provisioning network, 10.9.0.1/16: "
		  "nodes get addresses of that");
	assert_ip("n1", "ip: 'n1' is no IPv4 address");
	assert_ip("", "ip: '' is no IPv4 address");
	assert_ip("fd00::1", "ip: 'fd00::1' is no IPv4 address");
	head.cfg.dhcp_mode = PHX_DHCP_ISC; /* others give them: where, they know */
	assert_ip("10.2.0.7", "");
}

static void a_node_may_have_one_of_a_network_that_it_boots_over(void **state)
{
	(void)state;
	two_networks(&in_force);
	assert_ip("10.2.0.3", "");
	assert_ip("10.2.255.254", "");
	assert_ip("10.9.0.7", ""); /* that of phoenix.conf, as before */
	assert_ip("10.3.0.7",
		  "ip: 10.3.0.7 is of network storage, over which machines do not boot "
		  "(boot in networks.conf)");
	assert_ip("10.2.0.1", "ip: 10.2.0.1 is the address of the gateway of network far");
	assert_ip("10.2.0.2", "ip: 10.2.0.2 is the address of the head of network far");
	assert_ip("10.2.0.0",
		  "ip: 10.2.0.0 is no address for a machine in network far "
		  "(10.2.0.0/16)");
	assert_ip("10.2.255.255",
		  "ip: 10.2.255.255 is no address for a machine in network far "
		  "(10.2.0.0/16)");
	assert_ip("10.4.0.7",
		  "ip: 10.4.0.7 is outside of the provisioning network, 10.9.0.1/16: "
		  "nodes get addresses of that");
	/* who boots where is not ours to say, but what is taken is */
	head.cfg.dhcp_mode = PHX_DHCP_PROXY;
	assert_ip("10.3.0.7", "");
	assert_ip("10.2.0.1", "ip: 10.2.0.1 is the address of the gateway of network far");
}

/* In the head's own network both files say what is taken. */
static void the_heads_own_network_may_be_written_too(void **state)
{
	(void)state;
	struct phx_site_network *own = network(&in_force, "boot", "10.9.0.0/16");
	PHX_STR_SET(own->gateway, "10.9.0.253");
	assert_ip("10.9.0.7", ""); /* whatever its `boot` says */
	assert_ip("10.9.0.1", "ip: 10.9.0.1 is the head's own address");
	assert_ip("10.9.0.253", "ip: 10.9.0.253 is the address of the gateway of network boot");
	assert_ip("10.9.0.254", "ip: 10.9.0.254 is the router's (gateway)");
	assert_ip("10.9.255.255",
		  "ip: 10.9.255.255 is no address for a machine in network boot "
		  "(10.9.0.0/16)");
}

/* ---- how a node reaches the head, and what it is called ---- */

static void each_network_may_have_an_address_of_the_head(void **state)
{
	char address[PHX_IPV4_MAX];
	(void)state;
	two_networks(&in_force);
	site_head(&head, "10.2.7.7", address);
	assert_string_equal(address, "10.2.0.2");
	site_head(&head, "10.3.0.7", address);
	assert_string_equal(address, "10.9.0.1");
	site_head(&head, "10.9.0.7", address);
	assert_string_equal(address, "10.9.0.1");
	site_head(&head, "", address); /* it is not known where it is */
	assert_string_equal(address, "10.9.0.1");
}

static void names_are_served_of_nodes_with_an_address(void **state)
{
	struct phx_dhcp_name name = {.name = "as before"};
	struct phx_node n = {.name = "n1", .ip = "10.2.0.7"};
	(void)state;
	two_networks(&in_force);
	PHX_STR_SET(in_force.domain, "site.example.org");
	assert_false(site_name(&head, &n, &name));
	assert_string_equal(name.name, "as before");
	in_force.serve_names = true;
	assert_true(site_name(&head, &n, &name));
	assert_string_equal(name.name, "n1");
	assert_string_equal(name.ip, "10.2.0.7");
	assert_string_equal(name.domain, "far.example.org");
	PHX_STR_SET(n.ip, "10.9.0.7");
	assert_true(site_name(&head, &n, &name));
	assert_string_equal(name.domain, "cluster");
	head.cfg.domain[0] = '\0';
	assert_true(site_name(&head, &n, &name));
	assert_string_equal(name.domain, "site.example.org");
	n.ip[0] = '\0';
	assert_false(site_name(&head, &n, &name));
}

/* ---- settings that are to be applied ---- */

/* The complaints, a line each. */
static void assert_complaints(const char *want)
{
	PHX_AUTO_JSON json_t *errors = json_array();
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	size_t i;
	json_t *text;
	site_networks_check(&head, &next, errors);
	json_array_foreach(errors, i, text)
		phx_buf_addf(&b, "%s\n", json_string_value(text));
	assert_string_equal(b.n ? b.data : "", want);
}

#define LOST " which no network has any more that machines boot over: phx node edit "

static void a_node_keeps_its_address(void **state)
{
	(void)state;
	two_networks(&in_force);
	struct phx_site_network *far = two_networks(&next);
	node_has("n1", "10.2.0.7");
	node_has("n2", "10.9.0.7");
	node_has("n3", ""); /* it has what DHCP gives it */
	assert_complaints("");
	assert_int_equal(n_tried, 1);
	assert_int_equal(told_of, 3);
	assert_ptr_equal(tried, &next);
	PHX_STR_SET(far->subnet, "10.2.8.0/24");
	PHX_STR_SET(far->gateway, "10.2.8.1");
	assert_complaints("networks.conf: node n1 has 10.2.0.7," LOST "n1 --ip ...\n");
	PHX_STR_SET(far->subnet, "10.2.0.0/16");
	far->boot = far->relay = false;
	assert_complaints("networks.conf: node n1 has 10.2.0.7," LOST "n1 --ip ...\n");
	phx_record_fini(&phx_site_record, &next);
	assert_complaints("networks.conf: node n1 has 10.2.0.7," LOST "n1 --ip ...\n");
	assert_int_equal(n_tried, 1); /* dnsmasq is not asked of what is wrong already */
	assert_int_equal(n_told, 0);
}

static void what_becomes_the_gateways_is_no_nodes(void **state)
{
	(void)state;
	two_networks(&in_force);
	struct phx_site_network *far = two_networks(&next);
	node_has("n1", "10.2.0.7");
	PHX_STR_SET(far->gateway, "10.2.0.7");
	assert_complaints("networks.conf: node n1 has 10.2.0.7, and 10.2.0.7 is the address of the "
			  "gateway of network far: phx node edit n1 --ip ...\n");
}

/* It had no network before either: nothing takes it away. */
static void an_address_that_never_was_of_a_network_stays(void **state)
{
	(void)state;
	node_has("n1", "10.77.0.7");
	two_networks(&next);
	assert_complaints("");
}

/* Thousands of nodes: an administrator reads the first. */
static void complaints_have_an_end(void **state)
{
	PHX_AUTO_JSON json_t *errors = json_array();
	char name[16], ip[16];
	(void)state;
	two_networks(&in_force);
	for (int i = 0; i < SITE_TEXTS_MAX + 5; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		snprintf(ip, sizeof(ip), "10.2.%d.%d", 1 + i / 250, 1 + i % 250);
		node_has(name, ip);
	}
	site_networks_check(&head, &next, errors);
	assert_int_equal(json_array_size(errors), SITE_TEXTS_MAX);
}

/* Of settings that do not fit the head nobody else is asked. */
static void what_does_not_fit_the_head_is_said_alone(void **state)
{
	(void)state;
	struct phx_site_network *far = two_networks(&next);
	two_networks(&in_force);
	node_has("n1", "10.2.0.7");
	far->relay = false;
	far->head[0] = '\0';
	PHX_STR_SET(far->subnet, "10.1.0.0/16");
	PHX_STR_SET(far->gateway, "10.1.0.1");
	assert_complaints(
		"networks.conf:1: network far: machines that boot there reach the head by a "
		"relay (relay = true) or a card of it (interface and head): say which\n");
	assert_int_equal(n_tried, 0);
}

static void what_dnsmasq_does_not_take_is_said(void **state)
{
	(void)state;
	two_networks(&next);
	launch_result = -EINVAL;
	launch_says = "networks.conf: dnsmasq: bad dhcp-range at line 7";
	assert_complaints("networks.conf: dnsmasq: bad dhcp-range at line 7\n");
	launch_says = NULL;
	launch_result = -EPIPE;
	assert_complaints("networks.conf: phxd's launcher does not answer\n");
}

/* ---- settings that are in force ---- */

static void dnsmasq_is_told_once_of_all_nodes(void **state)
{
	(void)state;
	two_networks(&in_force);
	node_has("n1", "10.2.0.7");
	node_has("n2", "");
	site_networks_changed(&head);
	assert_int_equal(n_told, 1);
	assert_int_equal(told_of, 2);
	site_tell_networks(&head, 77);
	assert_int_equal(told_of, 77);
	launch_result = -EINVAL; /* it is said, and the head goes on */
	launch_says = "as wanted by the test";
	site_tell_networks(&head, 77);
	assert_int_equal(n_told, 3);
	copy_result = -ENOMEM; /* nor is dnsmasq told that there are none */
	site_tell_networks(&head, 77);
	assert_int_equal(n_told, 3);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(without_networks_phoenix_conf_says_what_a_node_may_have),
		T(a_node_may_have_one_of_a_network_that_it_boots_over),
		T(the_heads_own_network_may_be_written_too),
		T(each_network_may_have_an_address_of_the_head),
		T(names_are_served_of_nodes_with_an_address),
		T(a_node_keeps_its_address),
		T(what_becomes_the_gateways_is_no_nodes),
		T(an_address_that_never_was_of_a_network_stays),
		T(complaints_have_an_end),
		T(what_does_not_fit_the_head_is_said_alone),
		T(what_dnsmasq_does_not_take_is_said),
		T(dnsmasq_is_told_once_of_all_nodes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
