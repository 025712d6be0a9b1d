/* The output (stdout and stderr) of services of our own backend: a pipe for each start. Workers
 * read the pipes, keep the last bytes in memory and copy all to the agent's stderr. No output is
 * written to a disk. Never called by handlers of the loop. */
#ifndef PHX_AGENT_SERVICE_LOG_H
#define PHX_AGENT_SERVICE_LOG_H

#include "agent/service_backend.h"

struct service_logs;

/** `loop` is borrowed. -ENOMEM. */
int service_logs_new(struct loop *loop, struct service_logs **ret);
/** Nobody may be reading any more. Safe on NULL. */
void service_logs_free(struct service_logs *l);

/** Make a pipe for service `name`: returns its write end (close-on-exec), which the caller closes,
 * or negative errno. */
int service_logs_open(struct service_logs *l, const char *name);

/** As service_backend.log; the output of an unknown service is empty. */
int service_logs_read(struct service_logs *l, const char *name, const struct service_log_ask *ask,
		      struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
		      struct phx_err *err);

#endif
