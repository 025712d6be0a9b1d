/* Calls to systemd's manager, and waiting for what they start. One thread a connection. */
#ifndef PHX_AGENT_SYSTEMD_H
#define PHX_AGENT_SYSTEMD_H

#include <systemd/sd-bus.h>

#include "base/util.h"

#define SYSTEMD_DEST "org.freedesktop.systemd1"
#define SYSTEMD_MANAGER "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"
enum { SYSTEMD_JOB_MS = 30000 };

struct systemd {
	sd_bus *bus;
};

/** Connect to the system's bus, or where there is none to systemd itself (root). Caller:
 * systemd_close(). */
int systemd_open(struct systemd *ret, struct phx_err *err);
/** A second time: nothing. */
void systemd_close(struct systemd *s);

/** `r` with the bus' own words about it; ends `e`. */
int systemd_fail(sd_bus_error *e, int r, const char *what, struct phx_err *err);
/** A call of the manager, to be filled and sent. */
int systemd_new_call(struct systemd *s, const char *method, sd_bus_message **ret);
/** Send `call` (taken) whose answer is the path of a job, and wait for that job. A unit that is not
 * loaded is no error. -ETIMEDOUT, -EIO with what became of it. */
int systemd_call_job(struct systemd *s, sd_bus_message *call, uint32_t timeout_ms,
		     struct phx_err *err);

#endif
