/* Services as transient units phx-NAME.service in phx.slice, over sd-bus. systemd
 * runs and kills them; service.c decides when and in which order, so that both
 * backends behave alike. The services outlive the agent. */
#include "agent/service_backend.h"

#include <errno.h>
#include <stdio.h>
#include <poll.h>
#include <string.h>
#include <sys/pidfd.h>

#include "base/file.h"
#include "agent/cpu_time.h"
#include "agent/service_journal.h"
#include "agent/systemd.h"

/* Services of a role with a CPU quota share it in a slice of their own. */
#define SERVICE_WEB_SLICE "phx-web.slice"
#define CGROUPS "/sys/fs/cgroup/phx.slice/"

enum { DEFAULT_GRACE_S = 10 };

/* Weights of the CPU: the least possible for a service that runs ahead, else systemd's default. */
enum { WEIGHT_AHEAD = 1, WEIGHT = 100 };

static void unit_name(const char *service, char ret[128])
{
	snprintf(ret, 128, "phx-%s.service", service);
}

/* ---- units ---- */

/* Reads a property of a unit; a string is malloc'd. -ENOENT: the unit is not loaded. */
static int unit_property(struct systemd *s, const char *unit, const char *interface,
			 const char *name, const char *type, void *ret)
{
	char *path = NULL;
	int r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path);
	if (r < 0)
		return r;
	if (type[0] == 's')
		r = sd_bus_get_property_string(s->bus, SYSTEMD_DEST, path, interface, name, NULL,
					       ret);
	else
		r = sd_bus_get_property_trivial(s->bus, SYSTEMD_DEST, path, interface, name, NULL,
						type[0], ret);
	free(path);
	return r < 0 ? -ENOENT : 0;
}

static bool state_is_active(const char *state)
{
	return phx_str_eq(state, "active") || phx_str_eq(state, "activating") ||
		phx_str_eq(state, "reloading") || phx_str_eq(state, "deactivating");
}

static bool unit_active(struct systemd *s, const char *unit)
{
	PHX_AUTO_FREE char *state = NULL;
	return unit_property(s, unit, SYSTEMD_DEST ".Unit", "ActiveState", "s", &state) == 0 &&
		state_is_active(state);
}

/* One that systemd ends is none: it would be dead as soon as it was taken over. */
static bool already_runs(struct systemd *s, const char *unit, const char *description)
{
	PHX_AUTO_FREE char *state = NULL;
	PHX_AUTO_FREE char *text = NULL;
	return unit_property(s, unit, SYSTEMD_DEST ".Unit", "ActiveState", "s", &state) == 0 &&
		state_is_active(state) && !phx_str_eq(state, "deactivating") &&
		unit_property(s, unit, SYSTEMD_DEST ".Unit", "Description", "s", &text) == 0 &&
		phx_str_eq(text, description);
}

static int append_exec(sd_bus_message *m, char *const *argv)
{
	int r = sd_bus_message_open_container(m, 'r', "sv");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", "ExecStart");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "a(sasb)");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'a', "(sasb)");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'r', "sasb");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", argv[0]);
	if (r >= 0)
		r = sd_bus_message_append_strv(m, (char **)argv);
	if (r >= 0)
		r = sd_bus_message_append(m, "b", 0);
	for (int i = 0; r >= 0 && i < 4; i++)
		r = sd_bus_message_close_container(m);
	return r;
}

static int append_env(sd_bus_message *m, char *const *env)
{
	int r = sd_bus_message_open_container(m, 'r', "sv");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", "Environment");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "as");
	if (r >= 0)
		r = sd_bus_message_append_strv(m, (char **)env);
	for (int i = 0; r >= 0 && i < 2; i++)
		r = sd_bus_message_close_container(m);
	return r;
}

