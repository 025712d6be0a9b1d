/* The table of the functions that carry out steps. */
#ifndef PHX_AGENT_STEP_TABLE_H
#define PHX_AGENT_STEP_TABLE_H

#include "agent/step.h"

/** Run the step of the order. 0, STEP_LEAVES, or a negative errno with a text; the same step may be
 * run again after a failure. */
int step_run(struct step_run *s, struct phx_err *err);

#endif
