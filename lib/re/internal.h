/* What the files of lib/re share. Nobody else includes this. */
#ifndef PHX_RE_INTERNAL_H
#define PHX_RE_INTERNAL_H

#include "job/job.h"
#include "node/holding.h"
#include "node/node.h"
#include "node/order.h"
#include "re/re.h"
#include "state/counts.h"
#include "state/index.h"

/* choose.c: which nodes go */
/** Up to `n` nodes of `from` (NULL = free ones) that can go to `to` (NULL = the free pool), the
 * best first: appended to ret_places (uint32_t, by phx_index_place()). Fewer: there are no more,
 * and those that cannot are marked. */
void phx_choose(struct phx_apply *a, const struct phx_re *from, const struct phx_re *to, uint32_t n,
		struct phx_list *ret_places);
/** The ledger knows which nodes are marked, and where. */
void phx_choose_tell(struct phx_apply *a);

#endif
