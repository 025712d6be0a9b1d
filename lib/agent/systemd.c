/* systemd over sd-bus: see systemd.h. Called by the services' backend and by
 * jobs. Knows no unit by name. */
#include "agent/systemd.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

/* Connects to systemd's own socket, as root: an image need not have a bus (a minimal Debian has
 * none). */
static int open_private(sd_bus **ret)
{
	sd_bus *bus = NULL;
	int r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, "unix:path=/run/systemd/private");
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		*ret = PHX_TAKE(bus);
	sd_bus_unref(bus);
	return r;
}

int systemd_open(struct systemd *ret, struct phx_err *err)
{
	struct systemd s = {0};
	int r = sd_bus_open_system(&s.bus);
	if (r == -ENOENT || r == -ECONNREFUSED)
		r = open_private(&s.bus);
	if (r >= 0)
		r = sd_bus_call_method(s.bus, SYSTEMD_DEST, SYSTEMD_MANAGER, "Subscribe", NULL,
				       NULL, "");
	if (r < 0) {
		systemd_close(&s);
		return phx_err_set(err, r, "system bus: %s", strerror(-r));
	}
	*ret = s;
	return 0;
}

void systemd_close(struct systemd *s)
{
	s->bus = sd_bus_flush_close_unref(s->bus);
}

int systemd_fail(sd_bus_error *e, int r, const char *what, struct phx_err *err)
{
	phx_err_set(err, r, "%s: %s", what, e->message ? e->message : strerror(-r));
	sd_bus_error_free(e);
	return r;
}

int systemd_new_call(struct systemd *s, const char *method, sd_bus_message **ret)
{
	return sd_bus_message_new_method_call(s->bus, ret, SYSTEMD_DEST, SYSTEMD_MANAGER, method);
}

/* ---- waiting for a job of systemd ---- */

struct job_wait {
	char path[128];
	char result[32]; /* "" until it ended */
};

static int on_job_removed(sd_bus_message *m, void *arg, sd_bus_error *unused)
{
	struct job_wait *w = arg;
	uint32_t id;
	const char *path, *unit, *result;
	(void)unused;
	if (sd_bus_message_read(m, "uoss", &id, &path, &unit, &result) >= 0 &&
	    phx_str_eq(path, w->path))
		PHX_STR_SET(w->result, result);
	return 0;
}

static int wait_job(struct systemd *s, struct job_wait *w, uint32_t timeout_ms, struct phx_err *err)
{
	int64_t end = phx_clock_ms() + timeout_ms;
	while (!w->result[0]) {
		int64_t left = end - phx_clock_ms();
		int r = sd_bus_process(s->bus, NULL);
		if (r < 0)
			return phx_err_set(err, r, "bus: %s", strerror(-r));
		if (r > 0)
			continue;
		if (left <= 0)
			return phx_err_set(err, -ETIMEDOUT, "systemd did not finish in time");
		r = sd_bus_wait(s->bus, (uint64_t)left * 1000);
		if (r < 0 && r != -EINTR)
			return phx_err_set(err, r, "bus: %s", strerror(-r));
	}
	return phx_str_eq(w->result, "done") ? 0 : phx_err_set(err, -EIO, "systemd: %s", w->result);
}

int systemd_call_job(struct systemd *s, sd_bus_message *call, uint32_t timeout_ms,
		     struct phx_err *err)
{
	struct job_wait w = {0};
	sd_bus_slot *slot = NULL;
	sd_bus_message *reply = NULL;
	sd_bus_error e = SD_BUS_ERROR_NULL;
	const char *path;
	/* without a bus systemd has no name; only systemd can be at the other end */
	const char *sender = sd_bus_is_bus_client(s->bus) > 0 ? SYSTEMD_DEST : NULL;
	int r = sd_bus_match_signal(s->bus, &slot, sender, SYSTEMD_MANAGER, "JobRemoved",
				    on_job_removed, &w);
	if (r >= 0)
		r = sd_bus_call(s->bus, call, 0, &e, &reply);
	sd_bus_message_unref(call);
	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &path);
	if (r >= 0)
		r = PHX_STR_SET(w.path, path);
	/* a unit that is not loaded does not run */
	bool gone = sd_bus_error_has_name(&e, "org.freedesktop.systemd1.NoSuchUnit");
	r = gone        ? 0
		: r < 0 ? systemd_fail(&e, r, "systemd", err)
			: wait_job(s, &w, timeout_ms, err);
	if (gone)
		sd_bus_error_free(&e);
	sd_bus_message_unref(reply);
	sd_bus_slot_unref(slot);
	return r;
}
