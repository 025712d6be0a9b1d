/* What people order: assign, release, rebuild, wipe, drain, resume, power.
 * Decides the setup policy that must hold and asks the planner. Pure. */
#include "core/index.h"
#include "core/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- which setup policy holds ---- */

/* The stricter of what both pools' agreements say, for a node that holds data. */
static struct phx_setup agreed_setup(const struct phx_pool *from, const struct phx_pool *to)
{
	struct phx_setup setup = { .mode = PHX_SETUP_NOOP };
	if (phx_setup_wipes(&to->setup, PHX_WHEN_ASSIGN))
		setup = to->setup;
	if (from && phx_setup_wipes(&from->setup, PHX_WHEN_RELEASE))
		setup = from->setup;
	return setup;
}

/* What must be done to `n` on its way to `to_pool`. An order may ask for more than the agreement, and for
 * less only inside one owner. -EPERM otherwise. */
static int effective_setup(struct phx_apply *a, const struct phx_node *n, const struct phx_pool *to,
			   struct phx_setup *ret)
{
	const struct phx_pool *from = phx_state_pool(a->s, n->tenant_pool);
	struct phx_setup setup = { .mode = PHX_SETUP_NOOP };
	bool leaves = n->dirty && strcmp(n->tenant, to->owner), others = n->dirty && n->mixed;
	if (n->dirty && from != to)
		setup = agreed_setup(from, to);
	/* put off inside one owner, it is due when another one comes */
	if (leaves && n->owes_wipe)
		setup.mode = PHX_SETUP_WIPE;
	if (leaves && phx_noop_consented(a->s, n, to))
		setup.mode = PHX_SETUP_NOOP;
	if (a->ev->has_setup && a->ev->setup.mode == PHX_SETUP_NOOP && setup.mode == PHX_SETUP_WIPE &&
	    (leaves || others))
		return phx_err_set(a->err, -EPERM,
				   "%s holds data of %s%s, and the agreement of pool %s or %s wants a wipe: noop is "
				   "refused",
				   n->name, n->tenant, others ? " and of others" : "", n->tenant_pool, to->name);
	if (a->ev->has_setup)
		setup = a->ev->setup;
	if (n->key_unread) {
		setup.mode = PHX_SETUP_WIPE;
		setup.method = PHX_WIPE_AUTO;
	}
	*ret = setup;
	return 0;
}

/* ---- from an order to a plan ---- */

/* Everything the planner wants, from state and event. */
struct order {
	struct phx_node *n;
	struct phx_plan_request q;
	struct phx_role from; /* borrows from the role of its name */
	const char *request;
};

static int check_may_plan(struct phx_apply *a, const struct phx_node *n)
{
	if (n->state == PHX_NODE_QUARANTINED && a->ev->kind != PHX_EV_resume)
		return phx_err_set(a->err, -EPERM, "%s is quarantined (%s): resume it first", n->name, n->reason);
	if (n->state == PHX_NODE_NEW || n->state == PHX_NODE_COMMISSIONING)
		return phx_err_set(a->err, -EBUSY, "%s is %s: %s", n->name,
				   phx_enum_name(&phx_node_state_names, n->state),
				   n->accepted ? "it has not registered yet" : "accept it first");
	if (phx_node_step(n))
		return phx_err_set(a->err, -EBUSY, "%s is in the middle of %s (step %u of %u)", n->name,
				   n->plan.request, n->plan.cursor + 1, n->plan.steps.n);
	return 0;
}

static int order_role(struct phx_apply *a, struct order *o)
{
	const char *name = a->ev->kind == PHX_EV_rebuild ? o->n->role : a->ev->role;
	if (a->ev->kind == PHX_EV_rebuild && !name[0])
		return phx_err_set(a->err, -EINVAL, "%s has no role to be rebuilt with: assign one", o->n->name);
	o->q.to = phx_state_role(a->s, name);
	return o->q.to ? 0 : phx_err_set(a->err, -ENOENT, "there is no role '%s'", name);
}

static const struct phx_pool *order_pool(struct phx_apply *a, const struct order *o)
{
	if (!o->q.to)
		return phx_state_pool(a->s, PHX_POOL_FREE);
	if (a->ev->pool[0])
		return phx_state_pool(a->s, a->ev->pool);
	/* a rebuild stays where it is, and so does what is pinned in the role that it has */
	bool stays = a->ev->kind == PHX_EV_rebuild || (a->ev->pin && !strcmp(o->n->role, a->ev->role));
	if (stays && o->n->pool[0])
		return phx_state_pool(a->s, o->n->pool);
	return phx_state_pool(a->s, o->q.to->pool);
}

