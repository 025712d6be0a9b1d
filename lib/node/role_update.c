/* The way back from an update: if a node updates its role in place, and the new version does not
 * start or is not healthy, the node goes back to the version that it ran. Therefore a role's old
 * definition is kept as long as a node runs it. Called by handover.c when the last attempt of a
 * step has failed, and where roles are put. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_version(const struct phx_role *r, const char *name, const char *identity)
{
	char its[sizeof(((struct phx_node *)0)->actual_identity)];
	if (strcmp(r->name, name))
		return false;
	phx_role_identity(r, its, sizeof(its));
	return !strcmp(its, identity);
}

/* The same for a role as the node has it in its pool. */
static bool is_version_in(const struct phx_state *s, const struct phx_node *n,
			  const struct phx_role *r, const char *name, const char *identity)
{
	struct phx_role store;
	return !strcmp(r->name, name) &&
		is_version(phx_state_role_in(s, r, n->pool, &store), name, identity);
}

static const struct phx_role *former_of(const struct phx_state *s, const struct phx_node *n,
					const char *name, const char *identity)
{
	PHX_LIST_EACH(struct phx_role, r, &s->formers)
		if (is_version_in(s, n, r, name, identity))
			return r;
	return NULL;
}

const struct phx_role *phx_step_role(const struct phx_state *s, const struct phx_node *n,
				     const struct phx_step *step, struct phx_role *store)
{
	const struct phx_role *role = step->former
		? former_of(s, n, step->role, phx_text(n->plan.from_identity))
		: phx_state_role(s, step->role);
	bool enters = !strcmp(step->role, n->plan.to_role);
	return phx_state_role_in(s, role, enters ? n->plan.to_pool : n->pool, store);
}

/* ---- replaced definitions ---- */

static bool is_run(const struct phx_state *s, const struct phx_role *r)
{
	PHX_NODES_EACH(n, s)
		if (is_version_in(s, n, r, n->actual_role, n->actual_identity) ||
		    (phx_node_step(n) &&
		     is_version_in(s, n, r, n->plan.to_role, phx_text(n->plan.from_identity))))
			return true;
	return false;
}

static void drop_former(struct phx_state *s, uint32_t i)
{
	phx_record_fini(&phx_role_record, PHX_LIST_AT(&s->formers, struct phx_role, i));
	phx_list_remove(&s->formers, sizeof(struct phx_role), i);
}

/* Drops old definitions that no node runs, and the one that equals `again` (may be NULL). */
static void drop_formers(struct phx_state *s, const struct phx_role *again)
{
	char identity[sizeof(((struct phx_node *)0)->actual_identity)] = "";
	if (again)
		phx_role_identity(again, identity, sizeof(identity));
	for (uint32_t i = s->formers.n; i > 0; i--) {
		const struct phx_role *r = PHX_LIST_AT(&s->formers, struct phx_role, i - 1);
		if ((again && is_version(r, again->name, identity)) || !is_run(s, r))
			drop_former(s, i - 1);
	}
}

int phx_former_keep(struct phx_apply *a, const struct phx_role *old, const struct phx_role *put)
{
	char identity[sizeof(((struct phx_node *)0)->actual_identity)];
	struct phx_role copy;
	phx_role_identity(put, identity, sizeof(identity));
	drop_formers(a->s, old);
	if (is_version(old, put->name, identity) || !is_run(a->s, old))
		return 0;
	int r = phx_record_copy(&phx_role_record, &copy, old);
	if (r < 0)
		return r;
	struct phx_role *kept = phx_grow(a, &a->s->formers, sizeof(*kept));
	if (kept)
		*kept = copy;
	else
		phx_record_fini(&phx_role_record, &copy);
	return kept ? 0 : -ENOMEM;
}

/* ---- the way back ---- */

void phx_update_prepare(struct phx_apply *a, struct phx_node *n)
{
	struct phx_plan *p = &n->plan;
	bool update = p->tier == PHX_TIER_IN_PLACE && p->from_state == PHX_NODE_ACTIVE &&
		p->to_role[0] && !strcmp(n->actual_role, p->to_role);
	if (update && !phx_of_before(a->s) &&
	    former_of(a->s, n, n->actual_role, n->actual_identity))
		phx_put_text(a, &p->from_identity, "%s", n->actual_identity);
}

static bool add_step(struct phx_apply *a, struct phx_node *n, enum phx_step_kind kind, bool former)
{
	struct phx_step *s = phx_steps_insert(a, n, n->plan.steps.n, kind);
	if (s)
		s->former = former;
	return s;
}

bool phx_update_go_back(struct phx_apply *a, struct phx_node *n, struct phx_step *failed,
			const char *why)
{
	struct phx_plan *p = &n->plan;
	bool ours = failed->kind == PHX_STEP_activate || failed->kind == PHX_STEP_start ||
		failed->kind == PHX_STEP_health;
	if (!ours || !n->up || p->back || !p->from_identity ||
	    !former_of(a->s, n, p->to_role, p->from_identity))
		return false;
	phx_put_text(a, &p->back, "%.199s", why);
	phx_note(a, n, "%s: the update of role %s failed: %.200s; it goes back to %.100s", n->name,
		 p->to_role, why, p->from_identity);
	failed->status = PHX_STEP_FAILED;
	failed->ended_ms = a->s->now_ms;
	p->steps.n = ++p->cursor; /* later steps of the plan are dropped */
	/* stop the services by the new version's definition */
	bool all = add_step(a, n, PHX_STEP_stop, false) &&
		add_step(a, n, PHX_STEP_activate, true) && add_step(a, n, PHX_STEP_start, true) &&
		add_step(a, n, PHX_STEP_health, true) && add_step(a, n, PHX_STEP_join, true);
	return all;
}

void phx_update_gone_back(struct phx_apply *a, struct phx_node *n)
{
	const struct phx_plan *p = &n->plan;
	if (!p->back)
		return;
	snprintf(n->reason, sizeof(n->reason), "update failed, runs %.80s again: %.140s",
		 phx_text(p->from_identity), p->back);
	phx_note(a, n, "%s runs %.100s again: the update of role %s failed", n->name,
		 phx_text(p->from_identity), p->to_role);
}
