/* Numbers that nobody can know before: a pure room draws none, so the head draws one for each event
 * (journal/journal.c), and what an event needs is made from it. The journal keeps the number of an
 * event that used it: a replay finds the same. Called where steps are issued. Pure. */
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
