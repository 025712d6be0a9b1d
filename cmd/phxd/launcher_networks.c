/* What the head tells the launcher of the networks of the site, for dnsmasq: see launch.def. The
 * head may have been taken over: each network is checked as `phx site` checks it, so that no text
 * of it is more than one word of dnsmasq.conf. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "phxd/launcher.h"

static struct phx_dhcp_site site_of(const struct launch_names *names,
				    const struct phx_list *networks)
{
	return (struct phx_dhcp_site){networks, names->serve_names != 0, names->forward_dns != 0,
				      names->domain};
}

const struct phx_dhcp_site *launcher_site(const struct launcher *l, struct phx_dhcp_site *ret)
{
	*ret = site_of(&l->names, &l->networks);
	return l->networks.n || ret->serve_names ? ret : NULL;
}

int launcher_refresh(struct launcher *l, uint32_t n_nodes, bool again, struct phx_err *err)
{
	struct phx_dhcp_site site;
	if (l->cfg->dhcp_mode == PHX_DHCP_NONE || !l->children)
		return 0;
	int r = phx_dnsmasq_write(l->cfg, launcher_site(l, &site), n_nodes, err);
	if (r == 1)
		phx_children_restart(l->children, "dnsmasq", NULL);
	else if (r == 0 && again)
		phx_children_signal(l->children, "dnsmasq", SIGHUP, NULL);
	return r < 0 ? r : 0;
}

/* ---- what came ---- */

/* Is each text ended? Nothing else of a message is believed to be. */
static bool is_whole(const struct launch_network *n)
{
	bool whole = memchr(n->name, 0, sizeof(n->name)) &&
		memchr(n->subnet, 0, sizeof(n->subnet)) &&
		memchr(n->gateway, 0, sizeof(n->gateway)) &&
		memchr(n->domain, 0, sizeof(n->domain)) && memchr(n->first, 0, sizeof(n->first)) &&
		memchr(n->last, 0, sizeof(n->last)) &&
		memchr(n->interface, 0, sizeof(n->interface)) &&
		memchr(n->head, 0, sizeof(n->head)) && n->n_dns <= PHX_ARRAY_SIZE(n->dns);
	for (uint32_t i = 0; whole && i < n->n_dns; i++)
		whole = memchr(n->dns[i], 0, sizeof(n->dns[i]));
	return whole;
}

static int take_network(const struct launch_network *n, struct phx_site_network *ret)
{
	*ret = (struct phx_site_network){.mtu = n->mtu,
					 .boot = n->boot != 0,
					 .relay = n->relay != 0,
					 .place = "networks.conf"};
	PHX_STR_SET(ret->name, n->name);
	PHX_STR_SET(ret->subnet, n->subnet);
	PHX_STR_SET(ret->gateway, n->gateway);
	PHX_STR_SET(ret->domain, n->domain);
	PHX_STR_SET(ret->range.first, n->first);
	PHX_STR_SET(ret->range.last, n->last);
	PHX_STR_SET(ret->interface, n->interface);
	PHX_STR_SET(ret->head, n->head);
	for (uint32_t i = 0; i < n->n_dns; i++) {
		struct phx_word *w = phx_list_push(&ret->dns, sizeof(*w));
		if (!w)
			return -ENOMEM;
		PHX_STR_SET(w->text, n->dns[i]);
	}
	return 0;
}

static void free_networks(struct phx_list *networks)
{
	PHX_LIST_EACH(struct phx_site_network, n, networks)
		phx_record_fini(&phx_site_network_record, n);
	phx_list_fini(networks);
}

static int take_all(const struct phx_apart_question *q, struct launch_names *ret_names,
		    struct phx_list *ret)
{
	struct launch_network row;
	const char *body = q->body;
	if (q->n < sizeof(*ret_names) || (q->n - sizeof(*ret_names)) % sizeof(row))
		return -EPROTO;
	memcpy(ret_names, body, sizeof(*ret_names));
	int r = memchr(ret_names->domain, 0, sizeof(ret_names->domain)) ? 0 : -EPROTO;
	for (size_t at = sizeof(*ret_names); r == 0 && at < q->n; at += sizeof(row)) {
		memcpy(&row, body + at, sizeof(row));
		struct phx_site_network *n = is_whole(&row) ? phx_list_push(ret, sizeof(*n)) : NULL;
		r = n ? take_network(&row, n) : -EPROTO;
	}
	return r;
}

/* ---- what is thought of it ---- */

static void say_first(void *err, const char *text)
{
	phx_err_set(err, -EINVAL, "%s", text);
}

static int check(const struct launcher *l, const struct phx_dhcp_site *site, uint32_t n_nodes,
		 struct phx_err *err)
{
	if (site->domain[0] && !phx_site_is_host(site->domain))
		return phx_err_set(err, -EINVAL, "that is no name of a domain");
	if (phx_site_networks_check(site->networks, say_first, err) ||
	    phx_dhcp_site_check(l->cfg, site, say_first, err))
		return -EINVAL;
	if (l->cfg->dhcp_mode == PHX_DHCP_NONE || (!site->networks->n && !site->serve_names))
		return 0;
	int r = phx_dnsmasq_try(l->cfg, site, n_nodes, err);
	return r < 0 ? phx_err_prefix(err, -EINVAL,
				      "networks.conf: dnsmasq refuses what follows "
				      "from it")
		     : 0;
}

int op_networks(struct launcher *l, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		struct phx_err *err)
{
	struct launch_names names = {0};
	struct phx_list networks = {0};
	uint32_t n_nodes = q->number < UINT32_MAX ? (uint32_t)q->number : UINT32_MAX;
	(void)ret;
	int r = take_all(q, &names, &networks);
	const struct phx_dhcp_site site = site_of(&names, &networks);
	r = r ? r : check(l, &site, n_nodes, err);
	if (r < 0 || q->op == LAUNCH_networks_try) {
		free_networks(&networks);
		return r;
	}
	free_networks(&l->networks);
	l->networks = networks;
	l->names = names;
	return launcher_refresh(l, n_nodes, false, err);
}
