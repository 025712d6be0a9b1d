/* The output of services under systemd, from journald. */
#ifndef PHX_AGENT_SERVICE_JOURNAL_H
#define PHX_AGENT_SERVICE_JOURNAL_H

#include "agent/service_backend.h"

/** As service_backend.log, for a unit. With `lines` 0 and no cursor it sets only ret_cursor, to the
 * newest entry. */
int service_journal_read(const char *unit, const struct service_log_ask *ask,
			 struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
			 struct phx_err *err);

#endif
