/* Network boot services: dnsmasq and in.tftpd as children, host files that
 * follow the state, each with its node, site.cpio. Called by main and by the worker. */
#include "phxd/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/file.h"

/* ---- host files ---- */

/* False: it has no card that is known, and no entry. */
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
	PHX_LIST_EACH(struct phx_node, n, &s->nodes) {
		struct phx_dhcp_host *to =
			host_of(n, &host) ? phx_list_push(&hosts, sizeof(*to)) : NULL;
		if (to)
			*to = host;
	}
	engine_unlock(d->engine);
	return phx_dhcp_hosts_sync(&d->cfg, hosts.items, hosts.n, err);
}

static int sync_one(struct daemon *d, const char *name, struct phx_err *err)
{
	struct phx_dhcp_host host;
	const struct phx_state *s = engine_lock(d->engine);
	const struct phx_node *n = phx_state_node(s, name);
	bool has = n && host_of(n, &host);
	engine_unlock(d->engine);
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

void net_hosts_changed(struct daemon *d, int change)
{
	struct phx_err err = {0};
	if (d->cfg.dhcp_mode != PHX_DHCP_SERVE)
		return;
	const struct phx_state *s = engine_lock(d->engine);
	uint32_t n_nodes = s->nodes.n;
	engine_unlock(d->engine);
	int grown = phx_dnsmasq_write(&d->cfg, n_nodes, &err);
	if (d->children && grown == 1)
		phx_children_restart(d->children, "dnsmasq", NULL);
	else if (d->children && change == PHX_DHCP_SIGHUP)
		phx_children_signal(d->children, "dnsmasq", SIGHUP, NULL);
}

/* ---- services ---- */

static int add_child(struct daemon *d, const char *name, struct phx_argv *argv, struct phx_err *err)
{
	PHX_AUTO_FREE char *pid = phx_path("%s/%s.pid", d->cfg.run_dir, name);
	PHX_AUTO_FREE char *log = phx_path("%s/%s.log", d->cfg.run_dir, name);
	struct phx_child_spec spec = {.name = name,
				      .argv = (const char *const *)argv->v,
				      .pid_file = pid,
				      .log_file = log};
	int r = pid && log ? phx_children_add(d->children, &spec, err) : -ENOMEM;
	phx_argv_fini(argv);
	return r;
}

static int start_dnsmasq(struct daemon *d, struct phx_err *err)
{
	struct phx_argv argv = {0};
	if (d->cfg.dhcp_mode == PHX_DHCP_NONE && d->cfg.tftp != PHX_TFTP_DNSMASQ)
		return 0;
	const struct phx_state *s = engine_lock(d->engine);
	uint32_t n = s->nodes.n;
	engine_unlock(d->engine);
	int r = phx_dnsmasq_write(&d->cfg, n, err);
	r = r < 0 ? r : phx_dnsmasq_argv(&d->cfg, &argv);
	if (r == 0 && d->cfg.dhcp_mode == PHX_DHCP_SERVE) {
		struct phx_err why = {0};
		told(sync_all(d, &why), &why);
	}
	return r < 0 ? r : add_child(d, "dnsmasq", &argv, err);
}

static int start_tftpd(struct daemon *d, struct phx_err *err)
{
	struct phx_argv argv = {0};
	if (d->cfg.tftp == PHX_TFTP_NONE)
		return 0;
	int r = phx_tftp_prepare(&d->cfg, err);
	if (r < 0 || d->cfg.tftp != PHX_TFTP_INTFTPD)
		return r;
	r = phx_tftpd_argv(&d->cfg, &argv);
	return r < 0 ? r : add_child(d, "in.tftpd", &argv, err);
}

int net_start(struct daemon *d, struct phx_err *err)
{
	PHX_AUTO_FREE char *cpio = phx_path("%s/site.cpio", d->cfg.run_dir);
	if (!cpio)
		return -ENOMEM;
	int r = phx_site_cpio_write(cpio, phx_pki_ca_pem(d->pki), phx_pki_site_pub_pem(d->pki),
				    err);
	r = r ? r : phx_children_new(NULL, NULL, &d->children, err);
	r = r ? r : start_tftpd(d, err);
	return r ? r : start_dnsmasq(d, err);
}

void net_stop(struct daemon *d)
{
	phx_children_free(d->children);
	d->children = NULL;
}
