/* The keeper of tasks: one process beside the agent, which it outlives. It runs all tasks of this
 * node and remembers what became of them. It ends when it has had nothing to do for a while; the
 * agent starts another one with the next order, or at its own start if there is a log.
 *
 *	order ─▶ noted, synced ─▶ waits ─▶ runs ─▶ ended, noted ─▶ synced ─▶ row ─▶ ack
 *
 * If the log has tasks that had not ended, a new keeper reports that the node lost them: their
 * processes ended with the former keeper, or with the machine. */
#ifndef PHX_AGENT_TASK_KEEPER_H
#define PHX_AGENT_TASK_KEEPER_H

#include "agent/config.h"

/** How a keeper is started: `phx-agent --tasks STATE CACHE RUN GROUP PRIVATE`, directories of the
 * agent, the control group of all tasks ("" none), and "private" or "" (job_private.h). */
#define TASK_KEEPER_WORD "--tasks"
#define TASK_KEEPER_WORDS 5

/** Be the keeper: `words` are those behind "--tasks". Returns the exit status of the process. */
int task_keeper_main(char **words);

#endif
