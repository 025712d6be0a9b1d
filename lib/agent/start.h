/* The agent's start and end, for its main program. */
#ifndef PHX_AGENT_START_H
#define PHX_AGENT_START_H

#include "agent/agent.h"

/** Directories, journal, what the disk holds (deploy), all threads. a->cfg is set, the rest zero;
 * signals are blocked. On failure call agent_finish() all the same. */
int agent_start(struct agent *a, struct phx_err *err);
/** Stop: the process is about to end. Safe on what was not started. */
void agent_finish(struct agent *a);

#endif
