/* What the agent reports of itself to the head: what of hello and beat gathers the state of all its
 * parts. Called by the link. */
#ifndef PHX_AGENT_REPORT_H
#define PHX_AGENT_REPORT_H

#include <jansson.h>

#include "agent/agent.h"
#include "types/told.h"

/** What keeps the node from serving, or, of a healthy node, what the head should know all the
 * same. */
void report_health(struct agent *a, struct phx_told_report *r);

/** What the link itself keeps for this report. */
struct report_kept {
	uint64_t anchor; /* event of the last anchor */
	uint64_t ca;     /* number of the CAs (trust_number()) */
};
/** Member "running": orders that the head need not repeat. */
void report_running(struct agent *a, struct report_kept kept, json_t *j);

/** Member "sessions" of a monitor: the users who are logged in. */
void report_sessions(const struct agent *a, json_t *monitor);

#endif
