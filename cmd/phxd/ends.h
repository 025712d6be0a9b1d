/* What an order would end that somebody uses: jobs, logins, what a node serves. Called by the
 * handlers of dry runs and of orders. */
#ifndef PHX_PHXD_ENDS_H
#define PHX_PHXD_ENDS_H

#include "phxd/daemon.h"

/** Jobs that the order `ev` would end on its node, or (drain) would wait for: id, engine_id, user,
 * re, started_ms, limit_ms, requeue, ends. Under the engine's lock. */
json_t *view_ends(const struct phx_state *s, const struct phx_event *ev);
/** The same for all open jobs of an RE. */
json_t *view_ends_re(const struct phx_state *s, const char *re);
/** What the node of a power operation that ends everything is at: "active", or the request of the
 * hand-over that is under way; null: nothing ends there. New reference. */
json_t *view_serves(const struct phx_state *s, const struct phx_event *ev);
/** Does the result of a dry run name something that a person is to be asked about? */
bool view_is_asked(const json_t *tried);
/** The sentences that tell the outcome of an order. New reference. */
json_t *view_notes(const struct phx_outcome *out);
/** The logins on the node that the order would end: {user, tty, from, since_ms}; null: its agent
 * does not report logins. plan: the order's, NULL if it has none. */
json_t *view_sessions(struct daemon *d, const struct phx_event *ev, const struct phx_plan *plan);

#endif
