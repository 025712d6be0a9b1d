/* The worker: queues steps and has them carried out one after the other, so that
 * the beat goes on. */
#ifndef PHX_AGENT_WORKER_H
#define PHX_AGENT_WORKER_H

#include "state/order.h"
#include "base/json.h"

struct agent;
struct worker;

int worker_new(struct agent *a, struct worker **ret, struct phx_err *err);
/** Returns after the step under way, which gives up when the agent stops. Queued steps are not
 * begun: the head repeats their orders. */
void worker_end(struct worker *w);

/** Take an order of kind "step" (zeroed when it is queued) with the members that phxd added
 * (`extra`, a reference is kept). Refuses a stale epoch, repeats a known result (both through the
 * outbox), ignores a step that waits or runs already. -EBUSY: the queue is full; -ENOMEM. */
int worker_order(struct worker *w, struct phx_order *order, const json_t *extra);

/** Ids of the steps that wait or run, up to `max`; returns how many there are. */
uint32_t worker_ids(struct worker *w, uint64_t *ret_ids, uint32_t max);

#endif
