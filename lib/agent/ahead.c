/* See ahead.h. Called by the link (what is wanted), the prefetch's worker (start, stop) and the
 * step start (over).
 *
 *	nothing ──wanted, packages there──▶ runs ──its role is started──▶ nothing (they are active)
 *	   ▲                                 │ another one is wanted, or none; another role starts
 *	   └──────────── stopped ────────────┘
 *
 * A role is recorded before its services start, so that the next agent finds what a killed one
 * left. The wanted role is not recorded, since the head names it again. Never activates a package,
 * takes no address, checks no health. */
#include "agent/ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/log.h"
#include "agent/package.h"
#include "agent/service.h"
#include "agent/state.h"

struct ahead {
	struct loop *loop;
	const struct agent_config *cfg;
	struct services *services;
	uint64_t id;            /* of the wanted role; 0: the head has named none */
	struct phx_role wanted; /* named "": none */
	/* owned by the worker or a step, whichever works: the role that was started, or was about
	 * to be; named "": none */
	struct phx_role runs;
	bool up; /* guarded by the loop: `runs` was started by this agent */
};

/* ---- what is wanted ---- */

int ahead_want(struct ahead *a, uint64_t id, const struct phx_role *role, struct phx_err *err)
{
	struct phx_role copy = {0};
	if (!a)
		return phx_err_set(err, -EOPNOTSUPP, "no role is started ahead here");
	if (phx_record_copy(&phx_role_record, &copy, role) < 0)
		return -ENOMEM;
	LOOP_HELD(a->loop);
	phx_record_fini(&phx_role_record, &a->wanted);
	a->wanted = copy;
	a->id = id;
	return 0;
}

uint64_t ahead_id(struct ahead *a)
{
	if (!a)
		return 0;
	LOOP_HELD(a->loop);
	return a->id;
}

static void want_nothing(struct ahead *a)
{
	LOOP_HELD(a->loop);
	phx_record_fini(&phx_role_record, &a->wanted);
	a->wanted = (struct phx_role){0};
	a->id = 0;
}

/* Copies the wanted role; false: the head has said nothing since this agent began, or there is no
 * memory. */
static bool look(struct ahead *a, struct phx_role *ret)
{
	LOOP_HELD(a->loop);
	return a->id && phx_record_copy(&phx_role_record, ret, &a->wanted) == 0;
}

static void set_up(struct ahead *a, bool up)
{
	LOOP_HELD(a->loop);
	a->up = up;
}

/* ---- what runs ---- */

static bool names_service(const struct phx_role *role, const char *name)
{
	PHX_LIST_EACH(struct phx_service, s, &role->services)
		if (phx_str_eq(s->name, name))
			return true;
	return false;
}

/* Does the active role have a service of the same name as one of `role`? Stopping `role` would stop
 * that one. */
static bool is_active(const struct ahead *a, const struct phx_role *role)
{
	struct role_state here;
	bool found = false;
	if (role_state_read(a->cfg->state_dir, &here, NULL) < 0)
		return false;
	PHX_LIST_EACH(struct phx_service, s, &role->services)
		found = found || names_service(&here.role, s->name);
	phx_record_fini(&role_state_record, &here);
	return found;
}

static int forget(struct ahead *a, struct phx_err *err)
{
	int r = ahead_state_remove(a->cfg->state_dir, err);
	if (r < 0)
		return r;
	LOOP_HELD(a->loop);
	phx_record_fini(&phx_role_record, &a->runs);
	a->runs = (struct phx_role){0};
	a->up = false;
	return 0;
}

static int stop(struct ahead *a, struct phx_err *err)
{
	const struct phx_role *left = is_active(a, &a->runs) ? NULL : &a->runs;
	int r = services_not_ahead(a->services, left, err);
	set_up(a, false);
	return r ? r : forget(a, err);
}

void ahead_stop_unwanted(struct ahead *a)
{
	struct phx_role wanted;
	struct phx_err err = {0};
	if (!a || !a->runs.name[0] || !look(a, &wanted))
		return;
	bool same = phx_record_equal(&phx_role_record, &wanted, &a->runs);
	phx_record_fini(&phx_role_record, &wanted);
	if (same)
		return;
	agent_log("ahead: the services of role %s stop", a->runs.name);
	if (stop(a, &err) < 0)
		agent_log("ahead: %s", err.text);
}

static bool packages_there(const struct ahead *a, const struct phx_role *role)
{
	PHX_LIST_EACH(struct phx_package_ref, p, &role->packages)
		if (!package_unpacked(a->cfg, p))
			return false;
	return true;
}

/* Takes `role`. */
static int start(struct ahead *a, struct phx_role role, struct phx_err *err)
{
	int r = ahead_state_write(a->cfg->state_dir, &role, err);
	if (r < 0) {
		phx_record_fini(&phx_role_record, &role);
		return r;
	}
	loop_hold(a->loop);
	phx_record_fini(&phx_role_record, &a->runs);
	a->runs = role;
	loop_release(a->loop);
	r = services_ahead(a->services, &a->runs, err);
	set_up(a, r == 0);
	return r;
}

void ahead_start_wanted(struct ahead *a)
{
	struct phx_role wanted;
	struct phx_err err = {0};
	if (!a || !look(a, &wanted))
		return;
	bool other = a->runs.name[0] && !phx_record_equal(&phx_role_record, &wanted, &a->runs);
	if (!wanted.name[0] || other || !packages_there(a, &wanted) || is_active(a, &wanted)) {
		phx_record_fini(&phx_role_record, &wanted);
		return;
	}
	bool was_up = a->up;
	if (start(a, wanted, &err) < 0)
		agent_log("ahead: role %s: %s", a->runs.name, err.text);
	else if (!was_up)
		agent_log("ahead: the services of role %s run", a->runs.name);
}

int ahead_over(struct ahead *a, const struct phx_role *role, struct phx_err *err)
{
	if (!a)
		return 0;
	want_nothing(a);
	if (!a->runs.name[0])
		return 0;
	return phx_record_equal(&phx_role_record, role, &a->runs) ? forget(a, err) : stop(a, err);
}

/* ---- life ---- */

void ahead_monitor(struct ahead *a, json_t *monitor)
{
	if (!a)
		return;
	LOOP_HELD(a->loop);
	if (a->up)
		json_object_set_new(monitor, "ahead", json_string(a->runs.name));
}

int ahead_new(struct loop *loop, const struct agent_config *cfg, struct services *services,
	      struct ahead **ret, struct phx_err *err)
{
	struct ahead *a = calloc(1, sizeof(*a));
	if (!a)
		return phx_err_set(err, -ENOMEM, "out of memory");
	*a = (struct ahead){.loop = loop, .cfg = cfg, .services = services};
	int r = ahead_state_read(cfg->state_dir, &a->runs, NULL);
	if (r < 0)
		a->runs = (struct phx_role){0};
	if (r == -ENOMEM) {
		ahead_free(a);
		return phx_err_set(err, r, "out of memory");
	}
	*ret = a;
	return 0;
}

void ahead_free(struct ahead *a)
{
	if (!a)
		return;
	phx_record_fini(&phx_role_record, &a->wanted);
	phx_record_fini(&phx_role_record, &a->runs);
	free(a);
}
