/* What of the networks of the site phxd itself goes by: which addresses nodes may have, how they
 * reach the head, and what dnsmasq is told. See site.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "deploy/deploy.h"
#include "phxd/launch.h"
#include "phxd/site_internal.h"

/* ---- addresses ---- */

static int check_in(const struct phx_config *cfg, const struct phx_list *networks, const char *ip,
		    struct phx_err *err)
{
	const struct phx_site_network *n = phx_site_network_of(networks, ip),
				      *own = phx_site_network_of(networks, cfg->address);
	if (!n || n == own) {
		int r = n ? phx_site_network_takes(n, ip, err) : 0;
		return r < 0 ? phx_err_prefix(err, -EINVAL, "ip")
			     : phx_config_check_ip(cfg, ip, err);
	}
	if (cfg->dhcp_mode == PHX_DHCP_SERVE && !n->boot)
		return phx_err_set(err, -EINVAL,
				   "ip: %s is of network %s, over which machines do not boot "
				   "(boot in networks.conf)",
				   ip, n->name);
	int r = phx_site_network_takes(n, ip, err);
	return r < 0 ? phx_err_prefix(err, -EINVAL, "ip") : 0;
}

int site_check_ip(struct daemon *d, const char *ip, struct phx_err *err)
{
	const struct phx_site *settings = site_borrow(d->site);
	int r = check_in(&d->cfg, &settings->networks, ip, err);
	site_return(d->site);
	return r;
}

void site_head(struct daemon *d, const char *address, char ret[PHX_IPV4_MAX])
{
	const struct phx_site *settings = site_borrow(d->site);
	phx_str_copy(ret, PHX_IPV4_MAX, phx_dhcp_head(&d->cfg, &settings->networks, address));
	site_return(d->site);
}

static struct phx_dhcp_site site_dhcp(const struct phx_site *s)
{
	return (struct phx_dhcp_site){&s->networks, s->serve_names, s->forward_dns, s->domain};
}

bool site_name(struct daemon *d, const struct phx_node *n, struct phx_dhcp_name *ret)
{
	const struct phx_site *settings = site_borrow(d->site);
	const struct phx_dhcp_site dhcp = site_dhcp(settings);
	bool has = settings->serve_names && n->ip[0];
	if (has) {
		*ret = (struct phx_dhcp_name){0};
		PHX_STR_SET(ret->name, n->name);
		PHX_STR_SET(ret->ip, n->ip);
		PHX_STR_SET(ret->domain, phx_dhcp_domain(&d->cfg, &dhcp, n->ip));
	}
	site_return(d->site);
	return has;
}

bool site_serves(struct daemon *d, const char *address, char ret_domain[128])
{
	const struct phx_site *settings = site_borrow(d->site);
	const struct phx_dhcp_site dhcp = site_dhcp(settings);
	bool serves = settings->serve_names;
	if (serves)
		phx_str_copy(ret_domain, 128, phx_dhcp_domain(&d->cfg, &dhcp, address));
	site_return(d->site);
	return serves;
}

/* ---- checks of settings that are to be applied ---- */

static void add_error(json_t *errors, const char *text)
{
	if (json_array_size(errors) < SITE_TEXTS_MAX)
		json_array_append_new(errors, json_string(text));
}

static void add_text(void *errors, const char *text)
{
	add_error(errors, text);
}

/* A node with an address that it has by the former networks. */
struct reserved {
	char node[PHX_NAME_MAX], ip[PHX_IPV4_MAX];
};

/* The nodes of all that have a reserved address: copied, since networks are looked at without the
 * engine's lock. */
static int copy_reserved(struct daemon *d, struct phx_list *ret)
{
	const struct phx_state *s = engine_lock(d->engine);
	int r = 0;
	PHX_NODES_EACH(n, s) {
		struct reserved *to = n->ip[0] ? phx_list_push(ret, sizeof(*to)) : NULL;
		if (n->ip[0] && !to) {
			r = -ENOMEM;
			break;
		}
		if (to) {
			PHX_STR_SET(to->node, n->name);
			PHX_STR_SET(to->ip, n->ip);
		}
	}
	engine_unlock(d->engine);
	return r;
}

/* Why a node cannot keep its address: it is another machine's now, or of no network. */
static void say_lost(const struct phx_site *site, const struct reserved *n, json_t *errors)
{
	const struct phx_site_network *its = phx_site_network_of(&site->networks, n->ip);
	struct phx_err err = {0};
	bool taken = its && phx_site_network_takes(its, n->ip, &err) < 0;
	PHX_AUTO_FREE char *text = phx_path(
		"networks.conf: node %s has %s, %s%s: phx node edit %s --ip ...", n->node, n->ip,
		taken ? "and " : "which no network has any more that machines boot over",
		taken ? err.text : "", n->node);
	if (text)
		add_error(errors, text);
}

/* Addresses that nodes have by the former networks, and by these no longer. */
static void check_reserved(struct daemon *d, const struct phx_site *site, json_t *errors)
{
	PHX_AUTO(phx_list_fini) struct phx_list nodes = {0};
	if (copy_reserved(d, &nodes) < 0)
		add_error(errors, "there is not enough memory to look at the nodes");
	const struct phx_site *former = site_borrow(d->site);
	PHX_LIST_EACH(struct reserved, n, &nodes)
		if (phx_site_network_of(&former->networks, n->ip) &&
		    check_in(&d->cfg, &site->networks, n->ip, NULL) < 0)
			say_lost(site, n, errors);
	site_return(d->site);
}

static uint32_t count_nodes(struct daemon *d)
{
	const struct phx_state *s = engine_lock(d->engine);
	uint32_t n = phx_nodes_count(s);
	engine_unlock(d->engine);
	return n;
}

void site_networks_check(struct daemon *d, const struct phx_site *site, json_t *errors)
{
	const struct phx_dhcp_site dhcp = site_dhcp(site);
	struct phx_err err = {0};
	if (phx_dhcp_site_check(&d->cfg, &dhcp, add_text, errors))
		return;
	check_reserved(d, site, errors);
	if (!json_array_size(errors) &&
	    launch_networks_try(d->launch, site, count_nodes(d), &err) < 0)
		add_error(errors,
			  err.text[0] ? err.text
				      : "networks.conf: phxd's launcher does not "
					"answer");
}

void site_tell_networks(struct daemon *d, uint32_t n_nodes)
{
	struct phx_err err = {0};
	struct phx_site site;
	bool there;
	if (site_copy(d->site, &there, &site) < 0)
		return;
	if (launch_networks(d->launch, &site, n_nodes, &err) < 0)
		fprintf(stderr,
			"phxd: networks of the site: %s; the DHCP server goes on with what it had: "
			"phx "
			"site check, phx site apply\n",
			err.text);
	phx_record_fini(&phx_site_record, &site);
}

void site_networks_changed(struct daemon *d)
{
	site_tell_networks(d, count_nodes(d));
}
