/* OD-S (002 3.1, 2): leases one node for each task that finds none; a booting node
 * counts as found (policies.md, reading 19). The rule is asked after every change,
 * so it also makes up for leases that the maximum forbade. A rule of
 * provisioning.def; never acts. */
#include "policy/iaas_rules.h"

static void change(const struct phx_iaas_params *p, const struct phx_iaas_view *v,
		   struct phx_iaas_state *s, struct phx_iaas_wish *ret)
{
	(void)s;
	uint32_t want = phx_iaas_uncovered(&v->pool[PHX_IAAS_SHORT]), room = phx_iaas_room(v);
	ret->lease[PHX_IAAS_SHORT] = want < room ? want : room;
	phx_iaas_let_go(p, v, PHX_IAAS_SHORT, ret);
}

const struct phx_iaas_rules phx_iaas_rules_od_s = {.change = change};
