/* The link to the head: enrolment, hello, beats, orders. */
#ifndef PHX_AGENT_LINK_H
#define PHX_AGENT_LINK_H

/** The link, in a worker; `agent` is a struct agent. Returns once the agent stops. */
void link_run(void *agent);

#endif