/* A root is encrypted where the agreement erases by destroying its key. */
static bool wants_encryption(const struct phx_apply *a, const struct phx_pool *to, const struct order *o)
{
	if (!o->q.to || o->q.to->boot == PHX_ROLE_BOOT_RAM)
		return false;
	return a->ev->encrypt || (to->setup.mode == PHX_SETUP_WIPE && to->setup.method == PHX_WIPE_CRYPTO);
}

static const char *request_name(enum phx_event_kind kind)
{
	return phx_enum_name(&phx_event_kind_names, (int)kind);
}

static int build_order(struct phx_apply *a, struct order *o)
{
	int r = phx_need_node(a, &o->n);
	r = r ? r : check_may_plan(a, o->n);
	if (r < 0)
		return r;
	bool to_role = a->ev->kind == PHX_EV_assign || a->ev->kind == PHX_EV_rebuild;
	o->request = request_name((enum phx_event_kind)a->ev->kind);
	o->q.node = o->n;
	o->q.from = o->n->actual_role[0] ? phx_state_role(a->s, o->n->actual_role) : NULL;
	if (!o->q.from && o->n->role[0])
		o->q.from = phx_state_role(a->s, o->n->role);
	if (o->q.from) {
		o->from = *o->q.from;
		o->from.web = phx_core_web_of(a->s, o->n, o->q.from);
		o->q.from = &o->from;
	}
	r = to_role ? order_role(a, o) : 0;
	if (r < 0)
		return r;
	const struct phx_pool *pool = order_pool(a, o);
	if (!pool)
		return phx_err_set(a->err, -ENOENT, "there is no pool '%s'",
				   a->ev->pool[0] ? a->ev->pool : o->q.to->pool);
	o->q.to_pool = pool->name;
	o->q.rebuild = a->ev->kind == PHX_EV_rebuild;
	o->q.power_cycle = a->ev->power_cycle;
	o->q.encrypt = wants_encryption(a, pool, o);
	o->q.agreed = !a->ev->has_setup && a->ev->kind != PHX_EV_wipe;
	return effective_setup(a, o->n, pool, &o->q.setup);
}

static int plan_order(struct phx_apply *a, struct order *o, struct phx_plan *ret)
{
	int r = build_order(a, o);
	if (r < 0)
		return r;
	if (a->ev->kind == PHX_EV_wipe) {
		o->q.setup.mode = PHX_SETUP_WIPE;
		o->q.setup.method = a->ev->setup.method;
	}
	if (a->ev->kind == PHX_EV_resume) {
		/* what it runs is not asked politely: it is taken from reset where that is possible */
		o->q.from = NULL;
		o->q.deploy_env_only = true;
		o->q.power_cycle = phx_node_has_bmc(o->n);
	}
	return phx_plan_handover(&o->q, ret, a->err);
}

static bool plan_wipes(const struct phx_plan *p)
{
	PHX_LIST_EACH(struct phx_step, s, &p->steps)
		if (s->kind == PHX_STEP_wipe)
			return true;
	return false;
}

/* The same order again while it is being carried out is no mistake: scripts repeat themselves. */
static bool under_way(const struct phx_apply *a)
{
	const struct phx_node *n = phx_state_node(a->s, a->ev->node);
	if (!n || !phx_node_step(n) ||
	    strcmp(n->plan.request, request_name((enum phx_event_kind)a->ev->kind)))
		return false;
	if (a->ev->has_setup && (a->ev->setup.mode == PHX_SETUP_WIPE) != plan_wipes(&n->plan))
		return false;
	return a->ev->kind != PHX_EV_assign ||
	       (!strcmp(n->plan.to_role, a->ev->role) && (!a->ev->pool[0] || !strcmp(n->plan.to_pool, a->ev->pool)));
}

static int start_order(struct phx_apply *a)
{
	struct order o = { 0 };
	struct phx_plan plan;
	if (under_way(a))
		return 0;
	int r = plan_order(a, &o, &plan);
	if (r < 0)
		return r;
	bool serves = o.n->state == PHX_NODE_ACTIVE || o.n->state == PHX_NODE_MAINTENANCE;
	if (!plan.steps.n && (o.q.to || !serves)) {
		/* it already is so */
		phx_record_fini(&phx_plan_record, &plan);
		return 0;
	}
	return phx_handover_begin(a, o.n, &plan, o.request);
}

/* A pin is part of the order that put the node where it is: it lasts until the next one by hand. */
static int order_and_pin(struct phx_apply *a)
{
	int r = start_order(a);
	struct phx_node *n = phx_state_node(a->s, a->ev->node);
	if (r < 0 || n->pinned == a->ev->pin)
		return r;
	n->pinned = a->ev->pin;
	a->out->changed = true;
	phx_touch(a->s, n);
	return 0;
}

int phx_apply_assign(struct phx_apply *a)
{
	return order_and_pin(a);
}

int phx_apply_release(struct phx_apply *a)
{
	return order_and_pin(a);
}

