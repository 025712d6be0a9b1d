/* Which disk of a node takes the system of a plan. Pure. */
#ifndef PHX_NODE_PLAN_DISK_H
#define PHX_NODE_PLAN_DISK_H

#include "node/plan.h"

/** The disk for the system: the present system disk, or else the smallest that is not protected. If
 * the owner's system says that all are, a plan is made nevertheless: what is so is seen before the
 * image is written. NULL: there is none. Borrowed from the facts of q->node. */
const struct phx_disk_facts *phx_plan_system_disk(const struct phx_plan_request *q);

#endif