static int append_properties(sd_bus_message *m, const struct service_command *c)
{
	uint64_t grace_us =
		(uint64_t)(c->stop_grace_s ? c->stop_grace_s : DEFAULT_GRACE_S) * 1000000;
	int r = sd_bus_message_open_container(m, 'a', "(sv)");
	if (r >= 0)
		r = sd_bus_message_append(
			m, "(sv)(sv)(sv)(sv)(sv)", "Description", "s", c->description, "Slice", "s",
			c->cpu_milli ? SERVICE_WEB_SLICE : "phx.slice", "Type", "s", "exec",
			"WorkingDirectory", "s", c->cwd, "TimeoutStopUSec", "t", grace_us);
	if (r >= 0 && c->ahead)
		r = sd_bus_message_append(m, "(sv)", "CPUWeight", "t", (uint64_t)WEIGHT_AHEAD);
	if (r >= 0 && c->user[0])
		r = sd_bus_message_append(m, "(sv)", "User", "s", c->user);
	if (r >= 0)
		r = append_env(m, c->env);
	if (r >= 0)
		r = append_exec(m, c->argv);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int start_unit(struct systemd *s, const char *unit, const struct service_command *c,
		      struct phx_err *err)
{
	sd_bus_message *m = NULL;
	int r = systemd_new_call(s, "StartTransientUnit", &m);
	if (r >= 0)
		r = sd_bus_message_append(m, "ss", unit, "replace");
	if (r >= 0)
		r = append_properties(m, c);
	if (r >= 0)
		r = sd_bus_message_append(m, "a(sa(sv))", 0);
	if (r < 0) {
		sd_bus_message_unref(m);
		return phx_err_set(err, r, "bus message: %s", strerror(-r));
	}
	return systemd_call_job(s, m, SYSTEMD_JOB_MS, err);
}

/* A failed unit keeps its name until it is reset. */
static void reset_unit(struct systemd *s, const char *unit)
{
	sd_bus_call_method(s->bus, SYSTEMD_DEST, SYSTEMD_MANAGER, "ResetFailedUnit", NULL, NULL,
			   "s", unit);
}

static int set_number(struct systemd *s, const char *unit, const char *property, uint64_t value,
		      struct phx_err *err)
{
	sd_bus_message *m = NULL;
	sd_bus_error e = SD_BUS_ERROR_NULL;
	int r = systemd_new_call(s, "SetUnitProperties", &m);
	if (r >= 0)
		r = sd_bus_message_append(m, "sba(sv)", unit, 1, 1, property, "t", value);
	if (r >= 0)
		r = sd_bus_call(s->bus, m, 0, &e, NULL);
	sd_bus_message_unref(m);
	return r < 0 ? systemd_fail(&e, r, unit, err) : 0;
}

/* Sets the quota of all services together; UINT64_MAX: none. It belongs to the slice and stays when
 * services end. */
static int set_quota(struct systemd *s, uint64_t us_per_s, struct phx_err *err)
{
	return set_number(s, SERVICE_WEB_SLICE, "CPUQuotaPerSecUSec", us_per_s, err);
}

static int set_slice(struct systemd *s, bool ahead, struct phx_err *err)
{
	int r = set_quota(s, UINT64_MAX, err);
	return r
		? r
		: set_number(s, SERVICE_WEB_SLICE, "CPUWeight", ahead ? WEIGHT_AHEAD : WEIGHT, err);
}

/* ---- the contract ---- */

static int systemd_stop(void *self, const char *name, struct service_proc *p, uint32_t grace_s,
			struct phx_err *err)
{
	struct systemd *s = self;
	sd_bus_message *m = NULL;
	char unit[128];
	if (p)
		phx_close_fd(&p->pidfd);
	unit_name(name, unit);
	int r = systemd_new_call(s, "StopUnit", &m);
	if (r >= 0)
		r = sd_bus_message_append(m, "ss", unit, "replace");
	if (r < 0) {
		sd_bus_message_unref(m);
		return phx_err_set(err, r, "bus message: %s", strerror(-r));
	}
	r = systemd_call_job(s, m, (grace_s ? grace_s : DEFAULT_GRACE_S) * 1000 + SYSTEMD_JOB_MS,
			     err);
	reset_unit(s, unit);
	return r;
}

/* A pidfd of the unit's main process, so that systemd need not be asked again and again; -1: there
 * is none. */
static int watch_main(struct systemd *s, const char *unit)
{
	uint32_t pid = 0;
	if (unit_property(s, unit, SYSTEMD_DEST ".Service", "MainPID", "u", &pid) < 0 || !pid)
		return -1;
	return pidfd_open((pid_t)pid, 0);
}

static bool main_ended(const struct service_proc *p)
{
	struct pollfd fd = {p->pidfd, POLLIN, 0};
	return p->pidfd >= 0 && poll(&fd, 1, 0) > 0;
}

/* Reads the invocation of a unit, 32 hexadecimal digits; "" if systemd does not give it. A failed
 * unit keeps it until it is reset. */
static void read_invocation(struct systemd *s, const char *unit, char ret[SERVICE_INVOCATION_MAX])
{
	sd_bus_message *m = NULL;
	const uint8_t *id = NULL;
	size_t n = 0;
	char *path = NULL;
	ret[0] = '\0';
	if (sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path) >= 0 &&
	    sd_bus_get_property(s->bus, SYSTEMD_DEST, path, SYSTEMD_DEST ".Unit", "InvocationID",
				NULL, &m, "ay") >= 0 &&
	    sd_bus_message_read_array(m, 'y', (const void **)&id, &n) >= 0 &&
	    n == SERVICE_INVOCATION_MAX / 2)
		phx_hex(id, n, ret);
	sd_bus_message_unref(m);
	free(path);
}

static int systemd_weigh(void *self, const char *name, struct service_proc *p, bool quota,
			 struct phx_err *err)
{
	char unit[128];
	(void)p;
	unit_name(name, unit);
	int r = set_number(self, unit, "CPUWeight", WEIGHT, err);
	return r || !quota ? r : set_number(self, SERVICE_WEB_SLICE, "CPUWeight", WEIGHT, err);
}