int phx_apply_rebuild(struct phx_apply *a)
{
	return start_order(a);
}

int phx_apply_wipe(struct phx_apply *a)
{
	return start_order(a);
}

int phx_order_by_itself(struct phx_apply *a, enum phx_event_kind kind, const struct phx_node *n, const char *role,
			const char *pool, struct phx_err *err)
{
	struct phx_event ev = { .kind = (int)kind, .now_ms = a->s->now_ms };
	struct phx_apply sub = { a->s, &ev, a->out, err, a->todo };
	PHX_STR_SET(ev.node, n->name);
	phx_str_copy(ev.role, sizeof(ev.role), role);
	phx_str_copy(ev.pool, sizeof(ev.pool), pool);
	return start_order(&sub);
}

void phx_auto_assign(struct phx_apply *a, struct phx_node *n)
{
	char reason[256];
	if (!a->s->settings.auto_assign || n->state != PHX_NODE_READY || n->pinned || n->key_unread || phx_node_step(n))
		return;
	int i = phx_rules_match(&a->s->rules, n->name, &n->facts, reason, sizeof(reason));
	if (i < 0)
		return;
	struct phx_err why = { 0 };
	phx_note(a, n, "%s: %s", n->name, reason);
	const char *role = PHX_LIST_AT(&a->s->rules, struct phx_rule, (uint32_t)i)->role;
	if (phx_order_by_itself(a, PHX_EV_assign, n, role, "", &why) < 0)
		phx_note(a, n, "%s: automatic assignment: %s", n->name, why.text);
}

void phx_restore_system(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = { 0 };
	if (n->state != PHX_NODE_ACTIVE || n->env != PHX_ENV_DEPLOY || phx_node_step(n) || phx_core_boot_local(a->s, n))
		return;
	const struct phx_role *role = phx_state_role(a->s, n->role);
	if (!role || role->boot != PHX_ROLE_BOOT_RAM) {
		phx_quarantine(a, n, "it came back without its installed system");
		return;
	}
	phx_note(a, n, "%s: its system in memory is gone with the reset: role %s is brought there again", n->name,
		 n->role);
	if (phx_order_by_itself(a, PHX_EV_assign, n, n->role, n->pool, &why) < 0)
		phx_quarantine(a, n, why.text);
}

void phx_read_back(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = { 0 };
	if (!n->key_unread || n->state != PHX_NODE_READY || !n->up || phx_node_step(n))
		return;
	phx_note(a, n, "%s is there again: its disks are erased and read back", n->name);
	if (phx_order_by_itself(a, PHX_EV_wipe, n, "", "", &why) < 0)
		phx_quarantine(a, n, why.text);
}

/* ---- out of service and back ---- */

int phx_apply_drain(struct phx_apply *a)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0 || n->state == PHX_NODE_MAINTENANCE)
		return r;
	r = check_may_plan(a, n);
	if (r < 0)
		return r;
	const struct phx_role *role = n->role[0] ? phx_state_role(a->s, n->role) : NULL;
	struct phx_plan plan = { 0 };
	PHX_STR_SET(plan.to_pool, n->pool);
	PHX_STR_SET(plan.from_pool, n->pool);
	if (role && n->up && n->state == PHX_NODE_ACTIVE) {
		struct phx_role here = *role;
		here.web = phx_core_web_of(a->s, n, role);
		r = phx_plan_drain(&here, &plan);
	}
	if (r < 0) {
		phx_record_fini(&phx_plan_record, &plan);
		return r;
	}
	r = phx_handover_begin(a, n, &plan, "drain");
	PHX_STR_SET(n->reason, a->ev->text[0] ? a->ev->text : "drained by hand");
	return r;
}

/* It has to be seen before anything can be planned: because nobody can start it but somebody who goes there, or because
 * what it said of its disks last cannot be planned on. It is let boot and certified, and the resume goes on when it is
 * heard; refused until then, it would never be heard. */
static int await(struct phx_apply *a, struct phx_node *n)
{
	struct phx_action *act = phx_node_has_bmc(n) ? phx_act(a, PHX_ACT_POWER, n) : NULL;
	if (act)
		PHX_STR_SET(act->text, "boot");
	n->awaited = true;
	n->off_wanted = false;
	phx_window_open(a, n);
	a->out->changed = true;
	phx_note(a, n, act ? "%s is started, to be seen as it is now" :
			     "%s has no BMC: start it by hand now, it is waited for", n->name);
	return 0;
}

