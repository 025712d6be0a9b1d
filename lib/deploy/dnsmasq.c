/* dnsmasq.conf and the command line: see deploy.h. Called by phxd at start and
 * when the number of nodes outgrows the limits; runs dnsmasq only to ask it about a text. */
#include "deploy/deploy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "deploy/internal.h"

enum { LEASES_MIN = 1024, TRANSFERS_MIN = 64, NODES_MAX = 1 << 20, TEST_MS = 10000 };

void phx_argv_fini(struct phx_argv *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->v[i]);
	free(a->v);
	*a = (struct phx_argv){0};
}

int phx_argv_make(struct phx_argv *ret, const char *const *words, size_t n)
{
	struct phx_argv a = {calloc(n + 1, sizeof(*a.v)), 0};
	for (size_t i = 0; a.v && i < n; i++, a.n++)
		if (!(a.v[i] = strdup(words[i])))
			break;
	if (!a.v || a.n < n) {
		phx_argv_fini(&a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

/* Smallest power of two that is at least `n`, and at least `min`. */
static uint32_t round_up(uint32_t n, uint32_t min)
{
	uint32_t v = min;
	while (v < n && v < NODES_MAX)
		v *= 2;
	return v;
}

static void network_of(const struct phx_config *cfg, char ret_net[INET_ADDRSTRLEN],
		       char ret_mask[INET_ADDRSTRLEN])
{
	struct in_addr a = {0}, mask = {htonl(~0U << (32 - cfg->prefix))};
	inet_pton(AF_INET, cfg->address, &a);
	a.s_addr &= mask.s_addr;
	inet_ntop(AF_INET, &a, ret_net, INET_ADDRSTRLEN);
	inet_ntop(AF_INET, &mask, ret_mask, INET_ADDRSTRLEN);
}

static void add_general(struct phx_buf *b, const struct phx_config *cfg,
			const struct phx_dhcp_site *site)
{
	phx_buf_addf(b, "# made by phxd, which replaces it: change phoenix.conf instead\n");
	/* DHCP (and TFTP) only, unless we are told that names are ours to serve */
	phx_buf_addf(b, "%sno-resolv\nno-hosts\n", site && site->serve_names ? "" : "port=0\n");
	phx_buf_addf(b, "interface=%s\n", cfg->interface);
	dnsmasq_add_cards(b, cfg, site);
	phx_buf_addf(b, "except-interface=lo\nbind-dynamic\n");
	/* who asked, whether it is firmware or iPXE, what it was told: deploy/dhcp_log.h. It never
	 * waits for whoever reads its log */
	if (cfg->dhcp_mode != PHX_DHCP_NONE)
		phx_buf_addf(b, "log-dhcp\nlog-async=100\n");
	phx_buf_addf(b, "user=%s\npid-file=%s/dnsmasq/dnsmasq.pid\nlog-facility=-\n",
		     cfg->dnsmasq_user, cfg->run_dir);
	if (cfg->tftp == PHX_TFTP_DNSMASQ)
		phx_buf_addf(b, "enable-tftp\ntftp-root=%s\n", cfg->tftp_dir);
}

static void add_matches(struct phx_buf *b)
{
	phx_buf_addf(b,
		     "dhcp-match=set:ipxe,175\n"
		     "dhcp-match=set:efi,option:client-arch,7\n"
		     "dhcp-match=set:efi,option:client-arch,9\n"
		     "dhcp-match=set:efihttp,option:client-arch,16\n");
}

/* What machines of the head's own network are told: what networks.conf says of it goes before
 * phoenix.conf. `set` and `tag` are "" if it is not in networks.conf. */
struct own {
	char set[PHX_NAME_MAX + 16], tag[PHX_NAME_MAX + 16];
	const char *gateway, *domain;
	const struct phx_ip_range *range;
	char dns[DNSMASQ_WORDS_MAX];
	uint32_t mtu;
};

static void own_of(const struct phx_config *cfg, const struct phx_dhcp_site *site, struct own *ret)
{
	const struct phx_site_network *n = dnsmasq_own(cfg, site);
	*ret = (struct own){
		.gateway = n && n->gateway[0] ? n->gateway : cfg->gateway,
		.domain = n && n->domain[0] ? n->domain : cfg->domain,
		.range = n && n->range.first[0] ? &n->range : &cfg->dhcp_range,
		.mtu = n ? n->mtu : 0,
	};
	PHX_STR_SET(ret->dns, site && site->serve_names ? cfg->address : cfg->dns);
	if (!ret->domain[0] && site && site->serve_names)
		ret->domain = site->domain;
	if (!n)
		return;
	snprintf(ret->set, sizeof(ret->set), "set:net-%s,", n->name);
	snprintf(ret->tag, sizeof(ret->tag), "tag:net-%s,", n->name);
	if (n->dns.n && !site->serve_names)
		dnsmasq_words(&n->dns, ret->dns, sizeof(ret->dns));
}

/* An option without a value is one that is not sent. */
static void add_option(struct phx_buf *b, const struct own *o, const char *option,
		       const char *value)
{
	phx_buf_addf(b, "dhcp-option=%soption:%s%s%s\n", o->tag, option, value[0] ? "," : "",
		     value);
}

static void add_range(struct phx_buf *b, const struct phx_config *cfg, const struct own *o)
{
	char net[INET_ADDRSTRLEN], mask[INET_ADDRSTRLEN];
	network_of(cfg, net, mask);
	if (o->range->first[0])
		phx_buf_addf(b, "dhcp-range=%s%s,%s,%s,%u\n", o->set, o->range->first,
			     o->range->last, mask, cfg->dhcp_lease_s);
	else
		phx_buf_addf(b, "dhcp-range=%s%s,static,%s,%u\n", o->set, net, mask,
			     cfg->dhcp_lease_s);
}

static void add_told(struct phx_buf *b, const struct own *o)
{
	add_option(b, o, "router", o->gateway);
	add_option(b, o, "dns-server", o->dns);
	if (o->mtu)
		phx_buf_addf(b, "dhcp-option=%soption:mtu,%u\n", o->tag, o->mtu);
	if (o->domain[0])
		phx_buf_addf(b, "domain=%s\n", o->domain);
}

static void add_addresses(struct phx_buf *b, const struct phx_config *cfg,
			  const struct phx_dhcp_site *site, uint32_t n_nodes)
{
	struct own o;
	own_of(cfg, site, &o);
	add_range(b, cfg, &o);
	/* a machine is known by its card: firmware, iPXE and the systems each send another client
	 * id */
	phx_buf_addf(b, "dhcp-authoritative\nno-ping\ndhcp-ignore-clid\n");
	phx_buf_addf(b, "dhcp-lease-max=%u\n", round_up(2 * n_nodes, LEASES_MIN));
	phx_buf_addf(b, "dhcp-leasefile=%s/dnsmasq.leases\n", cfg->state_dir);
	phx_buf_addf(b, "dhcp-hostsdir=%s/dnsmasq/hosts\n", cfg->run_dir);
	add_told(b, &o);
	dnsmasq_add_networks(b, cfg, site);
}

static void add_speed(struct phx_buf *b, const struct phx_config *cfg)
{
	if (cfg->ipxe_fast)
		phx_buf_addf(b, "dhcp-option=tag:ipxe,encap:175,176,1b\n");
	if (cfg->dhcp_ra)
		phx_buf_addf(b, "enable-ra\ndhcp-range=fd77::,ra-only\nra-param=%s,high,4\n",
			     cfg->interface);
}

/* Beside a site's own DHCP server: no address, only what to boot. */
static void add_proxy(struct phx_buf *b, const struct phx_config *cfg)
{
	static const char *const efi[] = {"X86-64_EFI", "BC_EFI"};
	char net[INET_ADDRSTRLEN], mask[INET_ADDRSTRLEN];
	const char *tftp = dnsmasq_tftp(cfg, cfg->address);
	network_of(cfg, net, mask);
	phx_buf_addf(b, "dhcp-range=%s,proxy,%s\n", net, mask);
	phx_buf_addf(b, "pxe-service=tag:!ipxe,x86PC,\"Phoenix\"," PHX_TFTP_BIOS ",%s\n", tftp);
	phx_buf_addf(b, "pxe-service=tag:ipxe,x86PC,\"Phoenix\"," BOOT_URL "\n", cfg->address,
		     cfg->http_port);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(efi); i++) {
		phx_buf_addf(b, "pxe-service=tag:!ipxe,%s,\"Phoenix\"," PHX_TFTP_UEFI ",%s\n",
			     efi[i], tftp);
		phx_buf_addf(b, "pxe-service=tag:ipxe,%s,\"Phoenix\"," BOOT_URL "\n", efi[i],
			     cfg->address, cfg->http_port);
	}
}

void dnsmasq_add_served(struct phx_buf *b, const struct phx_config *cfg,
			const struct phx_dhcp_site *site)
{
	struct own o;
	own_of(cfg, site, &o);
	add_matches(b);
	add_range(b, cfg, &o);
	add_told(b, &o);
	dnsmasq_add_networks(b, cfg, site);
	dnsmasq_add_boot(b, cfg, "", cfg->address);
	dnsmasq_add_boots(b, cfg, site);
}

int phx_dnsmasq_conf(const struct phx_config *cfg, const struct phx_dhcp_site *site,
		     uint32_t n_nodes, char **ret_text, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	if (n_nodes > NODES_MAX)
		return phx_err_set(err, -E2BIG, "more than %d nodes for one DHCP server",
				   NODES_MAX);
	if (cfg->dhcp_mode == PHX_DHCP_NONE)
		return phx_err_set(err, -EINVAL,
				   "dhcp_mode = \"none\": there is no dnsmasq to configure");
	add_general(&b, cfg, site);
	if (cfg->tftp == PHX_TFTP_DNSMASQ)
		phx_buf_addf(&b, "tftp-max=%u\n", round_up(n_nodes, TRANSFERS_MIN));
	add_matches(&b);
	if (cfg->dhcp_mode == PHX_DHCP_SERVE) {
		dnsmasq_add_names(&b, cfg, site);
		add_addresses(&b, cfg, site, n_nodes);
		add_speed(&b, cfg);
	} else {
		add_proxy(&b, cfg);
		dnsmasq_add_proxies(&b, cfg, site);
	}
	/* beside a proxy's menu too: some clients look only here */
	dnsmasq_add_boot(&b, cfg, "", cfg->address);
	if (cfg->dhcp_mode == PHX_DHCP_SERVE)
		dnsmasq_add_boots(&b, cfg, site);
	char *text = phx_buf_take(&b);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

static bool same_text(const char *path, const char *text)
{
	PHX_AUTO_FREE char *had = NULL;
	return phx_file_read(path, 1 << 20, &had, NULL, NULL) == 0 && !strcmp(had, text);
}

int phx_dnsmasq_write(const struct phx_config *cfg, const struct phx_dhcp_site *site,
		      uint32_t n_nodes, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_FREE char *hosts = phx_path("%s/dnsmasq/hosts", cfg->run_dir);
	PHX_AUTO_FREE char *names = phx_path("%s/dnsmasq/names", cfg->run_dir);
	PHX_AUTO_FREE char *services = phx_path("%s/dnsmasq/services", cfg->run_dir);
	PHX_AUTO_FREE char *path = phx_path("%s/dnsmasq/dnsmasq.conf", cfg->run_dir);
	if (!hosts || !names || !services || !path)
		return -ENOMEM;
	int r = phx_dnsmasq_conf(cfg, site, n_nodes, &text, err);
	if (r == 0)
		r = phx_dir_make(hosts, 0755, err);
	if (r == 0)
		r = phx_dir_make(names, 0755, err);
	if (r == 0)
		r = phx_dir_make(services, 0755, err);
	if (r == 0)
		r = phx_dir_make(cfg->state_dir, 0755, err);
	if (r < 0 || same_text(path, text))
		return r;
	r = phx_file_write(path, text, strlen(text), 0644, err);
	return r < 0 ? r : 1;
}

/* The program itself says what it thinks of the text, which is nowhere yet. */
static int ask_program(const struct phx_config *cfg, const char *path, struct phx_err *err)
{
	PHX_AUTO_FREE char *conf = phx_path("--conf-file=%s", path);
	if (!conf)
		return -ENOMEM;
	const char *const argv[] = {cfg->dnsmasq, "--test", conf, NULL};
	const struct phx_run run = {.argv = argv, .timeout_ms = TEST_MS};
	return phx_run_check(&run, NULL, err);
}

int phx_dnsmasq_try(const struct phx_config *cfg, const struct phx_dhcp_site *site,
		    uint32_t n_nodes, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	PHX_AUTO_FREE char *dir = phx_path("%s/dnsmasq", cfg->run_dir);
	PHX_AUTO_FREE char *path = phx_path("%s/dnsmasq/dnsmasq.conf.tried", cfg->run_dir);
	if (!dir || !path)
		return -ENOMEM;
	int r = phx_dnsmasq_conf(cfg, site, n_nodes, &text, err);
	r = r ? r : phx_dir_make(dir, 0755, err);
	r = r ? r : phx_file_write(path, text, strlen(text), 0644, err);
	r = r ? r : ask_program(cfg, path, err);
	unlink(path);
	return r;
}

int phx_dnsmasq_argv(const struct phx_config *cfg, struct phx_argv *ret)
{
	PHX_AUTO_FREE char *conf = phx_path("--conf-file=%s/dnsmasq/dnsmasq.conf", cfg->run_dir);
	if (!conf)
		return -ENOMEM;
	const char *const words[] = {cfg->dnsmasq, "--keep-in-foreground", conf};
	return phx_argv_make(ret, words, PHX_ARRAY_SIZE(words));
}
