/* Which disks of a node a plan writes: that of the system, and those of the role's layout. Pure. */
#ifndef PHX_NODE_PLAN_DISK_H
#define PHX_NODE_PLAN_DISK_H

#include "node/plan.h"

/** The disk for the system: the present system disk, or else the smallest that is not protected. If
 * the owner's system says that all are, a plan is made nevertheless: what is so is seen before the
 * image is written. NULL: there is none. Borrowed from the facts of q->node. */
const struct phx_disk_facts *phx_plan_system_disk(const struct phx_plan_request *q);

/** Have its other disks the layout that the role wants, or is there no role? */
bool phx_plan_layout_fits(const struct phx_plan_request *q);
/** Is there a layout that the plan has to make, to open, or to complain of? */
bool phx_plan_has_layout(const struct phx_plan_request *q);
/** Decides what the step layout of the plan does; the step image is in the plan already. -EPERM:
 * the disks hold another layout, and are not erased; errors of phx_layout_decide(). */
int phx_plan_layout(const struct phx_plan_request *q, struct phx_plan *plan, struct phx_err *err);

#endif
