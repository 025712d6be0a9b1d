/* What our own services write on stdout and stderr: a pipe each, read by one thread, the end of it
 * kept in memory. It goes on to the agent's stderr. Any thread may read; nothing of it is on a
 * disk. */
#ifndef PHX_AGENT_SERVICE_LOG_H
#define PHX_AGENT_SERVICE_LOG_H

#include "agent/service_backend.h"

struct service_logs;

/** Starts the reading thread. */
int service_logs_new(struct service_logs **ret, struct phx_err *err);
/** Ends it; who reads must have ended. NULL is fine. */
void service_logs_free(struct service_logs *l);

/** A new pipe of service `name`: returns the end to write to (close-on-exec, the caller's to
 * close), or negative errno. */
int service_logs_open(struct service_logs *l, const char *name);

/** As service_backend.log; a service that never wrote has written nothing. */
int service_logs_read(struct service_logs *l, const char *name, const struct service_log_ask *ask,
		      struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
		      struct phx_err *err);

#endif
