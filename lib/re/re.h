/* REs: what their agreements bring about, where they are in their lives, and how their share of the
 * nodes is had: the ledger (lib/ledger) decides by count, this room says which nodes, and carries it
 * out. Called by the dispatcher. Pure. */
#ifndef PHX_RE_RE_H
#define PHX_RE_RE_H

#include "state/apply.h"

/* handlers of events, for the dispatcher (core/apply.c) alone */
int phx_apply_re_request(struct phx_apply *a);
int phx_apply_re_create(struct phx_apply *a);
/** Every other operation of the life of an RE: re_refuse .. re_destroy. */
int phx_apply_re_operate(struct phx_apply *a);
int phx_apply_re_use(struct phx_apply *a);

/* res.c */
/** Ends safe deactivations whose jobs have ended; true when there was one. */
bool phx_res_drained(struct phx_apply *a);

/* share.c */
/** Does what the ledger wants, tells it what has become of its nodes, until both agree. At the end
 * of every event. */
void phx_share_agree(struct phx_apply *a);

/* choose.c */
/** The node has told news, or something has changed for all: it may be chosen by everybody
 * again. */
void phx_choose_again(struct phx_apply *a, struct phx_node *n);

/* stock.c */
/** The packages (struct phx_package_ref) that `n` is to have at hand, and an id that equal lists
 * share; maybe none. -ENOENT: nothing is said of it (it is on its way, in doubt, or out of the
 * policy's reach): what it has stays. */
int phx_re_stock(const struct phx_state *s, const struct phx_node *n, struct phx_list *ret_packages,
		 uint64_t *ret_id);

#endif
