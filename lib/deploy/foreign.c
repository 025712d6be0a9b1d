/* What a DHCP server of the site's own is to be told, for dhcp_mode = "none": see deploy.h. Texts
 * for people, who put them into their server's files. Called by `phx site dhcp`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ip.h"
#include "deploy/internal.h"

static const char *const names[] = {"kea", "isc", "dnsmasq"};
const struct phx_enum phx_dhcp_server_names = {"DHCP server", names, PHX_ARRAY_SIZE(names)};

/* A network that machines boot over, in the words of this file. */
struct view {
	const char *name, *gateway, *domain, *first, *last, *head;
	char dns[DNSMASQ_WORDS_MAX];
	struct phx_ipv4_net net;
	uint32_t mtu;
};

struct foreign {
	const struct phx_config *cfg;
	const struct phx_dhcp_site *site;
	const struct phx_dhcp_host *hosts;
	size_t n_hosts;
	struct phx_list views; /* struct view */
};

/* ---- the networks ---- */

static void view_of_conf(const struct phx_config *cfg, struct view *ret)
{
	uint32_t address = 0;
	*ret = (struct view){.name = PHX_SITE_BOOT_NETWORK,
			     .gateway = cfg->gateway,
			     .domain = cfg->domain,
			     .first = cfg->dhcp_range.first,
			     .last = cfg->dhcp_range.last,
			     .head = cfg->address,
			     .net.prefix = cfg->prefix};
	PHX_STR_SET(ret->dns, cfg->dns);
	phx_ipv4_parse(cfg->address, &address);
	ret->net.base = address & phx_ipv4_net_mask(&ret->net);
}

/* What a network of the site says goes before what is there. */
static void view_add(struct view *v, const struct phx_site_network *n)
{
	v->name = n->name;
	v->gateway = n->gateway[0] ? n->gateway : v->gateway;
	v->domain = n->domain[0] ? n->domain : v->domain;
	v->head = n->head[0] ? n->head : v->head;
	v->mtu = n->mtu;
	if (n->range.first[0]) {
		v->first = n->range.first;
		v->last = n->range.last;
	}
	if (n->dns.n)
		dnsmasq_words(&n->dns, v->dns, sizeof(v->dns));
}

static int make_views(struct foreign *f)
{
	const struct phx_site_network *own = dnsmasq_own(f->cfg, f->site);
	struct view *v = phx_list_push(&f->views, sizeof(*v));
	if (!v)
		return -ENOMEM;
	view_of_conf(f->cfg, v);
	if (own)
		view_add(v, own);
	PHX_LIST_EACH(struct phx_site_network, n, f->site->networks) {
		struct phx_ipv4_net net;
		if (n == own || !n->boot || !phx_site_network_subnet(n, &net))
			continue;
		if (!(v = phx_list_push(&f->views, sizeof(*v))))
			return -ENOMEM;
		*v = (struct view){.gateway = "",
				   .domain = f->cfg->domain,
				   .first = "",
				   .last = "",
				   .head = f->cfg->address,
				   .net = net};
		view_add(v, n);
	}
	return 0;
}

static bool is_in(const struct view *v, const struct phx_dhcp_host *h)
{
	uint32_t address;
	return phx_ipv4_parse(h->ip, &address) && phx_ipv4_net_has(&v->net, address);
}

static void base_of(const struct view *v, char base[PHX_IPV4_MAX], char mask[PHX_IPV4_MAX])
{
	phx_ipv4_format(v->net.base, base);
	phx_ipv4_format(phx_ipv4_net_mask(&v->net), mask);
}

/* "10.1.0.2,10.1.0.3" with blanks, as both servers want it. */
static void put_dns(struct phx_buf *b, const char *dns)
{
	for (; *dns; dns++)
		phx_buf_addf(b, *dns == ',' ? ", " : "%c", *dns);
}

/* ---- Kea: JSON, which may have comments ---- */

static const struct {
	const char *name, *test, *file; /* file NULL: by HTTP, see kea_class() */
} kea_classes[] = {
	{"bios", "not option[175].exists and option[93].hex == 0x0000", PHX_TFTP_BIOS},
	{"efi", "not option[175].exists and (option[93].hex == 0x0007 or option[93].hex == 0x0009)",
	 PHX_TFTP_UEFI},
	{"http", "not option[175].exists and option[93].hex == 0x0010", NULL},
	{"ipxe", "option[175].exists", NULL},
};

