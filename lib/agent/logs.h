/* Sends what services write (order "logs"), and what tasks printed (order "output"), to the head
 * when it asks. Each question has a worker, so that one which waits for more output delays no
 * other. */
#ifndef PHX_AGENT_LOGS_H
#define PHX_AGENT_LOGS_H

#include <jansson.h>

#include "http/http.h"
#include "agent/config.h"
#include "agent/loop.h"
#include "agent/service.h"

struct logs;

/** Makes a client; the caller frees it. */
typedef int (*logs_client_fn)(void *arg, struct phx_http_client **ret, struct phx_err *err);

/** All are borrowed. */
int logs_new(struct loop *loop, struct services *services, const struct agent_config *cfg,
	     logs_client_fn client, void *arg, struct logs **ret);

/** Answer the question that `order` brings: one of kind "logs", or one of kind "output". -EINVAL;
 * -EBUSY: too many are under way. */
int logs_ask(struct logs *l, uint64_t id, const json_t *order, struct phx_err *err);
int logs_ask_output(struct logs *l, uint64_t id, const json_t *order, struct phx_err *err);

/** A step (not 0), or a service, has failed: the end of what the agent, or the service, wrote of it
 * goes to the head, which keeps it. Returns at once; what cannot be told is lost. Safe on NULL. */
void logs_tell_failed(struct logs *l, const char *service, uint64_t step);

#endif
