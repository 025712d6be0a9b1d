/* The agent's start and end, for its main program. */
#ifndef PHX_AGENT_START_H
#define PHX_AGENT_START_H

#include "agent/agent.h"

/** Make directories, open the step log, adopt the state on disk (deploy), start all parts. The
 * caller has set a->cfg, zeroed the rest, and blocked signals. On failure call agent_finish() all
 * the same. */
int agent_start(struct agent *a, struct phx_err *err);
/** Stop the agent, whose process is about to end. Safe on parts that were not started. */
void agent_finish(struct agent *a);

#endif
