/* The part of dnsmasq.conf that comes from the networks of the site, and what of these does not fit
 * this head: see deploy.h. A tag is set by the range that a request's network has, never by a host
 * file. Called by dnsmasq.c and phxd. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ip.h"
#include "deploy/internal.h"

enum { SAID_MAX = PHX_SITE_PLACE_MAX + 400 };

/* ---- the head's own network ---- */

const struct phx_site_network *dnsmasq_own(const struct phx_config *cfg,
					   const struct phx_dhcp_site *site)
{
	return site ? phx_site_network_of(site->networks, cfg->address) : NULL;
}

const char *phx_dhcp_head(const struct phx_config *cfg, const struct phx_list *networks,
			  const char *address)
{
	const struct phx_site_network *n = phx_site_network_of(networks, address);
	return n && n->head[0] ? n->head : cfg->address;
}

static bool is_other(const struct phx_config *cfg, const struct phx_dhcp_site *site,
		     const struct phx_site_network *n)
{
	return n->boot && n != dnsmasq_own(cfg, site);
}

/* ---- what does not fit ---- */

struct fit {
	const struct phx_config *cfg;
	const struct phx_dhcp_site *site;
	phx_site_say_fn say;
	void *arg;
	int n;
};

static void complain(struct fit *f, const struct phx_site_network *n, const char *what, ...)
	__attribute__((format(printf, 3, 4)));
static void complain(struct fit *f, const struct phx_site_network *n, const char *what, ...)
{
	char text[SAID_MAX];
	va_list args;
	int at = snprintf(text, sizeof(text), "%s: network %s: ", n->place, n->name);
	va_start(args, what);
	vsnprintf(text + at, sizeof(text) - (size_t)at, what, args);
	va_end(args);
	f->say(f->arg, text);
	f->n++;
}

static bool is_certified(const struct phx_config *cfg, const char *address)
{
	PHX_LIST_EACH(struct phx_word, w, &cfg->server_names)
		if (!strcmp(w->text, address))
			return true;
	return false;
}

/* An address of the head other than that of phoenix.conf. */
static void fit_head(struct fit *f, const struct phx_site_network *n)
{
	const struct phx_config *cfg = f->cfg;
	if (!n->head[0] || !strcmp(n->head, cfg->address))
		return;
	if (!is_certified(cfg, n->head))
		complain(f, n,
			 "head %s is not in server_names of phoenix.conf: agents would not believe "
			 "the head there",
			 n->head);
	if (strcmp(cfg->listen, "0.0.0.0") != 0)
		complain(f, n,
			 "phxd does not listen at head %s: write listen = \"0.0.0.0\"; into "
			 "phoenix.conf",
			 n->head);
	if (cfg->dhcp_mode == PHX_DHCP_PROXY)
		complain(f, n,
			 "dhcp_mode = \"proxy\" of phoenix.conf knows one address of the "
			 "head: leave head out");
}

static void fit_own(struct fit *f, const struct phx_site_network *n, const struct phx_ipv4_net *own)
{
	struct phx_ipv4_net net;
	if (phx_site_network_subnet(n, &net) && net.prefix != own->prefix)
		complain(f, n, "address and prefix of phoenix.conf say %s/%u, subnet says %s",
			 f->cfg->address, own->prefix, n->subnet);
	if (n->relay)
		complain(f, n, "the head is in it (address of phoenix.conf): there is no relay");
	if (n->interface[0] && strcmp(n->interface, f->cfg->interface) != 0)
		complain(f, n, "interface of phoenix.conf is %s, here it is %s", f->cfg->interface,
			 n->interface);
	if (n->head[0] && strcmp(n->head, f->cfg->address) != 0)
		complain(f, n, "address of phoenix.conf is %s, head is %s", f->cfg->address,
			 n->head);
}

static void fit_other(struct fit *f, const struct phx_site_network *n,
		      const struct phx_ipv4_net *own)
{
	struct phx_ipv4_net net;
	if (phx_site_network_subnet(n, &net) && phx_ipv4_net_has(own, net.base))
		complain(f, n, "%s overlaps with the network of phoenix.conf, %s/%u", n->subnet,
			 f->cfg->address, own->prefix);
	if (n->boot && !n->relay && !n->interface[0])
		complain(f, n,
			 "machines that boot there reach the head by a relay (relay = true) or a "
			 "card of it (interface and head): say which");
	fit_head(f, n);
}

