/* Switches a node off, and again until its BMC says that it is off. Called where a node is given
 * up, or where nobody may count on it. Pure. */
#include "node/internal.h"

enum { OFF_AGAIN_MS = 300 * 1000 }; /* a node that is still on is switched off again */

void phx_power_off(struct phx_apply *a, struct phx_node *n)
{
	phx_act_power(a, n, PHX_POWER_OFF);
	n->off_wanted = true;
	n->off_again_ms = a->s->now_ms + OFF_AGAIN_MS;
}