static int systemd_start(void *self, const struct service_command *c, struct service_proc *ret,
			 struct phx_err *err)
{
	struct systemd *s = self;
	char unit[128];
	unit_name(c->name, unit);
	*ret = (struct service_proc){.pidfd = -1};
	if (already_runs(s, unit, c->description)) {
		ret->pidfd = watch_main(s, unit);
		read_invocation(s, unit, ret->invocation);
		/* an earlier agent may have started it ahead */
		return c->ahead ? 0 : systemd_weigh(s, c->name, ret, c->cpu_milli, err);
	}
	int r = systemd_stop(s, c->name, NULL, c->stop_grace_s, err);
	if (r == 0 && c->cpu_milli && c->first)
		r = set_slice(s, c->ahead, err);
	if (r < 0)
		return r;
	r = start_unit(s, unit, c, err);
	read_invocation(s, unit, ret->invocation);
	if (r == 0)
		ret->pidfd = watch_main(s, unit);
	return r;
}

static int systemd_running(void *self, const char *name, struct service_proc *p, int *ret_status)
{
	struct systemd *s = self;
	char unit[128];
	int32_t code = 0, status = 0;
	unit_name(name, unit);
	while (sd_bus_process(s->bus, NULL) > 0)
		;
	bool ended = main_ended(p), active = unit_active(s, unit);
	/* systemd still ends other processes of the unit: its state is then polled */
	if (ended || !active)
		phx_close_fd(&p->pidfd);
	if (active)
		return 1;
	unit_property(s, unit, SYSTEMD_DEST ".Service", "ExecMainCode", "i", &code);
	unit_property(s, unit, SYSTEMD_DEST ".Service", "ExecMainStatus", "i", &status);
	*ret_status = code == 0 || code == 1 /* CLD_EXITED */ ? status : 128 + status;
	return 0;
}

static int systemd_signal(void *self, const char *name, struct service_proc *p, int sig,
			  struct phx_err *err)
{
	struct systemd *s = self;
	sd_bus_error e = SD_BUS_ERROR_NULL;
	char unit[128];
	(void)p;
	unit_name(name, unit);
	int r = sd_bus_call_method(s->bus, SYSTEMD_DEST, SYSTEMD_MANAGER, "KillUnit", &e, NULL,
				   "ssi", unit, "main", (int32_t)sig);
	return r < 0 ? systemd_fail(&e, r, unit, err) : 0;
}

static int systemd_limit(void *self, uint32_t cpu_milli, struct phx_err *err)
{
	return set_quota(self, (uint64_t)cpu_milli * 1000, err);
}

/* Adds up the units' cgroups. Tries both slices, since another thread must not use the bus to ask
 * systemd. */
static int systemd_used(void *self, const struct service_id *ids, uint32_t n, uint64_t *ret_us,
			struct phx_err *err)
{
	uint64_t sum = 0, used;
	uint32_t n_told = 0;
	(void)self;
	for (uint32_t i = 0; i < n; i++) {
		PHX_AUTO_FREE char *dir = phx_path(CGROUPS "phx-%s.service", ids[i].name);
		PHX_AUTO_FREE char *in_slice =
			phx_path(CGROUPS SERVICE_WEB_SLICE "/phx-%s.service", ids[i].name);
		if (!dir || !in_slice)
			return phx_err_set(err, -ENOMEM, "out of memory");
		if (cpu_time_of_cgroup(dir, &used) < 0 && cpu_time_of_cgroup(in_slice, &used) < 0)
			continue;
		sum += used;
		n_told++;
	}
	if (!n_told)
		return phx_err_set(err, -ENOENT,
				   "no cgroup of version 2 tells the CPU time of phx-%s.service",
				   ids[0].name);
	*ret_us = sum;
	return 0;
}

static int systemd_log(void *self, const char *name, const struct service_log_ask *ask,
		       struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
		       struct phx_err *err)
{
	char unit[128];
	(void)self;
	unit_name(name, unit);
	return service_journal_read(unit, ask, ret_text, ret_cursor, err);
}

static void systemd_free(void *self)
{
	struct systemd *s = self;
	systemd_close(s);
	free(s);
}

static const struct service_backend systemd_backend = {
	.start = systemd_start,
	.running = systemd_running,
	.stop = systemd_stop,
	.signal = systemd_signal,
	.weigh = systemd_weigh,
	.limit = systemd_limit,
	.used = systemd_used,
	.log = systemd_log,
	.log_lag_ms = 500,
	.free = systemd_free,
	.outlives_agent = true,
};

int service_systemd_new(const struct service_backend **ret, void **ret_self, struct phx_err *err)
{
	struct systemd *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	int r = systemd_open(s, err);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = &systemd_backend;
	*ret_self = s;
	return 0;
}
