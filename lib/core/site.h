/* Settings of the site that nodes are told in portions: the next portion is told them when the last
 * has applied them. The head hears from agents how they stand; what follows from that is decided
 * here. Pure. */
#ifndef PHX_CORE_SITE_H
#define PHX_CORE_SITE_H

#include "state/apply.h"

/** How a node of the portion stands with the settings that it was told. */
enum phx_site_stands {
	PHX_SITE_STANDS_DONE,     /* it has applied them, or is to have none now */
	PHX_SITE_STANDS_APPLYING, /* it has not answered yet */
	PHX_SITE_STANDS_FAILED,
};
struct phx_site_heard {
	char node[PHX_NAME_MAX];
	enum phx_site_stands stands;
	char why[160]; /* FAILED */
};

/** Does the node wait for its turn, and keep what it has? One on its way to another role does not:
 * its services start anew with what is in force. */
bool phx_site_waits(const struct phx_state *s, const struct phx_node *n);

/** Is a portion under way? */
bool phx_site_in_portions(const struct phx_site_version *v);
/** The first node of that portion after the node `after`, NULL: of all; NULL: there is no other. */
const struct phx_node *phx_site_portion_node(const struct phx_state *s,
					     const struct phx_node *after);
/** Each of them. */
#define PHX_SITE_PORTION_EACH(n, s) \
	for (const struct phx_node *n = phx_site_portion_node((s), NULL); n; \
	     n = phx_site_portion_node((s), n))
/** Until when the portion may take, core time in ms; what has not answered then has failed. */
int64_t phx_site_portion_until(const struct phx_site_version *v);
/** Is the portion over? `heard`: struct phx_site_heard, of each of its nodes. True: fills `ret`
 * with the event that says so; the caller frees it by phx_event_fini(). A node that has gone silent
 * since it was told has failed, whatever it said. */
bool phx_site_portion_over(const struct phx_state *s, const struct phx_list *heard, int64_t now_ms,
			   struct phx_event *ret);

/** Which disks the settings protect, by node; groups: struct phx_protect_group. On failure those of
 * before stay. */
int phx_site_protect_nodes(struct phx_apply *a, const struct phx_list *groups);

#endif