int phx_dhcp_site_check(const struct phx_config *cfg, const struct phx_dhcp_site *site,
			phx_site_say_fn say, void *arg)
{
	struct fit f = {cfg, site, say, arg, 0};
	struct phx_ipv4_net own = {.prefix = cfg->prefix};
	const struct phx_site_network *its = dnsmasq_own(cfg, site);
	uint32_t address = 0;
	phx_ipv4_parse(cfg->address, &address);
	own.base = address & phx_ipv4_net_mask(&own);
	if (site->serve_names && cfg->dhcp_mode != PHX_DHCP_SERVE) {
		say(arg,
		    "site.conf: serve_names needs dhcp_mode = \"dhcp\" in phoenix.conf: it is "
		    "phxd's DHCP server that answers");
		f.n++;
	}
	const struct phx_site_network *named =
		phx_site_network_find(site->networks, PHX_SITE_BOOT_NETWORK);
	if (named && named != its)
		complain(&f, named, "this name is that of the network of phoenix.conf, %s/%u",
			 cfg->address, own.prefix);
	PHX_LIST_EACH(struct phx_site_network, n, site->networks)
		if (n == its)
			fit_own(&f, n, &own);
		else
			fit_other(&f, n, &own);
	return f.n;
}

/* ---- the text ---- */

void dnsmasq_words(const struct phx_list *words, char *ret, size_t size)
{
	size_t n = 0;
	ret[0] = '\0';
	PHX_LIST_EACH(struct phx_word, w, words)
		if (!strchr(w->text, ':') && n + strlen(w->text) + 2 < size)
			n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? "," : "", w->text);
}

void dnsmasq_add_cards(struct phx_buf *b, const struct phx_config *cfg,
		       const struct phx_dhcp_site *site)
{
	if (!site)
		return;
	PHX_LIST_EACH(struct phx_site_network, n, site->networks)
		if (is_other(cfg, site, n) && n->interface[0] &&
		    strcmp(n->interface, cfg->interface) != 0)
			phx_buf_addf(b, "interface=%s\n", n->interface);
}

static void add_range(struct phx_buf *b, const struct phx_config *cfg,
		      const struct phx_site_network *n, const struct phx_ipv4_net *net)
{
	char base[PHX_IPV4_MAX], mask[PHX_IPV4_MAX];
	phx_ipv4_format(net->base, base);
	phx_ipv4_format(phx_ipv4_net_mask(net), mask);
	phx_buf_addf(b, "dhcp-range=set:net-%s,%s,%s,%s,%u\n", n->name,
		     n->range.first[0] ? n->range.first : base,
		     n->range.first[0] ? n->range.last : "static", mask, cfg->dhcp_lease_s);
}

/* Of a network without one, the option is sent to nobody there: that of another is none of its. */
static void add_option(struct phx_buf *b, const struct phx_site_network *n, const char *option,
		       const char *value)
{
	phx_buf_addf(b, "dhcp-option=tag:net-%s,option:%s%s%s\n", n->name, option,
		     value[0] ? "," : "", value);
}

void dnsmasq_add_networks(struct phx_buf *b, const struct phx_config *cfg,
			  const struct phx_dhcp_site *site)
{
	char dns[DNSMASQ_WORDS_MAX];
	struct phx_ipv4_net net;
	if (!site)
		return;
	PHX_LIST_EACH(struct phx_site_network, n, site->networks) {
		if (!is_other(cfg, site, n) || !phx_site_network_subnet(n, &net))
			continue;
		add_range(b, cfg, n, &net);
		add_option(b, n, "router", n->gateway);
		dnsmasq_words(&n->dns, dns, sizeof(dns));
		if (site->serve_names)
			PHX_STR_SET(dns, n->head[0] ? n->head : cfg->address);
		add_option(b, n, "dns-server", dns);
		if (n->mtu)
			phx_buf_addf(b, "dhcp-option=tag:net-%s,option:mtu,%u\n", n->name, n->mtu);
		if (n->domain[0])
			phx_buf_addf(b, "domain=%s,%s\n", n->domain, n->subnet);
	}
}

/* ---- names ---- */

const char *phx_dhcp_domain(const struct phx_config *cfg, const struct phx_dhcp_site *site,
			    const char *address)
{
	const struct phx_site_network *n = phx_site_network_of(site->networks, address);
	return n && n->domain[0] ? n->domain : cfg->domain[0] ? cfg->domain : site->domain;
}

