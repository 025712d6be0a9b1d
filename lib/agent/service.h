/* Supervision of a role's services: start in dependency order, restart with
 * those that depend on them, stop in reverse order. Programs are run by a
 * backend: systemd (transient units) where it is process 1, else our own. */
#ifndef PHX_AGENT_SERVICE_H
#define PHX_AGENT_SERVICE_H

#include "types/role.h"
#include "agent/fetch.h"

struct services_config {
	const char *pkg_root; /* borrowed, as long as the services live */
	const char *run_dir;
	int supervisor; /* enum agent_supervisor */
};
struct services;
struct service_log_ask;

enum { SERVICE_TEXT_MAX = 256 };

/** Starts the supervising thread; no service runs yet. Signals should be blocked in the caller's
 * thread. */
int services_new(const struct services_config *config, struct services **ret, struct phx_err *err);

/** Ends the thread, as services_free(), but keeps the memory: services_ok() may still be asked. */
void services_end(struct services *s);

/** Ends the thread. Our own children are stopped in reverse order; systemd's go on running. NULL is
 * fine. */
void services_free(struct services *s);

/** Run the role's services (copied); returns when all run. Those of another role, or of this one in
 * another form, are stopped first; what already runs as wanted is left alone. When one cannot be
 * started or dies at once, those started by this call are stopped again: -ENOEXEC and the like,
 * -EIO, naming the service. */
int services_start(struct services *s, const struct phx_role *role, struct phx_err *err);

/** Wait until each service that services_start() has begun has lived for the settle time of its
 * role. When one ends before, all are stopped: -EIO, naming it. `stop` (may be NULL) is asked at
 * first and at each services_wake(): -ECANCELED. */
int services_settle(struct services *s, const struct fetch_stop *stop, struct phx_err *err);

/** Who waits in services_settle() asks its `stop` again. Any thread. */
void services_wake(struct services *s);

/** Stop everything that runs, and whatever an earlier agent left running of `role` (may be NULL).
 * On return the processes are gone. Nothing running is no error. */
int services_stop(struct services *s, const struct phx_role *role, struct phx_err *err);

/** Who is still connected is to be let go: each service that has a drain_signal is sent it. One
 * that ends by it is not started again. */
int services_drain(struct services *s, struct phx_err *err);

/** From now on what runs has no more of the CPU than its role says (web.cpu_milli). Services start
 * without that quota: a start that is held down is late, and serves nobody. A role without a quota,
 * again: nothing. */
int services_limit(struct services *s, struct phx_err *err);

/** Do all wanted services run? `ret_text` says which do not. Never blocks for long. */
bool services_ok(struct services *s, char *ret_text, size_t ret_size);

/** CPU time of all services together in µs; less than before when one was started again. Any
 * thread, never blocks for long. Negative with a text that says why it cannot be measured here: no
 * services (-ENODATA), no way to (others). */
int services_used(struct services *s, uint64_t *ret_us, struct phx_err *err);

/** What service `name` wrote last (service_backend.h), without control characters, valid UTF-8. ""
 * for the name: the only service of the role that runs here, or ran last. Any thread; waits as
 * asked. -EINVAL with their names when it has several, or has none of this name. `ret_name` says
 * which it was. */
int services_log(struct services *s, char name[PHX_NAME_MAX], const struct service_log_ask *ask,
		 struct phx_buf *ret_text, char *ret_cursor, struct phx_err *err);

/** What the first service that wrote anything since it was started wrote last: "NAME: LINE"; ""
 * nobody. */
void services_said(struct services *s, char *ret_text, size_t ret_size);

/** How often services were started again after they died (or one before them did), since the agent
 * began; `ret_why`: how the last one ended, "" if none did. */
uint32_t services_restarts(struct services *s, char *ret_why, size_t ret_size);
/** The same for the head, where there is anything to tell. */
void services_monitor(struct services *s, json_t *monitor);

#endif
