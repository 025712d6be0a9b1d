/* Calls to systemd's manager, and waits for the jobs that they start. Each connection is for one
 * thread. */
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

/** Connect to the system's bus, or without a bus to systemd itself (as root). The caller calls
 * systemd_close(). */
int systemd_open(struct systemd *ret, struct phx_err *err);
/** Safe twice. */
void systemd_close(struct systemd *s);

/** Sets err from the bus's error `e`, which is freed; returns `r`. */
int systemd_fail(sd_bus_error *e, int r, const char *what, struct phx_err *err);
/** A new call of a manager's method, which the caller fills and sends. */
int systemd_new_call(struct systemd *s, const char *method, sd_bus_message **ret);
/** Send `call` (taken), whose answer is the path of a job, and wait for the job. A unit that is not
 * loaded is no error. -ETIMEDOUT, or -EIO with the job's result. */
int systemd_call_job(struct systemd *s, sd_bus_message *call, uint32_t timeout_ms,
		     struct phx_err *err);

#endif
