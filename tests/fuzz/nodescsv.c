/* nodes.csv of the settings of the site, beside a networks.conf and a profiles.conf that are right.
 * All that is wrong is said with its place; what is taken names nodes, variables, profiles that are
 * there, and cards whose addresses lie in their networks.
 * Parsers: lib/config/site_csv.c lib/base/csv.c */
#include <ctype.h>
#include <string.h>

#include "base/nodeset.h"
#include "config/site.h"
#include "fuzz/fuzz.h"

#define NETWORKS \
	"networks = ( { name = \"lan\"; subnet = \"10.1.0.0/16\"; gateway = \"10.1.0.1\"; " \
	"subnet6 = \"fd00:1::/64\"; }, { name = \"san\"; subnet = \"10.2.0.0/24\"; vlan = 20; } " \
	");"
#define PROFILES "profiles = ( { name = \"base\"; }, { name = \"gpu\"; } );"

static void count(void *arg, const char *text)
{
	fuzz_never(!text[0]);
	(*(int *)arg)++;
}

static void check_nic(const struct phx_site *site, const struct phx_site_nic *n)
{
	const struct phx_site_network *network = phx_site_network_find(&site->networks, n->network);
	uint8_t v6[PHX_IPV6_BYTES];
	uint32_t v4;
	fuzz_never(!n->name[0] || !n->line);
	fuzz_never(n->network[0] && !network);
	if (phx_ipv4_parse(n->address, &v4))
		fuzz_never(!network || phx_site_network_takes(network, n->address, NULL) < 0);
	if (n->address6[0])
		fuzz_never(!network || !phx_ipv6_parse(n->address6, v6) ||
			   !phx_site_network_has6(network, n->address6));
}

static void check(const struct phx_site *site, const struct phx_site_set *s)
{
	struct phx_nodeset nodes = {0};
	fuzz_never(phx_nodeset_parse(s->nodes, NULL, NULL, &nodes, NULL) < 0 || !nodes.n);
	fuzz_never(!strstr(s->place, "nodes.csv:"));
	phx_nodeset_fini(&nodes);
	PHX_LIST_EACH(struct phx_site_value, v, &s->profiles)
		fuzz_never(strcmp(v->text, "base") != 0 && strcmp(v->text, "gpu") != 0);
	PHX_LIST_EACH(struct phx_site_value, v, &s->variables)
		fuzz_never(!v->name[0] || islower((unsigned char)v->name[0]) || !v->line);
	PHX_LIST_EACH(struct phx_site_nic, n, &s->nics)
		check_nic(site, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_site site;
	struct phx_err err = {0};
	int said = 0;
	fuzz_file("networks.conf", (const uint8_t *)NETWORKS, strlen(NETWORKS));
	fuzz_file("profiles.conf", (const uint8_t *)PROFILES, strlen(PROFILES));
	fuzz_file("nodes.csv", data, n);
	int r = phx_site_load(fuzz_dir(), count, &said, &site, &err);
	fuzz_never(r < 0 || r != said);
	if (r)
		return 0;
	PHX_LIST_EACH(struct phx_site_set, s, &site.nodes)
		check(&site, s);
	phx_record_fini(&phx_site_record, &site);
	return 0;
}
