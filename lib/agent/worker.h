/* Steps wait here and are carried out one after the other, so that the beat
 * goes on. */
#ifndef PHX_AGENT_WORKER_H
#define PHX_AGENT_WORKER_H

#include "state/order.h"
#include "base/json.h"

struct agent;
struct worker;

int worker_new(struct agent *a, struct worker **ret, struct phx_err *err);
/** Waits for the step under way, which is told to end; what waits is not begun. The head will ask
 * again. */
void worker_end(struct worker *w);

/** An order of kind "step" (taken when 0 is returned, zeroed then) with what phxd adds to it
 * (`extra`, borrowed). Refuses the past, repeats known answers, ignores what waits or runs already.
 * Whatever it finds is answered through the outbox. */
int worker_order(struct worker *w, struct phx_order *order, const json_t *extra);

/** Ids of the steps that wait or run; returns how many there are. */
uint32_t worker_ids(struct worker *w, uint64_t *ret_ids, uint32_t max);

#endif
