/* The services as a whole: makes, starts, ends and frees them, including those that run ahead
 * (service_ahead.c). What is done to one set of slots is in service.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "agent/service.h"
#include "agent/service_internal.h"

static int open_backend(struct services *s, const struct services_config *config,
			struct phx_err *err)
{
	bool systemd = config->supervisor == AGENT_SUPERVISOR_SYSTEMD ||
		(config->supervisor == AGENT_SUPERVISOR_AUTO && sd_booted() > 0);
	return systemd ? service_systemd_new(&s->backend, &s->self, err)
		       : service_own_new(s->loop, config->run_dir, &s->backend, &s->self, err);
}

int services_new(const struct services_config *config, struct services **ret, struct phx_err *err)
{
	struct services *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->loop = config->loop;
	s->ok = true;
	int r = PHX_STR_SET(s->pkg_root, config->pkg_root);
	if (r == 0)
		r = open_backend(s, config, err);
	if (r == 0)
		r = loop_timer(s->loop, services_notice, s, &s->due);
	if (r < 0) {
		services_free(s);
		return phx_err_set(err, r, "services: %s", strerror(-r));
	}
	*ret = s;
	return 0;
}

void services_end(struct services *s)
{
	if (services_begin(s, NULL) < 0)
		return;
	if (!s->backend->outlives_agent) {
		services_stop_all(s);
		services_stop_ahead(s);
	}
	LOOP_HELD(s->loop);
	s->ended = true;
	services_finish(s, INT64_MAX, 0);
}

void services_free(struct services *s)
{
	if (!s)
		return;
	if (s->due) /* services_new() had come to its end */
		services_end(s);
	loop_hold(s->loop);
	services_unwatch(s);
	loop_forget(s->loop, &s->due);
	while (s->looking || s->busy)
		loop_wait(s->loop, INT64_MAX);
	loop_release(s->loop);
	if (s->backend)
		s->backend->free(s->self);
	services_forget_role(s);
	free(s->beside.slots);
	phx_record_fini(&phx_role_record, &s->beside.role);
	phx_list_fini(&s->ids);
	free(s);
}

static int start_role(struct services *s, const struct phx_role *role, struct phx_err *err)
{
	if (s->n && !services_all_up(s, role))
		services_stop_all(s);
	if (!s->n)
		services_take_ahead(s, role);
	return services_run_role(s, role, err);
}

int services_start(struct services *s, const struct phx_role *role, struct phx_err *err)
{
	int r = services_begin(s, err);
	return r ? r : services_finish(s, 0, start_role(s, role, err));
}
