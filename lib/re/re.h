/* REs: their requests, their lives and their nodes. The ledger (lib/ledger) decides how many nodes
 * move; this room chooses the nodes and hands them over. Called by the dispatcher. Pure. */
#ifndef PHX_RE_RE_H
#define PHX_RE_RE_H

#include "state/apply.h"

/* create.c */
/** Would a request by `who` for an RE with this agreement be refused now or, with `create`, its
 * creation? 0, or the error that the event would have; its text begins with the field that is
 * wrong, if one is. Changes nothing. */
int phx_re_check_new(const struct phx_state *s, const struct phx_agreement *g, enum phx_re_who who,
		     bool create, struct phx_err *err);

/* life.c */
/** Ends safe deactivations whose jobs have ended; true if there was one. */
bool phx_res_drained(struct phx_apply *a);

/* allocation.c */
/** Carries out the ledger's actions and tells the ledger the state of its nodes, until both agree.
 * Called at the end of every event. */
void phx_allocation_agree(struct phx_apply *a);

/* choose.c */
/** There is news of the node, or something has changed for all nodes: every RE may choose it
 * again. */
void phx_choose_again(struct phx_apply *a, struct phx_node *n);

/* prefetch.c */
/** The packages (struct phx_package_ref, maybe none) that `n` is to prefetch, in a list that the
 * caller frees, and an id that equal lists share. -ENOENT: no list applies, because the node
 * follows a plan, is not heard, or no policy moves it; the packages that it has stay. -ENOMEM. */
int phx_re_prefetch(const struct phx_state *s, const struct phx_node *n,
		    struct phx_list *ret_packages, uint64_t *ret_id);

/* ahead.c */
/** The role whose services `n` is to run, idle, beside those of its own role, since it may be
 * handed over to that role. A role named "": none, and services that were started ahead are
 * stopped. The role is a copy, which the caller frees by phx_record_fini(&phx_role_record); ret_id
 * is an id that equal roles share. -ENOENT: the node follows a plan, is not heard, or is not in its
 * own system; what it runs goes on. -ENOMEM. */
int phx_re_ahead(const struct phx_state *s, const struct phx_node *n, struct phx_role *ret_role,
		 uint64_t *ret_id);

#endif