static void kea_class(struct phx_buf *b, const struct foreign *f, const struct view *v, size_t i)
{
	phx_buf_addf(b,
		     "    { \"name\": \"phoenix-%s-%s\", \"only-if-required\": true,\n"
		     "      \"test\": \"%s\",\n      \"next-server\": \"%s\",\n",
		     v->name, kea_classes[i].name, kea_classes[i].test,
		     dnsmasq_tftp(f->cfg, v->head));
	if (kea_classes[i].file)
		phx_buf_addf(b, "      \"boot-file-name\": \"%s\" }", kea_classes[i].file);
	else if (!strcmp(kea_classes[i].name, "ipxe"))
		phx_buf_addf(b, "      \"boot-file-name\": \"" BOOT_URL "\" }", v->head,
			     f->cfg->http_port);
	else
		phx_buf_addf(b,
			     "      \"option-data\": [ { \"name\": \"vendor-class-identifier\", "
			     "\"data\": \"HTTPClient\", \"always-send\": true } ],\n"
			     "      \"boot-file-name\": \"" IPXE_URL "\" }",
			     v->head, f->cfg->http_port);
}

static void kea_option(struct phx_buf *b, const char *name, const char *data, bool *first)
{
	if (!data[0])
		return;
	phx_buf_addf(b, "%s\n        { \"name\": \"%s\", \"data\": \"", *first ? "" : ",", name);
	put_dns(b, data);
	phx_buf_addf(b, "\" }");
	*first = false;
}

static void kea_options(struct phx_buf *b, const struct view *v)
{
	char mtu[16] = "";
	bool first = true;
	if (v->mtu)
		snprintf(mtu, sizeof(mtu), "%u", v->mtu);
	phx_buf_addf(b, "      \"option-data\": [");
	kea_option(b, "routers", v->gateway, &first);
	kea_option(b, "domain-name-servers", v->dns, &first);
	kea_option(b, "domain-name", v->domain, &first);
	kea_option(b, "interface-mtu", mtu, &first);
	phx_buf_addf(b, " ],\n");
}

static void kea_subnet(struct phx_buf *b, const struct foreign *f, const struct view *v,
		       uint32_t id)
{
	char base[PHX_IPV4_MAX], mask[PHX_IPV4_MAX];
	const char *comma = "";
	base_of(v, base, mask);
	phx_buf_addf(b, "    { \"id\": %u, \"subnet\": \"%s/%u\", // %s\n", id, base, v->net.prefix,
		     v->name);
	if (v->first[0])
		phx_buf_addf(b, "      \"pools\": [ { \"pool\": \"%s - %s\" } ],\n", v->first,
			     v->last);
	kea_options(b, v);
	phx_buf_addf(b, "      \"require-client-classes\": [");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kea_classes); i++)
		phx_buf_addf(b, "%s \"phoenix-%s-%s\"", i ? "," : "", v->name, kea_classes[i].name);
	phx_buf_addf(b, " ],\n      \"reservations\": [");
	for (size_t i = 0; i < f->n_hosts; i++) {
		if (!is_in(v, &f->hosts[i]))
			continue;
		phx_buf_addf(b,
			     "%s\n        { \"hw-address\": \"%s\", \"ip-address\": \"%s\", "
			     "\"hostname\": \"%s\" }",
			     comma, f->hosts[i].mac, f->hosts[i].ip, f->hosts[i].name);
		comma = ",";
	}
	phx_buf_addf(b, " ] }");
}

static void put_kea(struct phx_buf *b, const struct foreign *f)
{
	const struct view *views = f->views.items;
	phx_buf_addf(b,
		     "// for kea-dhcp4: what Phoenix needs of it; interfaces-config and "
		     "lease-database are yours\n"
		     "{ \"Dhcp4\": {\n  \"client-classes\": [\n");
	for (uint32_t i = 0; i < f->views.n; i++)
		for (size_t k = 0; k < PHX_ARRAY_SIZE(kea_classes); k++) {
			phx_buf_addf(b, "%s", i || k ? ",\n" : "");
			kea_class(b, f, &views[i], k);
		}
	phx_buf_addf(b, " ],\n  \"subnet4\": [\n");
	for (uint32_t i = 0; i < f->views.n; i++) {
		phx_buf_addf(b, "%s", i ? ",\n" : "");
		kea_subnet(b, f, &views[i], i + 1);
	}
	phx_buf_addf(b, " ]\n} }\n");
}

