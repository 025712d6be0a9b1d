/* What people are shown of the state as JSON: nodes, REs, the head. Called by requests, with what
 * the person who asks may see; reads and changes nothing else. */
#ifndef PHXD_VIEW_H
#define PHXD_VIEW_H

#include "phxd/daemon.h"

/* ---- view_node.c ---- */

enum { VIEW_IDENTITY_MAX = 200, VIEW_EXTRAS = 7, VIEW_MEMBERS_MAX = 128 };

/** How much of nodes somebody sees, by each of these rights; OWN where the nodes are his. */
struct view_scopes {
	enum phx_scope hardware, logs, catalog;
};

/** The members of a node that are shown. */
struct view_members {
	bool shown[VIEW_MEMBERS_MAX];     /* members of the record, then the added ones */
	unsigned hides[VIEW_MEMBERS_MAX]; /* what is cut out of it, as for view_hide() */
	struct phx_json_less less;
};

/** `list`: names with commas, NULL for all. Left out is what identifies the machine, or (OWN) only
 * how it is reached and its keys, by the right `hardware`; and what is in its role and image, by
 * `catalog`. Both are cut out of sentences; with NONE of `logs`, so is what services wrote.
 * -EINVAL: a node has no such member. */
int view_members(const char *list, const struct view_scopes *scopes, struct view_members *ret,
		 struct phx_err *err);
/** Appends a node as the API shows it: record, expected identity, drift, monitor. Under the
 * engine's lock. */
void view_node_put(struct daemon *d, const struct phx_state *s, const struct phx_node *n,
		   const struct view_members *m, struct phx_buf *b);

/* ---- view.c ---- */

json_t *view_plan(const struct phx_plan *p);
/** `whole`: with whom a limit refused last, as refused_view(). */
json_t *view_status(struct daemon *d, bool whole);

/* ---- view_re.c ---- */

/** Has the RE all nodes that its lower bound guarantees (nodes that are away count), and none on
 * its way? Under the engine's lock. */
bool view_re_serves(const struct phx_state *s, const struct phx_re *re);
/** Is the RE deactivated, and have its nodes left? Under the engine's lock. */
bool view_re_returned(const struct phx_state *s, const struct phx_re *re);
/** An RE as the API shows it: record, holdings, jobs, partner. Under the engine's lock. New
 * reference. */
json_t *view_re(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		int64_t now_ms);

/** What the manager of a web RE reads and what it decided. Under the engine's lock. New reference.
 */
json_t *view_manager(const struct phx_state *s, const struct phx_re *re);

/* ---- view_use.c: all under the engine's lock ---- */

/** Use of a web RE's instances: {ppm (mean; null: no node reports it), nodes (that report it),
 * unknown: [{node, role, reason, waits}]}; `waits`: a report is still to come. New reference. */
json_t *view_use(struct daemon *d, const struct phx_state *s, const struct phx_re *re);
/** Adds a sentence for the service provider of a web RE for each node, or the role, whose use
 * cannot be measured. */
void view_use_notes(struct daemon *d, const struct phx_state *s, const struct phx_re *re,
		    json_t *notes);
/** Adds members use_ppm (null: none) and use_reason (why) of one node. */
void view_node_use(struct daemon *d, const struct phx_node *n, json_t *to);

#endif
