/* Sends the output of services to the head when it asks (order "logs"). There are as many threads
 * as the head asks questions of one node at once, so that a question which waits for more output
 * delays no other. */
#ifndef PHX_AGENT_LOGS_H
#define PHX_AGENT_LOGS_H

#include <jansson.h>

#include "http/http.h"
#include "agent/service.h"

struct logs;

/** Makes a client; the caller frees it. */
typedef int (*logs_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

/** Starts the threads; they end with the process. `services` is borrowed. */
int logs_new(struct services *services, logs_client_fn client, void *arg, struct logs **ret,
	     struct phx_err *err);

/** Answer the question `ask`, member `logs` of an order, as soon as a thread is free. -EINVAL;
 * -EBUSY: too many questions wait. */
int logs_ask(struct logs *l, uint64_t id, const json_t *ask, struct phx_err *err);

#endif
