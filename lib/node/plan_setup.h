/* What the setup policy of one plan asks. Pure. */
#ifndef PHX_NODE_PLAN_SETUP_H
#define PHX_NODE_PLAN_SETUP_H

#include "node/plan.h"

/** Are all disks erased? */
bool phx_plan_erases(const struct phx_plan_request *q);
/** Is the scratch destroyed while the system stays up? */
bool phx_plan_scratches(const struct phx_plan_request *q);
/** Is the system written anew, whatever is there? Without a role there is nothing to write. */
bool phx_plan_renews(const struct phx_plan_request *q);
/** The request as it is planned: if the scratch cannot be destroyed in place, the setup policy
 * becomes the strictest one, and all is erased; *ret_why says why, else NULL. If nobody left data,
 * there is nothing to destroy. */
struct phx_plan_request phx_plan_settle(const struct phx_plan_request *asked, const char **ret_why);

#endif
