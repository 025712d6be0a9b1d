/* On which disks of a node a layout goes: the selectors of its volumes against the disks that the
 * machine reports, into a list of partitions. What is not clear is refused. Pure. */
#ifndef PHX_NODE_LAYOUT_H
#define PHX_NODE_LAYOUT_H

#include "state/apply.h"

/** All borrowed. */
struct phx_layout_ask {
	const struct phx_node *node;
	const struct phx_protect *protect; /* NULL: nothing is */
	const char *system_disk;           /* id: it takes no volume */
	const struct phx_list *volumes;    /* right by phx_layout_check() */
};

/** Decides where each volume goes. *ret has a copy of the volumes, and is owned by the caller.
 * -ENODEV no disk fits, or fewer than `count` or the join wants; -ENOTUNIQ more fit than are meant;
 * -ENOSPC a disk is too small; -ENOMEM. The text names volume and disks; *ret is untouched then.
 * What is in doubt fits only while the machine is not in a deploy environment, which sees it. */
int phx_layout_decide(const struct phx_layout_ask *q, struct phx_layout *ret, struct phx_err *err);

/** Has the step layout to make what is decided now, by what the deploy environment reports? Puts it
 * into the node's plan. What is kept must be on disks that are not protected. ret_why: why not;
 * false then. */
bool phx_layout_settle(struct phx_apply *a, struct phx_node *n, const struct phx_step *step,
		       char *ret_why, size_t size);

/** The node's layout is gone, or no more what it was: nothing is known of it. */
void phx_layout_forget(struct phx_node *n);
/** The step layout is done: the node has what its plan says. */
void phx_layout_done(struct phx_apply *a, struct phx_node *n);

#endif
