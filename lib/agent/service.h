/* Supervision of a role's services: starts them in dependency order, restarts one
 * with the services that depend on it, stops them in reverse order. A backend runs
 * the programs: systemd (transient units) where it is process 1, else our own. */
#ifndef PHX_AGENT_SERVICE_H
#define PHX_AGENT_SERVICE_H

#include "types/role.h"
#include "agent/fetch.h"
#include "agent/loop.h"

struct services_config {
	struct loop *loop;    /* borrowed as long as the services live */
	const char *pkg_root; /* borrowed during services_new(), as is the next */
	const char *run_dir;
	int supervisor; /* enum agent_supervisor */
};
struct services;
struct service_log_ask;

enum { SERVICE_TEXT_MAX = 256 };

/** No service runs yet. */
int services_new(const struct services_config *config, struct services **ret, struct phx_err *err);

/** Services of our own backend are stopped in reverse order; systemd's go on running. None is
 * started any more (-ECANCELED). */
void services_end(struct services *s);
/** Ends the services, if services_end() was not called. Safe on NULL. */
void services_free(struct services *s);

/** Run the role's services (copied); returns when all run. Services of another role, or of another
 * version of this one, are stopped first; if all run as wanted, none is touched. When a service
 * cannot be started or dies at once, all are stopped: -ENOEXEC and the like, -EIO, naming the
 * service. */
int services_start(struct services *s, const struct phx_role *role, struct phx_err *err);

/** Wait until each service that services_start() started has lived for its settle time. When one
 * ends earlier, all are stopped: -EIO, naming it. `stop` (may be NULL) is asked at first and at
 * each loop_news(), with the loop held: -ECANCELED. */
int services_settle(struct services *s, const struct fetch_stop *stop, struct phx_err *err);

/** Stop all running services, and services of `role` (may be NULL) that an earlier agent left
 * running. On return the processes are gone. No running service is no error. */
int services_stop(struct services *s, const struct phx_role *role, struct phx_err *err);

/** Run the services of another role (copied) as well, idle: beside those of the active role, with
 * the least share of the CPU. services_start() of exactly that role then finds them running; of any
 * other role it stops them. No service may have a name of the active role's. Services that run
 * already are left as they are. Errors as services_start(): none of them runs then. */
int services_ahead(struct services *s, const struct phx_role *role, struct phx_err *err);
/** Stop what services_ahead() started, and services of `left` (may be NULL) that an earlier agent
 * left running; `left` must have no name of a service of the active role, which goes on. */
int services_not_ahead(struct services *s, const struct phx_role *left, struct phx_err *err);

/** Send each service its drain_signal, if it has one, so that it closes connections of clients. A
 * service that ends by the signal is not started again. */
int services_drain(struct services *s, struct phx_err *err);

/** From now on the services get no more CPU than their role says (web.cpu_milli). They start
 * without the quota: a throttled start takes long and serves no client. Does nothing for a role
 * without a quota. Safe twice. */
int services_limit(struct services *s, struct phx_err *err);

/** Do all wanted services run? `ret_text` names those that do not. Never blocks for long. */
bool services_ok(struct services *s, char *ret_text, size_t ret_size);

/** CPU time of all services together in µs; less than before if one was started again. Callable
 * from any thread, never blocks for long. Negative with a text: no services run (-ENODATA), or
 * their CPU time cannot be measured here (others). */
int services_used(struct services *s, uint64_t *ret_us, struct phx_err *err);

/** The last output of service `name` (service_backend.h), without control characters, valid UTF-8.
 * `name` "": the only service of the role that runs here, or ran last; its name is written to
 * `name`. Callable from any thread; waits as asked. -EINVAL with their names: the role has several
 * services; -ENOENT: it has none of this name. */
int services_log(struct services *s, char name[PHX_NAME_MAX], const struct service_log_ask *ask,
		 struct phx_buf *ret_text, char *ret_cursor, struct phx_err *err);

/** The last output of the first service that wrote any since its start: "NAME: LINE"; "" if none
 * did. */
void services_said(struct services *s, char *ret_text, size_t ret_size);

/** How often services were started again since the agent began, after they or a service that they
 * depend on died. `ret_why`: how the last one ended, "" if none did. */
uint32_t services_restarts(struct services *s, char *ret_why, size_t ret_size);
/** Adds these figures to a beat's `monitor`, if there were restarts. */
void services_monitor(struct services *s, json_t *monitor);

#endif
