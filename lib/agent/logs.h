/* Sends the output of services to the head when it asks (order "logs"). Each question has a worker,
 * so that one which waits for more output delays no other. */
#ifndef PHX_AGENT_LOGS_H
#define PHX_AGENT_LOGS_H

#include <jansson.h>

#include "http/http.h"
#include "agent/loop.h"
#include "agent/service.h"

struct logs;

/** Makes a client; the caller frees it. */
typedef int (*logs_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

/** `loop` and `services` are borrowed. */
int logs_new(struct loop *loop, struct services *services, logs_client_fn client, void *arg,
	     struct logs **ret);

/** Answer the question `ask`, member `logs` of an order. -EINVAL; -EBUSY: too many are under
 * way. */
int logs_ask(struct logs *l, uint64_t id, const json_t *ask, struct phx_err *err);

#endif
