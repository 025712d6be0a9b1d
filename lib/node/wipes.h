/* The disks of a node that a hand-over erases, each by which method; and whether all disks are
 * present that the node was ever seen with. Pure. */
#ifndef PHX_NODE_WIPES_H
#define PHX_NODE_WIPES_H

#include "state/apply.h"

/** What the erases of a node must do; all members are borrowed. */
struct phx_wipes {
	const struct phx_node *node;
	const struct phx_setup *setup;
	/* the method comes from an agreement, not from an order for this node: if `crypto` has no
	 * key to destroy, a plain disk gets the best method that it supports */
	bool agreed;
	bool looks;                        /* false: an older journal, see settings.looks */
	const struct phx_protect *protect; /* NULL: an older journal, see settings.protects */
};

/** Must the disk be erased? All disks must, whatever they say of themselves; in older journals
 * removable ones are left alone. */
bool phx_wipes_wants(const struct phx_wipes *w, const struct phx_disk_facts *d);
/** Fills in the members of a step wipe for the disk. -EOPNOTSUPP: it cannot be erased that way; the
 * text names the disk, and what it supports. */
int phx_wipes_step(const struct phx_wipes *w, const struct phx_disk_facts *d, struct phx_step *ret,
		   struct phx_err *err);
/** The deadline of one attempt of the step, in seconds; longer for a large disk, which takes long
 * to erase and read back. */
uint32_t phx_wipes_deadline_s(const struct phx_node *n, const struct phx_step *step);

/** The node has reported its facts: records its disks as known, until a person says that one is
 * gone. True: something new was recorded. */
bool phx_known_take(struct phx_apply *a, struct phx_node *n);

/** Updates the plan's erases to the disks that the node reports now; new ones are inserted at place
 * `at`, and those of protected disks are dropped. -ENODEV, -ENOTUNIQ, -EMEDIUMTYPE, -EOPNOTSUPP,
 * -ESTALE with a text: a disk is missing, present twice, smaller than before, cannot be erased, or
 * may be protected or not, or no other disk is left to erase; and the node must not go on.
 * -ENOMEM. */
int phx_wipes_settle(struct phx_apply *a, struct phx_node *n, uint32_t at, struct phx_err *err);
/** Why the answer to a step wipe does not prove the erase; NULL: it does. */
const char *phx_wipes_fault(const struct phx_node *n, const struct phx_step *step,
			    const struct phx_event_answer *p);

#endif
