/* Declarations that the files of lib/re share. No other file includes this one. */
#ifndef PHX_RE_INTERNAL_H
#define PHX_RE_INTERNAL_H

#include "job/job.h"
#include "node/holding.h"
#include "node/node.h"
#include "node/order.h"
#include "re/re.h"
#include "state/node_sets.h"
#include "state/index.h"
#include "state/named.h"

/* choose.c: which nodes go */
/** Appends up to `n` nodes of `from` (NULL: free nodes) that can go to `to` (NULL: the free pool)
 * to ret_places (uint32_t, by phx_index_place()), best first. Fewer: no more nodes can, and the
 * others are marked. */
void phx_choose(struct phx_apply *a, const struct phx_re *from, const struct phx_re *to, uint32_t n,
		struct phx_list *ret_places);
/** Tells the ledger which nodes are marked, and where. */
void phx_choose_tell(struct phx_apply *a);

/* refusals.c */
/** The request `re` is refused by the event: that is kept for its owner. */
void phx_refusal_keep(struct phx_apply *a, const struct phx_re *re);
/** Its owner asks again, or has the RE: what was refused before is forgotten. */
void phx_refusal_forget(struct phx_state *s, const struct phx_agreement *g);

/* prefetch.c */
/** Is the node made ready for its next role: is it up, at rest, in its system, and counted by the
 * ledger as free or held? */
bool phx_is_prefetched(const struct phx_node *n);

#endif
