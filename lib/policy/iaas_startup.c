/* Startup (002 3.1, 1): leases all nodes before the first task, none later. A rule of
 * provisioning.def; called through phx_iaas_policy(), never acts. */
#include "policy/iaas_rules.h"

static void start(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		  struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	(void)p;
	(void)s;
	ret->lease[PHX_IAAS_SHORT] = phx_iaas_room(v);
}

const struct phx_iaas_rules phx_iaas_rules_startup = {.start = start};
