/* Files that machines boot from: host files of dnsmasq, one for each node, which follow the state,
 * and site.cpio. dnsmasq and in.tftpd belong to the launcher (launcher.c). Called by main.c,
 * catalog.c and the worker of exec.c. */
#include "phxd/daemon.h"

#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "node/director.h"
#include "phxd/site.h"

/* ---- host files ---- */

/* The entry of a node; false: none, as no network card of it is known. */
static bool host_of(const struct phx_node *n, struct phx_dhcp_host *ret)
{
	*ret = (struct phx_dhcp_host){0};
	if (!n->macs.n)
		return false;
	PHX_STR_SET(ret->mac, PHX_LIST_AT(&n->macs, struct phx_mac, 0)->mac);
	PHX_STR_SET(ret->ip, n->ip);
	PHX_STR_SET(ret->name, n->name);
	return true;
}

static int sync_all(struct daemon *d, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list hosts = {0};
	struct phx_dhcp_host host;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_NODES_EACH(n, s) {
		struct phx_dhcp_host *to =
			host_of(n, &host) ? phx_list_push(&hosts, sizeof(*to)) : NULL;
		if (to)
			*to = host;
	}
	engine_unlock(d->engine);
	return phx_dhcp_hosts_sync(&d->cfg, hosts.items, hosts.n, err);
}

void net_sync_names(struct daemon *d)
{
	PHX_AUTO(phx_list_fini) struct phx_list names = {0};
	struct phx_dhcp_name name;
	struct phx_err err = {0};
	if (d->cfg.dhcp_mode != PHX_DHCP_SERVE)
		return;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_NODES_EACH(n, s) {
		struct phx_dhcp_name *to =
			site_name(d, n, &name) ? phx_list_push(&names, sizeof(*to)) : NULL;
		if (to)
			*to = name;
	}
	engine_unlock(d->engine);
	if (phx_dhcp_names_sync(&d->cfg, names.items, names.n, &err) < 0)
		fprintf(stderr, "phxd: names of nodes: %s\n", err.text);
	net_sync_services(d);
}

/* The name of an RE and its virtual addresses; false: it has none now, or a node has its name. */
static bool service_of(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		       struct phx_dhcp_service *ret)
{
	char address[PHX_WEB_ADDRESS_MAX];
	const struct phx_agreement *g = &re->agreement;
	*ret = (struct phx_dhcp_service){0};
	if (!phx_director_serves_re(re) || phx_state_node(s, re->name) ||
	    !phx_agreement_address(g, 0, address) || !site_serves(d, address, ret->domain))
		return false;
	PHX_STR_SET(ret->name, re->name);
	PHX_STR_SET(ret->addresses, g->addresses[0] ? g->addresses : g->address);
	return true;
}

void net_sync_services(struct daemon *d)
{
	PHX_AUTO(phx_list_fini) struct phx_list services = {0};
	struct phx_dhcp_service service;
	struct phx_err err = {0};
	if (d->cfg.dhcp_mode != PHX_DHCP_SERVE)
		return;
	const struct phx_state *s = engine_lock(d->engine);
	PHX_LIST_EACH(struct phx_re, re, &s->res) {
		struct phx_dhcp_service *to = service_of(d, s, re, &service)
			? phx_list_push(&services, sizeof(*to))
			: NULL;
		if (to)
			*to = service;
	}
	engine_unlock(d->engine);
	if (phx_dhcp_services_sync(&d->cfg, services.items, services.n, &err) < 0)
		fprintf(stderr, "phxd: names of services: %s\n", err.text);
}

static int sync_one(struct daemon *d, const char *name, struct phx_err *err)
{
	struct phx_dhcp_host host;
	struct phx_dhcp_name its;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, name);
	bool has = n && host_of(n, &host), named = n && site_name(d, n, &its);
	engine_unlock(d->engine);
	/* without a name it boots, without an address it does not */
	if (phx_dhcp_name_sync(&d->cfg, name, named ? &its : NULL, err) < 0) {
		fprintf(stderr, "phxd: names of nodes: %s\n", err->text);
		phx_err_clear(err);
	}
	int r = phx_dhcp_host_sync(&d->cfg, name, has ? &host : NULL, err);
	return r == PHX_DHCP_ALL ? sync_all(d, err) : r;
}

static int told(int r, const struct phx_err *err)
{
	if (r < 0)
		fprintf(stderr, "phxd: dhcp hosts: %s\n", err->text);
	return r < 0 ? PHX_DHCP_SAME : r;
}

int net_sync_host(struct daemon *d, const char *name)
{
	struct phx_err err = {0};
	if (d->cfg.dhcp_mode != PHX_DHCP_SERVE)
		return PHX_DHCP_SAME;
	return told(sync_one(d, name, &err), &err);
}

static uint32_t count_nodes(struct daemon *d)
{
	const struct phx_state *s = engine_lock(d->engine);
	uint32_t n = phx_nodes_count(s);
	engine_unlock(d->engine);
	return n;
}

void net_hosts_changed(struct daemon *d, int change)
{
	struct phx_err err = {0};
	if (d->cfg.dhcp_mode != PHX_DHCP_SERVE)
		return;
	if (launch_hosts(d->launch, count_nodes(d), change == PHX_DHCP_SIGHUP, &err) < 0)
		fprintf(stderr, "phxd: dnsmasq: %s\n", err.text);
}

/* ---- services ---- */

int net_site_files(struct daemon *d, const char *package_keys, struct phx_err *err)
{
	PHX_AUTO_FREE char *cpio = phx_path("%s/site.cpio", d->cfg.run_dir);
	const struct phx_site_files files = {.ca = phx_pki_ca_pem(d->pki),
					     .site_pub = phx_pki_site_pub_pem(d->pki),
					     .package_keys = package_keys,
					     .images_signed = d->cfg.images_signed};
	return cpio ? phx_site_cpio_write(cpio, &files, err) : -ENOMEM;
}

int net_start(struct daemon *d, struct phx_err *err)
{
	struct phx_err why = {0};
	if (d->cfg.dhcp_mode == PHX_DHCP_SERVE)
		told(sync_all(d, &why), &why);
	net_sync_names(d);
	site_tell_networks(d, count_nodes(d));
	return launch_boot(d->launch, count_nodes(d), err);
}
