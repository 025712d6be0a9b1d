/* Services that run ahead of their role: beside those of the active role, idle, so that a hand-over
 * finds them running (agent/ahead.c says when). They are a second set of slots, which is exchanged
 * with the first while something is done to it; so they start and stop as all others do. But
 * readers are told nothing of them, and a service that died is started again only when its role
 * starts. Never decides which role that is. */
#include "agent/service.h"

#include "agent/log.h"
#include "agent/service_internal.h"

static void exchange(struct services *s)
{
	struct phx_role role = s->role;
	struct slot *slots = s->slots;
	uint32_t n = s->n;
	s->role = s->beside.role;
	s->slots = s->beside.slots;
	s->n = s->beside.n;
	s->beside.role = role;
	s->beside.slots = slots;
	s->beside.n = n;
	s->exchanged = !s->exchanged;
}

void services_stop_ahead(struct services *s)
{
	exchange(s);
	services_stop_all(s);
	exchange(s);
}

/* Gives the services their full share of the CPU. One for which that fails is slow, but runs. */
static void weigh(struct services *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct slot *slot = &s->slots[i];
		struct phx_err err = {0};
		if (slot->state == SLOT_UP &&
		    s->backend->weigh(s->self, slot->svc->name, &slot->proc, s->role.web.cpu_milli,
				      &err) < 0)
			agent_log("service %s: %s", slot->svc->name, err.text);
	}
}

void services_take_ahead(struct services *s, const struct phx_role *role)
{
	if (!s->beside.n)
		return;
	exchange(s);
	if (services_all_up(s, role)) {
		s->exchanged = false; /* no services run ahead any more */
		weigh(s);
		return;
	}
	services_stop_all(s);
	exchange(s);
}

int services_ahead(struct services *s, const struct phx_role *role, struct phx_err *err)
{
	int r = services_begin(s, err);
	if (r < 0)
		return r;
	exchange(s);
	r = services_run_role(s, role, err);
	exchange(s);
	return services_finish(s, 0, r);
}

int services_not_ahead(struct services *s, const struct phx_role *left, struct phx_err *err)
{
	int r = services_begin(s, err);
	if (r < 0)
		return r;
	services_stop_ahead(s);
	return services_finish(s, 0, services_stop_leftovers(s, left, err));
}
