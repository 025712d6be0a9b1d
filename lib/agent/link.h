/* The link to the head: enrolment, hello, beats, orders. */
#ifndef PHX_AGENT_LINK_H
#define PHX_AGENT_LINK_H

/** Body of the link thread; `agent` is a struct agent. Returns once the agent stops. */
void *link_thread(void *agent);

#endif