/* ---- ISC dhcpd ---- */

static void isc_subnet(struct phx_buf *b, const struct foreign *f, const struct view *v)
{
	char base[PHX_IPV4_MAX], mask[PHX_IPV4_MAX];
	base_of(v, base, mask);
	phx_buf_addf(b, "# %s\nsubnet %s netmask %s {\n", v->name, base, mask);
	if (v->first[0])
		phx_buf_addf(b, "  range %s %s;\n", v->first, v->last);
	if (v->gateway[0])
		phx_buf_addf(b, "  option routers %s;\n", v->gateway);
	if (v->dns[0]) {
		phx_buf_addf(b, "  option domain-name-servers ");
		put_dns(b, v->dns);
		phx_buf_addf(b, ";\n");
	}
	if (v->domain[0])
		phx_buf_addf(b, "  option domain-name \"%s\";\n", v->domain);
	if (v->mtu)
		phx_buf_addf(b, "  option interface-mtu %u;\n", v->mtu);
	phx_buf_addf(b, "  next-server %s;\n", dnsmasq_tftp(f->cfg, v->head));
	phx_buf_addf(b, "  if exists phoenix-ipxe {\n    filename \"" BOOT_URL "\";\n", v->head,
		     f->cfg->http_port);
	phx_buf_addf(b,
		     "  } elsif option phoenix-arch = 00:10 {\n"
		     "    option vendor-class-identifier \"HTTPClient\";\n"
		     "    filename \"" IPXE_URL "\";\n",
		     v->head, f->cfg->http_port);
	phx_buf_addf(b,
		     "  } elsif option phoenix-arch = 00:07 or option phoenix-arch = 00:09 {\n"
		     "    filename \"" PHX_TFTP_UEFI "\";\n  } else {\n"
		     "    filename \"" PHX_TFTP_BIOS "\";\n  }\n}\n");
}

static void put_isc(struct phx_buf *b, const struct foreign *f)
{
	phx_buf_addf(b,
		     "# for dhcpd.conf of ISC: what Phoenix needs of it\n"
		     "option phoenix-arch code 93 = string;\n"
		     "option phoenix-ipxe code 175 = string;\n");
	PHX_LIST_EACH(struct view, v, &f->views)
		isc_subnet(b, f, v);
	for (size_t i = 0; i < f->n_hosts; i++) {
		const struct phx_dhcp_host *h = &f->hosts[i];
		phx_buf_addf(b, "host phoenix-%s { hardware ethernet %s; option host-name \"%s\"; ",
			     h->name, h->mac, h->name);
		if (h->ip[0])
			phx_buf_addf(b, "fixed-address %s; ", h->ip);
		phx_buf_addf(b, "}\n");
	}
}

/* ---- dnsmasq: as ours, but for what is of our own process ---- */

static void put_dnsmasq(struct phx_buf *b, const struct foreign *f)
{
	phx_buf_addf(b, "# for dnsmasq.conf: what Phoenix needs of it\n");
	dnsmasq_add_served(b, f->cfg, f->site);
	for (size_t i = 0; i < f->n_hosts; i++)
		phx_buf_addf(b, "dhcp-host=%s%s%s,%s\n", f->hosts[i].mac,
			     f->hosts[i].ip[0] ? "," : "", f->hosts[i].ip, f->hosts[i].name);
}

int phx_dhcp_foreign(enum phx_dhcp_server server, const struct phx_config *cfg,
		     const struct phx_dhcp_site *site, const struct phx_dhcp_host *hosts,
		     size_t n_hosts, char **ret_text)
{
	static void (*const puts[])(struct phx_buf * b,
				    const struct foreign *f) = {[PHX_DHCP_KEA] = put_kea,
								[PHX_DHCP_ISC] = put_isc,
								[PHX_DHCP_DNSMASQ] = put_dnsmasq};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	struct foreign f = {cfg, site, hosts, n_hosts, {0}};
	int r = make_views(&f);
	if (r == 0)
		puts[server](&b, &f);
	phx_list_fini(&f.views);
	char *text = r == 0 ? phx_buf_take(&b) : NULL;
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}
