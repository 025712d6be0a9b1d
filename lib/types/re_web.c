/* REs for a web service: instances behind a virtual address, as many as their use demands. Called
 * through its row, by agreement.c. Pure. */
#include "types/agreement_findings.h"
#include "web/table.h"

#include <string.h>

bool phx_agreement_address(const struct phx_agreement *a, uint32_t i, char ret[PHX_WEB_ADDRESS_MAX])
{
	return a->addresses[0] ? phx_web_address_at(a->addresses, i, ret)
			       : !i && phx_web_address_at(a->address, 0, ret);
}

/* Is address `i` also one of those before it? */
static bool is_there(const struct phx_agreement *a, uint32_t i, const char *address)
{
	char before[PHX_WEB_ADDRESS_MAX];
	for (uint32_t k = 0; k < i; k++)
		if (phx_agreement_address(a, k, before) && !strcmp(before, address))
			return true;
	return false;
}

static void check_addresses(struct phx_agreement_findings *f)
{
	const struct phx_agreement *a = f->a;
	char address[PHX_WEB_ADDRESS_MAX];
	bool wrong = false, twice = false;
	uint8_t bytes[4];
	uint32_t n = 0;
	for (; phx_agreement_address(a, n, address); n++) {
		wrong = wrong || phx_web_address_parse(address, bytes) < 0;
		twice = twice || is_there(a, n, address);
	}
	wrong_if(f, a->address[0] && a->addresses[0], "addresses",
		 "are given beside address: write all of them here");
	wrong_if(f, a->address[0] && !a->addresses[0] && wrong, "address",
		 "must be an IPv4 address");
	wrong_if(f, a->addresses[0] && (wrong || !n), "addresses", "must be IPv4 addresses");
	wrong_if(f, n > PHX_WEB_ADDRESSES_MAX, "addresses", "are more than 8");
	wrong_if(f, twice, "addresses", "have one of them twice");
	wrong_if(f, a->port && !a->address[0] && !a->addresses[0], "port",
		 "is given without an address");
}

static void check(struct phx_agreement_findings *f)
{
	const struct phx_agreement *a = f->a;

	check_addresses(f);
	wrong_if(f, a->port > 65535, "port", "must be at most 65535");
	wrong_if(f, a->upper > a->lower && a->initial > a->upper, "initial_instances",
		 "is more than upper_bound_size");
	wrong_if(f, f->policy && f->policy->fixed && a->initial > a->lower, "initial_instances",
		 "is more than lower_bound_size: under this model nodes never come later");
	wrong_if(f, !a->window_s || a->window_s > 86400, "window", "must be 1 s to 1 day");
	wrong_if(f, !a->threshold_milli || a->threshold_milli >= 1000, "threshold",
		 "must be more than 0 and less than 1");
}

static const char *const keys[] = {"address",   "addresses",         "port", "window",
				   "threshold", "initial_instances", NULL};

const struct phx_re_kind phx_re_kind_web = {
	.text = "a web service",
	.has_demand = true,
	.model = PHX_POLICY_fb,
	.cycle_s = 60,
	.side = PHX_PLACE_WEB,
	.roles = {[PHX_RE_ENGINE_BUILTIN] = "web-server", [PHX_RE_ENGINE_SLURM] = "slurm-compute"},
	.keys = keys,
	.check = check,
};
