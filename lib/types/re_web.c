/* REs for a web service: instances behind a virtual address, as many as their use demands. Called
 * through its row, by agreement.c. Pure. */
#include "types/agreement_findings.h"
#include "web/table.h"

static void check(struct phx_agreement_findings *f)
{
	const struct phx_agreement *a = f->a;
	uint8_t bytes[4];
	bool wrong = a->address[0] && phx_web_address_parse(a->address, bytes) < 0;

	wrong_if(f, wrong, "address", "must be an IPv4 address");
	wrong_if(f, a->port && !a->address[0], "port", "is given without an address");
	wrong_if(f, a->port > 65535, "port", "must be at most 65535");
	wrong_if(f, a->upper > a->lower && a->initial > a->upper, "initial_instances",
		 "is more than upper_bound_size");
	wrong_if(f, f->policy && f->policy->fixed && a->initial > a->lower, "initial_instances",
		 "is more than lower_bound_size: under this model nodes never come later");
	wrong_if(f, !a->window_s || a->window_s > 86400, "window", "must be 1 s to 1 day");
	wrong_if(f, !a->threshold_milli || a->threshold_milli >= 1000, "threshold",
		 "must be more than 0 and less than 1");
}

static const char *const keys[] = {"address",           "port", "window", "threshold",
				   "initial_instances", NULL};

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
