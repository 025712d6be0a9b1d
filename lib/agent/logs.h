/* Sends what services write (order "logs"), and what tasks printed (order "output"), to the head
 * when it asks. Each question has a worker, so that one which waits for more output delays no
 * other. */
#ifndef PHX_AGENT_LOGS_H
#define PHX_AGENT_LOGS_H

#include <jansson.h>

#include "http/http.h"
#include "agent/loop.h"
#include "agent/service.h"

struct logs;

/** Makes a client; the caller frees it. */
typedef int (*logs_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

/** All are borrowed; `cache_dir` is where the keeper of tasks keeps their output. */
int logs_new(struct loop *loop, struct services *services, const char *cache_dir,
	     logs_client_fn client, void *arg, struct logs **ret);

/** Answer the question that `order` brings: one of kind "logs", or one of kind "output". -EINVAL;
 * -EBUSY: too many are under way. */
int logs_ask(struct logs *l, uint64_t id, const json_t *order, struct phx_err *err);
int logs_ask_output(struct logs *l, uint64_t id, const json_t *order, struct phx_err *err);

#endif
