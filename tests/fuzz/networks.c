/* networks.conf of the settings of the site. All that is wrong is said with its place; what is
 * taken has texts that are one word of dnsmasq.conf each, and addresses that lie where they should.
 * Parsers: lib/config/site_networks.c lib/site/network.c lib/base/ip.c */
#include "base/ip.h"
#include "config/site.h"
#include "fuzz/fuzz.h"

static void count(void *arg, const char *text)
{
	fuzz_never(!text[0]);
	(*(int *)arg)++;
}

static bool is_word(const char *text)
{
	return !text[strcspn(text, "\n\t ,/=#\"")];
}

static void check(const struct phx_site_network *n, const struct phx_list *all)
{
	struct phx_ipv4_net net;
	uint32_t address;
	uint8_t v6[PHX_IPV6_BYTES];
	fuzz_never(!phx_site_network_subnet(n, &net));
	fuzz_never(!is_word(n->name) || !is_word(n->domain) || !is_word(n->interface));
	fuzz_never(phx_site_network_find(all, n->name) != n);
	fuzz_never(n->gateway[0] &&
		   (!phx_ipv4_parse(n->gateway, &address) || !phx_ipv4_net_has(&net, address) ||
		    phx_site_network_of(all, n->gateway) != n ||
		    phx_site_network_takes(n, n->gateway, NULL) == 0));
	fuzz_never(n->range.first[0] &&
		   (!phx_ipv4_parse(n->range.first, &address) ||
		    phx_site_network_takes(n, n->range.first, NULL) < 0 ||
		    phx_site_network_takes(n, n->range.last, NULL) < 0));
	fuzz_never(n->head[0] && !phx_ipv4_parse(n->head, &address));
	PHX_LIST_EACH(struct phx_word, w, &n->dns)
		fuzz_never(!phx_ipv4_parse(w->text, &address) && !phx_ipv6_parse(w->text, v6));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_site site;
	struct phx_err err = {0};
	int said = 0;
	fuzz_file("networks.conf", data, n);
	int r = phx_site_load(fuzz_dir(), count, &said, &site, &err);
	fuzz_never(r < 0 || r != said);
	if (r)
		return 0;
	PHX_LIST_EACH(struct phx_site_network, one, &site.networks)
		check(one, &site.networks);
	phx_record_fini(&phx_site_record, &site);
	return 0;
}
