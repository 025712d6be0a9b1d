/* Numbers that nobody can know before the event. A pure room draws none, so the head draws one for
 * each event (journal/journal.c), and an event's numbers are made from that one. The journal keeps
 * it if the event used it: a replay makes the same numbers. Called where steps are issued. Pure. */
#include "base/rng.h"
#include "state/apply.h"

uint64_t phx_draw(struct phx_apply *a, uint64_t of)
{
	struct phx_rng r = {a->ev->random};
	if (!a->ev->random)
		return 0;
	a->out->drew = true;
	r.state = phx_rng_next(&r) ^ of;
	return phx_rng_next(&r) >> 1 | 1;
}