/* A name server twice is asked twice. */
static void add_server(struct phx_buf *b, const char *address)
{
	char line[80];
	snprintf(line, sizeof(line), "\nserver=%s\n", address);
	if (address[0] && !(b->n && strstr(b->data, line)))
		phx_buf_addf(b, "%s", line + 1);
}

static void add_servers(struct phx_buf *b, const struct phx_config *cfg,
			const struct phx_dhcp_site *site)
{
	add_server(b, cfg->dns);
	PHX_LIST_EACH(struct phx_site_network, n, site->networks)
		PHX_LIST_EACH(struct phx_word, w, &n->dns)
			add_server(b, w->text);
}

/* Nobody else is asked about nodes, nor about names without a dot. What a machine says that its
 * name is does not count. */
void dnsmasq_add_names(struct phx_buf *b, const struct phx_config *cfg,
		       const struct phx_dhcp_site *site)
{
	if (!site || !site->serve_names)
		return;
	phx_buf_addf(b, "hostsdir=%s/dnsmasq/names\nhostsdir=%s/dnsmasq/services\n", cfg->run_dir,
		     cfg->run_dir);
	phx_buf_addf(b, "dhcp-ignore-names\n");
	phx_buf_addf(b, "domain-needed\nbogus-priv\n");
	if (cfg->domain[0])
		phx_buf_addf(b, "local=/%s/\n", cfg->domain);
	if (site->domain[0])
		phx_buf_addf(b, "local=/%s/\n", site->domain);
	PHX_LIST_EACH(struct phx_site_network, n, site->networks)
		if (n->domain[0])
			phx_buf_addf(b, "local=/%s/\n", n->domain);
	if (site->forward_dns)
		add_servers(b, cfg, site);
}

void dnsmasq_add_proxies(struct phx_buf *b, const struct phx_config *cfg,
			 const struct phx_dhcp_site *site)
{
	char base[PHX_IPV4_MAX], mask[PHX_IPV4_MAX];
	struct phx_ipv4_net net;
	if (!site)
		return;
	PHX_LIST_EACH(struct phx_site_network, n, site->networks) {
		if (!is_other(cfg, site, n) || !phx_site_network_subnet(n, &net))
			continue;
		phx_ipv4_format(net.base, base);
		phx_ipv4_format(phx_ipv4_net_mask(&net), mask);
		phx_buf_addf(b, "dhcp-range=%s,proxy,%s\n", base, mask);
	}
}

const char *dnsmasq_tftp(const struct phx_config *cfg, const char *head)
{
	return cfg->tftp_server[0] ? cfg->tftp_server : head;
}

void dnsmasq_add_boot(struct phx_buf *b, const struct phx_config *cfg, const char *tag,
		      const char *head)
{
	const char *tftp = dnsmasq_tftp(cfg, head);
	phx_buf_addf(b, "dhcp-boot=%stag:!ipxe,tag:!efi,tag:!efihttp," PHX_TFTP_BIOS ",,%s\n", tag,
		     tftp);
	phx_buf_addf(b, "dhcp-boot=%stag:!ipxe,tag:efi," PHX_TFTP_UEFI ",,%s\n", tag, tftp);
	phx_buf_addf(b, "dhcp-boot=%stag:!ipxe,tag:efihttp," IPXE_URL "\n", tag, head,
		     cfg->http_port);
	if (!tag[0])
		phx_buf_addf(b, "dhcp-option-force=tag:efihttp,60,HTTPClient\n");
	phx_buf_addf(b, "dhcp-boot=%stag:ipxe," BOOT_URL "\n", tag, head, cfg->http_port);
}

/* dnsmasq takes the last line that suits a request: these stand behind those of all. */
void dnsmasq_add_boots(struct phx_buf *b, const struct phx_config *cfg,
		       const struct phx_dhcp_site *site)
{
	char tag[PHX_NAME_MAX + 16];
	if (!site)
		return;
	PHX_LIST_EACH(struct phx_site_network, n, site->networks) {
		if (!is_other(cfg, site, n) || !n->head[0] || !strcmp(n->head, cfg->address))
			continue;
		snprintf(tag, sizeof(tag), "tag:net-%s,", n->name);
		dnsmasq_add_boot(b, cfg, tag, n->head);
	}
}
