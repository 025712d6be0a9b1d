/* The disks of a node that are erased at a hand-over: by which method, and whether all of them
 * are there that the node was ever seen with. Pure. */
#ifndef PHX_NODE_WIPES_H
#define PHX_NODE_WIPES_H

#include "state/apply.h"

/** What is asked of the erases of a node; all of it borrowed. */
struct phx_wipes {
	const struct phx_node *node;
	const struct phx_setup *setup;
	/* the method comes from an agreement, not from an order for this node: if `crypto` has no
	 * key to destroy, a plain disk gets the best method it can do */
	bool agreed;
	bool looks; /* false: as journals of before were written */
};

/** Is the disk one to be erased? What the disk says of itself does not count, but for journals of
 * before: there removable ones were left alone. */
bool phx_wipes_wants(const struct phx_wipes *w, const struct phx_disk_facts *d);
/** Fills the members of a wipe step for the disk. -EOPNOTSUPP: it cannot be erased so; the text
 * names the disk, and what it can do. */
int phx_wipes_step(const struct phx_wipes *w, const struct phx_disk_facts *d, struct phx_step *ret,
		   struct phx_err *err);
/** Seconds that an attempt of the step may take: erasing and reading back all of a large disk takes
 * its time. */
uint32_t phx_wipes_deadline_s(const struct phx_node *n, const struct phx_step *step);

/** The disk that the node was seen with; NULL: never with one of that id. */
struct phx_known_disk *phx_known_disk(const struct phx_node *n, const char *id);
/** The node has reported its facts: the disks among them stay known, whoever has it later. False:
 * they were. */
bool phx_known_take(struct phx_apply *a, struct phx_node *n);

/** Makes the erases of the plan those of the disks that the node sees now; new ones come at place
 * `at`. -ENODEV, -ENOTUNIQ, -EMEDIUMTYPE, -EOPNOTSUPP with a text: a disk is missing, there twice,
 * smaller than it was, or cannot be erased, and the node must not go on. */
int phx_wipes_settle(struct phx_apply *a, struct phx_node *n, uint32_t at, struct phx_err *err);
/** Why the answer of a wipe does not prove the erase; NULL: it does. */
const char *phx_wipes_fault(const struct phx_node *n, const struct phx_step *step,
			    const struct phx_event_answer *p);

#endif
