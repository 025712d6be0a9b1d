/* A node whose agent does not say that a job has ended, which was told to because its RE must
 * return the node (job/silence.c): it may belong to an owner who wants to keep it. It is ordered
 * away without that; take_back.c decides what follows if he does not let go. Called from the
 * worklist. Pure. */
#include "node/internal.h"

void phx_take_back_unheard(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = {0};
	if (n->state != PHX_NODE_ACTIVE || phx_node_step(n) || !n->up)
		return;
	const struct phx_node_order o =
		phx_order_own(PHX_EV_release, n, "its agent does not say that its job has ended");
	if (phx_order_by_itself(a, &o, &why) < 0)
		phx_note_re(a, n, n->pool, NULL, "%s is not taken back: %s", n->name, why.text);
}
