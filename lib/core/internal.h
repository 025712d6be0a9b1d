/* Declarations that the files of lib/core share. No other file includes this one. */
#ifndef PHX_CORE_INTERNAL_H
#define PHX_CORE_INTERNAL_H

#include "core/core.h"
#include "job/job.h"
#include "node/director.h"
#include "node/holding.h"
#include "node/node.h"
#include "node/order.h"
#include "state/apply.h"
#include "state/counts.h"
#include "state/index.h"

/* agree.c */
int phx_apply_re_request(struct phx_apply *a);
int phx_apply_re_create(struct phx_apply *a);

/* res.c */
/** Every other operation of the life of an RE: re_refuse .. re_destroy. */
int phx_apply_re_operate(struct phx_apply *a);
int phx_apply_re_use(struct phx_apply *a);
/** Ends safe deactivations whose jobs have ended; true when there was one. */
bool phx_res_drained(struct phx_apply *a);

/* share.c */
/** Does what the ledger wants, tells it what has become of its nodes, until both agree. At the end
 * of every event. */
void phx_share_agree(struct phx_apply *a);

/* choose.c: which nodes go */
/** Up to `n` nodes of `from` (NULL = free ones) that can go to `to` (NULL = the free pool), the
 * best first: appended to ret_places (uint32_t, by phx_index_place()). Fewer: there are no more,
 * and those that cannot are marked. */
void phx_choose(struct phx_apply *a, const struct phx_re *from, const struct phx_re *to, uint32_t n,
		struct phx_list *ret_places);
/** The ledger knows which nodes are marked, and where. */
void phx_choose_tell(struct phx_apply *a);
/** The node has told news, or something has changed for all: it may be chosen by everybody
 * again. */
void phx_choose_again(struct phx_apply *a, struct phx_node *n);

/* people.c */
int phx_apply_cert_revoke(struct phx_apply *a);

#endif
