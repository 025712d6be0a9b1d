/* Which function carries out which step. */
#ifndef PHX_AGENT_STEP_TABLE_H
#define PHX_AGENT_STEP_TABLE_H

#include "agent/step.h"

/** Run the step of the order. 0, STEP_LEAVES, or a negative errno with a text; after a failure what
 * was there before is still there. */
int step_run(struct step_run *s, struct phx_err *err);

#endif
