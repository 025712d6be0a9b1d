/* REs: their requests, their lives, and their nodes: the ledger (lib/ledger) decides how many nodes
 * go, this room chooses the nodes and hands them over. Called by the dispatcher. Pure. */
#ifndef PHX_RE_RE_H
#define PHX_RE_RE_H

#include "state/apply.h"

/* create.c */
/** Would an RE of that agreement, asked for or (`create`) created by `who`, be refused now? 0, or
 * the error that the event would have, whose text begins with the field where it is about one.
 * Changes nothing. */
int phx_re_check_new(const struct phx_state *s, const struct phx_agreement *g, enum phx_re_who who,
		     bool create, struct phx_err *err);

/* life.c */
/** Ends safe deactivations whose jobs have ended; true: there was one. */
bool phx_res_drained(struct phx_apply *a);

/* allocation.c */
/** Carries out the ledger's actions and tells it the state of its nodes, until both agree. At the
 * end of every event. */
void phx_allocation_agree(struct phx_apply *a);

/* choose.c */
/** The node has reported news, or something has changed for all nodes: every RE may choose it
 * again. */
void phx_choose_again(struct phx_apply *a, struct phx_node *n);

/* prefetch.c */
/** The packages (struct phx_package_ref) that `n` is to prefetch, maybe none, and an id that equal
 * lists share. -ENOENT: no list applies (the node is on its way, in doubt, or no policy moves it);
 * the packages that it has stay. */
int phx_re_prefetch(const struct phx_state *s, const struct phx_node *n,
		    struct phx_list *ret_packages, uint64_t *ret_id);

/* ahead.c */
/** The role whose services `n` is to run beside its own, idle, since it may be handed over to it;
 * named "" if there is none: what was started is stopped. A copy, which the caller frees by
 * phx_record_fini(&phx_role_record), and an id that equal roles share. -ENOENT: the node is on its
 * way, in doubt, or not in its system; what it runs goes on. -ENOMEM. */
int phx_re_ahead(const struct phx_state *s, const struct phx_node *n, struct phx_role *ret_role,
		 uint64_t *ret_id);

#endif