/* Out of quarantine only through the deploy environment, erased where data of a tenant may be left. */
static int resume_quarantined(struct phx_apply *a, struct phx_node *n)
{
	struct order o = { 0 };
	struct phx_plan plan;
	if (!n->key_fp[0]) { /* it was never let in: that is what is being decided now */
		n->state = PHX_NODE_NEW;
		n->accepted = true;
		n->hold = false;
		n->reason[0] = '\0';
		a->out->changed = true;
		return 0;
	}
	if (!n->up && !phx_node_has_bmc(n))
		return await(a, n);
	int r = plan_order(a, &o, &plan);
	if (r < 0 && phx_facts_check(&n->facts, NULL) < 0)
		return await(a, n);
	if (r < 0)
		return r;
	n->awaited = false;
	return phx_handover_begin(a, n, &plan, "resume");
}

void phx_resume_awaited(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = { 0 };
	struct phx_event ev = { .kind = PHX_EV_resume, .now_ms = a->s->now_ms };
	struct phx_apply sub = { a->s, &ev, a->out, &why, a->todo };
	if (!n->awaited || n->state != PHX_NODE_QUARANTINED || n->env != PHX_ENV_DEPLOY)
		return;
	PHX_STR_SET(ev.node, n->name);
	n->awaited = false;
	if (phx_facts_check(&n->facts, &why) < 0 || resume_quarantined(&sub, n) < 0)
		phx_note(a, n, "%s: it is there, and stays quarantined: %s", n->name, why.text);
}

/* It was restarted while it was out of service, and nobody has told it to start its role. */
static int serve_again(struct phx_apply *a, struct phx_node *n)
{
	static const enum phx_step_kind kinds[] = { PHX_STEP_start, PHX_STEP_health, PHX_STEP_join };
	struct phx_plan plan = { .tier = PHX_TIER_IN_PLACE };
	PHX_STR_SET(plan.to_role, n->role);
	PHX_STR_SET(plan.to_pool, n->pool);
	PHX_STR_SET(plan.from_pool, n->pool);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++) {
		struct phx_step *step = phx_list_push(&plan.steps, sizeof(*step));
		if (!step) {
			phx_record_fini(&phx_plan_record, &plan);
			return -ENOMEM;
		}
		step->kind = (int)kinds[i];
		step->expected_ms = phx_step_info(kinds[i])->expected_ms;
		PHX_STR_SET(step->role, n->role);
	}
	return phx_handover_begin(a, n, &plan, "resume");
}

int phx_apply_resume(struct phx_apply *a)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	if (n->state == PHX_NODE_QUARANTINED)
		return resume_quarantined(a, n);
	if (n->state != PHX_NODE_MAINTENANCE)
		return 0;
	r = check_may_plan(a, n); /* on its way out of maintenance already */
	if (r < 0)
		return r;
	a->out->changed = true;
	if (n->role[0] && n->up && n->env == PHX_ENV_OS && !n->healthy)
		return serve_again(a, n);
	n->state = n->role[0] ? PHX_NODE_ACTIVE : PHX_NODE_READY;
	n->reason[0] = '\0';
	if (n->up)
		phx_restore_system(a, n);
	phx_read_back(a, n);
	return 0;
}

int phx_apply_quarantine(struct phx_apply *a)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0 || n->state == PHX_NODE_QUARANTINED)
		return r;
	phx_quarantine(a, n, a->ev->text[0] ? a->ev->text : "by hand");
	return 0;
}

int phx_apply_power(struct phx_apply *a)
{
	static const char *const ops[] = { "on", "off", "cycle", "reset", "status" };
	const char *op = a->ev->text;
	struct phx_node *n;
	bool known = false;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(ops); i++)
		known = known || !strcmp(op, ops[i]);
	if (!known)
		return phx_err_set(a->err, -EINVAL, "'%s' is no power operation; there are: on, off, cycle, reset, status",
				   op);
	if (!phx_node_has_bmc(n))
		return phx_err_set(a->err, -EHOSTUNREACH, "%s has no BMC", n->name);
	bool query = !strcmp(op, "status") || !strcmp(op, "on");
	if (!query && phx_node_step(n) && !a->ev->force)
		return phx_err_set(a->err, -EBUSY, "%s is in the middle of %s: use force", n->name, n->plan.request);
	if (strcmp(op, "status"))
		n->off_wanted = false; /* whoever orders it knows better */
	if (strcmp(op, "status") && strcmp(op, "off"))
		phx_window_open(a, n);
	struct phx_action *act = phx_act(a, PHX_ACT_POWER, n);
	if (!act)
		return -ENOMEM;
	PHX_STR_SET(act->text, op);
	a->out->changed = true;
	return 0;
}

int phx_core_plan(const struct phx_state *s, const struct phx_event *ev, struct phx_plan *ret, struct phx_err *err)
{
	struct phx_outcome unused = { 0 };
	struct order o = { 0 };
	/* plan_order() only reads: the cast lets one code path serve the daemon and --dry-run */
	struct phx_apply a = { (struct phx_state *)s, ev, &unused, err, NULL };
	return plan_order(&a, &o, ret);
}
