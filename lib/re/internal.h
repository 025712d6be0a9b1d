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
 * to ret_places (uint32_t, as phx_index_place() gives them), best first. If there are fewer, no
 * other node can go, and those that cannot are marked. */
void phx_choose(struct phx_apply *a, const struct phx_re *from, const struct phx_re *to, uint32_t n,
		struct phx_list *ret_places);
/** Tells the ledger how many nodes are marked: of which RE or the free pool, and for which RE. */
void phx_choose_tell(struct phx_apply *a);

/** The active RE that `re` shares its nodes with; NULL: none. */
static inline struct phx_re *phx_re_partner(const struct phx_state *s, const struct phx_re *re)
{
	return phx_state_re_numbered(s, phx_ledger_partner(s->ledger, (int)re->number));
}

/* life.c */
/** Writes the state of an RE, which nothing else does. `state` is what phx_re_life_apply() gave. */
void phx_re_become(struct phx_apply *a, struct phx_re *re, enum phx_re_state state);

/* refusals.c */
/** The event refuses the request `re`: keeps the refusal for the owner of the request. */
void phx_refusal_keep(struct phx_apply *a, const struct phx_re *re);
/** The owner asks for this RE again, or has it now: forgets an earlier refusal. */
void phx_refusal_forget(struct phx_state *s, const struct phx_agreement *g);

/* prefetch.c */
/** May the node prefetch or start ahead for its next role? It must be up, at rest, in its own
 * system, and counted by the ledger as free or held. */
bool phx_is_prefetched(const struct phx_node *n);

#endif
