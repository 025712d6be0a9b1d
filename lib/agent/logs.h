/* What services wrote, told to the head when it asks (order "logs"): as many threads as the head
 * has questions at once for one node, so that one who waits for more keeps nobody. */
#ifndef PHX_AGENT_LOGS_H
#define PHX_AGENT_LOGS_H

#include <jansson.h>

#include "http/http.h"
#include "agent/service.h"

struct logs;

/** Makes a client, to be freed by who asked. */
typedef int (*logs_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

/** Starts the threads; they end with the process. `services` is borrowed. */
int logs_new(struct services *services, logs_client_fn client, void *arg, struct logs **ret,
	     struct phx_err *err);

/** Answer this question as soon as a thread is free: member `logs` of an order. -EINVAL, -EBUSY
 * when many wait. */
int logs_ask(struct logs *l, uint64_t id, const json_t *ask, struct phx_err *err);

#endif
