/* What people order: assign, release, rebuild, wipe, drain, resume, power.
 * Decides the setup policy that must hold and asks the planner. Pure. */
#include "core/index.h"
#include "core/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- which setup policy holds ---- */

/* Who says that it has to be erased. */
struct why_erase {
	char text[160];
};

/* The stricter of what both pools' agreements say, for a node that holds data. */
static struct phx_setup agreed_setup(const struct phx_pool *from, const struct phx_pool *to, struct why_erase *ret_why)
{
	struct phx_setup setup = { .mode = PHX_SETUP_NOOP };
	if (phx_setup_wipes(&to->setup, PHX_WHEN_ASSIGN)) {
		setup = to->setup;
		snprintf(ret_why->text, sizeof(ret_why->text), "the agreement of %.63s says wipe on assign", to->name);
	}
	if (from && phx_setup_wipes(&from->setup, PHX_WHEN_RELEASE)) {
		setup = from->setup;
		snprintf(ret_why->text, sizeof(ret_why->text), "the agreement of %.63s says wipe on release", from->name);
	}
	return setup;
}

const char *phx_release_words(const struct phx_state *s, const struct phx_node *n)
{
	struct why_erase why;
	const struct phx_pool *from = phx_state_pool(s, n->tenant_pool), *to = phx_state_pool(s, PHX_POOL_FREE);
	bool erased = n->dirty && (n->owes_wipe || agreed_setup(from, to, &why).mode == PHX_SETUP_WIPE);
	return erased ? "released, and erased as agreed" : "released, and not erased, as agreed";
}

/* What must be done to `n` on its way to `to_pool`. An order may ask for more than the agreement, and for
 * less only inside one owner. -EPERM otherwise. */
static int effective_setup(struct phx_apply *a, const struct phx_node *n, const struct phx_pool *to,
			   struct phx_setup *ret, struct why_erase *ret_why)
{
	const struct phx_pool *from = phx_state_pool(a->s, n->tenant_pool);
	struct phx_setup setup = { .mode = PHX_SETUP_NOOP };
	bool leaves = n->dirty && strcmp(n->tenant, to->owner), others = n->dirty && n->mixed;
	if (n->dirty && from != to)
		setup = agreed_setup(from, to, ret_why);
	/* put off inside one owner, it is due when another one comes */
	if (leaves && n->owes_wipe && setup.mode != PHX_SETUP_WIPE) {
		setup.mode = PHX_SETUP_WIPE;
		snprintf(ret_why->text, sizeof(ret_why->text), "it holds data of %.63s that is to be erased before others have it",
			 n->tenant);
	}
	if (leaves && phx_noop_consented(a->s, n, to))
		setup.mode = PHX_SETUP_NOOP;
	if (a->ev->has_setup && a->ev->setup.mode == PHX_SETUP_NOOP && setup.mode == PHX_SETUP_WIPE &&
	    (leaves || others))
		return phx_err_set(a->err, -EPERM,
				   "%s holds data of %s%s, and the agreement of pool %s or %s wants a wipe: noop is "
				   "refused",
				   n->name, n->tenant, others ? " and of others" : "", n->tenant_pool, to->name);
	if (a->ev->has_setup) {
		setup = a->ev->setup;
		snprintf(ret_why->text, sizeof(ret_why->text), "the order says so");
	}
	if (n->key_unread) {
		snprintf(ret_why->text, sizeof(ret_why->text), "its key was destroyed while it was away");
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
	struct why_erase why;
};

static int check_may_plan(struct phx_apply *a, const struct phx_node *n)
{
	if (n->state == PHX_NODE_QUARANTINED && a->ev->kind != PHX_EV_resume)
		return phx_err_set(a->err, -EPERM, "%s is quarantined (%s): resume it first", n->name, n->reason);
	if (n->state == PHX_NODE_NEW || n->state == PHX_NODE_COMMISSIONING)
		return phx_err_set(a->err, n->accepted ? -EBUSY : -EPERM, "%s is %s: %s", n->name,
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
	return effective_setup(a, o->n, pool, &o->q.setup, &o->why);
}

static int plan_order(struct phx_apply *a, struct order *o, struct phx_plan *ret)
{
	int r = build_order(a, o);
	if (r < 0)
		return r;
	if (a->ev->kind == PHX_EV_wipe) {
		o->q.setup.mode = PHX_SETUP_WIPE;
		o->q.setup.method = a->ev->setup.method;
		snprintf(o->why.text, sizeof(o->why.text), "the order says so");
	}
	if (a->ev->kind == PHX_EV_resume) {
		/* what it runs is not asked politely: it is taken from reset where that is possible */
		o->q.from = NULL;
		o->q.deploy_env_only = true;
		o->q.power_cycle = phx_node_has_bmc(o->n);
	}
	r = phx_plan_handover(&o->q, ret, a->err);
	if (r == 0)
		phx_spare_plan(a, o->n, o->q.from, ret);
	return r;
}

/* The same order again while it is being carried out is no mistake: scripts repeat themselves. */
static bool under_way(const struct phx_apply *a)
{
	const struct phx_node *n = phx_state_node(a->s, a->ev->node);
	if (!n || !phx_node_step(n) ||
	    strcmp(n->plan.request, request_name((enum phx_event_kind)a->ev->kind)))
		return false;
	if (a->ev->has_setup && (a->ev->setup.mode == PHX_SETUP_WIPE) != phx_plan_has(&n->plan, PHX_STEP_wipe))
		return false;
	return a->ev->kind != PHX_EV_assign ||
	       (!strcmp(n->plan.to_role, a->ev->role) && (!a->ev->pool[0] || !strcmp(n->plan.to_pool, a->ev->pool)));
}

static int begin_order(struct phx_apply *a, const struct order *o, struct phx_plan *plan)
{
	phx_say_cause(a, o->n, o->request, o->why.text, plan);
	int r = phx_handover_begin(a, o->n, plan, o->request);
	phx_work_settle(a); /* before a pin of this order counts */
	return r;
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
	r = phx_spare_node(a, o.n);
	if (r < 0) {
		phx_record_fini(&phx_plan_record, &plan);
		return r;
	}
	return begin_order(a, &o, &plan);
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
			const char *pool, const char *cause, struct phx_err *err)
{
	struct phx_event ev = { .kind = (int)kind, .now_ms = a->s->now_ms };
	struct phx_apply sub = { a->s, &ev, a->out, err, a->todo, a->work, a->do_work };
	PHX_STR_SET(ev.node, n->name);
	phx_str_copy(ev.role, sizeof(ev.role), role);
	phx_str_copy(ev.pool, sizeof(ev.pool), pool);
	phx_str_copy(ev.text, sizeof(ev.text), cause);
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
	if (phx_order_by_itself(a, PHX_EV_assign, n, role, "", reason, &why) < 0)
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
	if (phx_node_is_given_up(a->s, n)) /* for nobody: it is released at the end of this event */
		return;
	phx_note(a, n, "%s: its system in memory is gone with the reset: role %s is brought there again", n->name,
		 n->role);
	if (phx_order_by_itself(a, PHX_EV_assign, n, n->role, n->pool, "its system in memory is gone with a reset", &why) < 0)
		phx_quarantine(a, n, why.text);
}

void phx_read_back(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = { 0 };
	if (!n->key_unread || n->state != PHX_NODE_READY || !n->up || phx_node_step(n))
		return;
	phx_note(a, n, "%s is there again: its disks are erased and read back", n->name);
	if (phx_order_by_itself(a, PHX_EV_wipe, n, "", "", "what was ordered while it was away", &why) < 0)
		phx_quarantine(a, n, why.text);
}

/* ---- out of service and back ---- */

static int plan_drain(struct phx_apply *a, const struct phx_node *n, struct phx_plan *ret)
{
	const struct phx_role *role = n->role[0] ? phx_state_role(a->s, n->role) : NULL;
	struct phx_plan plan = { 0 };
	int r = check_may_plan(a, n);
	if (r < 0)
		return r;
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
	phx_spare_plan(a, n, role, &plan);
	*ret = plan;
	return 0;
}

/* The drain that is under way is given another time for its job: sooner, later, or for as long as it takes. */
static int drain_anew(struct phx_apply *a, struct phx_node *n)
{
	struct phx_plan *p = &n->plan;
	struct phx_step *step = phx_node_step(n);
	if (!p->waits || a->ev->jobs == PHX_JOBS_UNSAID ||
	    (p->has_grace == a->ev->has_grace && (!p->has_grace || p->grace_ms == a->ev->grace_ms)))
		return 0;
	PHX_STR_SET(p->by, a->ev->by);
	p->has_grace = a->ev->has_grace;
	p->grace_ms = p->has_grace ? a->ev->grace_ms : 0;
	p->kill_at_ms = 0;
	a->out->changed = true;
	if (step->kind == PHX_STEP_drain)
		phx_handover_advance(a, n);
	return 0;
}

int phx_apply_drain(struct phx_apply *a)
{
	struct phx_node *n;
	struct phx_plan plan;
	int r = phx_need_node(a, &n);
	if (r < 0 || n->state == PHX_NODE_MAINTENANCE)
		return r;
	r = phx_spare_node(a, n);
	if (r == 0 && phx_node_step(n) && !strcmp(n->plan.request, "drain") && n->plan.waits)
		return drain_anew(a, n);
	r = r ? r : plan_drain(a, n, &plan);
	if (r < 0)
		return r;
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
	return begin_order(a, &o, &plan);
}

void phx_resume_awaited(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = { 0 };
	struct phx_event ev = { .kind = PHX_EV_resume, .now_ms = a->s->now_ms };
	struct phx_apply sub = { a->s, &ev, a->out, &why, a->todo, a->work, a->do_work };
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

int phx_resume_unserved(struct phx_apply *a, struct phx_node *n)
{
	bool unserved = n->unserved && n->state == PHX_NODE_ACTIVE && !n->healthy && !phx_node_step(n);
	n->unserved = false;
	return unserved ? serve_again(a, n) : 0;
}

/* Its RE is no more: there is no service to go back to. Where it is heard it is on its way already. */
static int resume_detached(struct phx_apply *a, const struct phx_node *n)
{
	return phx_err_set(a->err, -EHOSTUNREACH, "%s is %s, and its RE is no more: it is erased and released as soon as it is heard",
			   n->name, n->power == PHX_POWER_KNOWN_OFF ? "off" : "silent");
}

int phx_apply_resume(struct phx_apply *a)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0 || (r = phx_spare_node(a, n)) < 0)
		return r;
	if (n->state == PHX_NODE_QUARANTINED)
		return resume_quarantined(a, n);
	if (n->state != PHX_NODE_MAINTENANCE)
		return 0;
	r = check_may_plan(a, n); /* on its way out of maintenance already */
	if (r < 0)
		return r;
	if (!n->pool[0])
		return resume_detached(a, n);
	bool left = phx_node_is_given_up(a->s, n); /* it is released, at the end of this event or when it is heard */
	const struct phx_re *full = n->up && !left ? phx_holding_full(a->s, n) : NULL;
	if (full) {
		snprintf(a->out->text, sizeof(a->out->text), "RE %s has others in its place: %s is %s",
			 full->name, n->name, phx_release_words(a->s, n));
		phx_note(a, n, "%s", a->out->text);
	}
	a->out->changed = true;
	bool unserved = n->role[0] && n->env == PHX_ENV_OS && !n->healthy && !left;
	if (unserved && n->up)
		return serve_again(a, n);
	n->unserved = unserved && !phx_of_before(a->s);
	n->state = n->role[0] ? PHX_NODE_ACTIVE : PHX_NODE_READY;
	n->reason[0] = '\0';
	if (n->up)
		phx_restore_system(a, n);
	else {
		snprintf(a->out->text, sizeof(a->out->text), "%s is out of maintenance, and it is %s: it %s when it is heard",
			 n->name, n->power == PHX_POWER_KNOWN_OFF ? "off" : "silent",
			 left ? "is released" : n->role[0] ? "serves" : "is free");
		phx_note(a, n, "%s", a->out->text);
	}
	phx_read_back(a, n);
	return 0;
}

/* It stays where it is, and people say more of it. */
static void say_another_reason(struct phx_apply *a, struct phx_node *n)
{
	char before[sizeof(n->reason)];
	if (!a->ev->text[0] || !strcmp(n->reason, a->ev->text))
		return;
	PHX_STR_SET(before, n->reason);
	PHX_STR_SET(n->reason, a->ev->text);
	a->out->changed = true;
	phx_note(a, n, "%s stays quarantined: %.150s (before: %.150s)", n->name, n->reason, before);
}

int phx_apply_quarantine(struct phx_apply *a)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r == 0 && n->state == PHX_NODE_QUARANTINED)
		say_another_reason(a, n);
	else if (r == 0 && (r = phx_spare_node(a, n)) == 0)
		phx_quarantine(a, n, a->ev->text[0] ? a->ev->text : "by hand");
	return r;
}

/* What runs there is gone as soon as the power is: it runs again then, and knows why. */
static void cut(struct phx_apply *a, struct phx_node *n)
{
	const struct phx_job *j = phx_core_ends(a->s, a->ev);
	n->cut_by[0] = '\0';
	if (a->ev->jobs == PHX_JOBS_UNSAID || !strcmp(a->ev->text, "on"))
		return;
	PHX_STR_SET(n->cut_by, a->ev->by[0] ? a->ev->by : "phxd");
	if (j)
		phx_note_re(a, n, j->re, NULL, "job %s is killed%s (kill %u): %s is switched (%s), by order of %s",
			    phx_job_title(j).text, j->no_requeue ? "" : " and queued again", j->kills + 1, n->name,
			    a->ev->text, n->cut_by);
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
	r = phx_spare_node(a, n);
	if (r < 0)
		return r;
	if (strcmp(op, "status"))
		n->off_wanted = false; /* whoever orders it knows better */
	if (strcmp(op, "status") && strcmp(op, "off"))
		phx_window_open(a, n);
	struct phx_action *act = phx_act(a, PHX_ACT_POWER, n);
	if (!act)
		return -ENOMEM;
	PHX_STR_SET(act->text, op);
	if (strcmp(op, "status"))
		cut(a, n);
	a->out->changed = true;
	return 0;
}

int phx_core_plan(const struct phx_state *s, const struct phx_event *ev, struct phx_plan *ret, struct phx_err *err)
{
	struct phx_outcome unused = { 0 };
	struct order o = { 0 };
	/* plan_order() only reads: the cast lets one code path serve the daemon and --dry-run */
	struct phx_apply a = { (struct phx_state *)s, ev, &unused, err, NULL, NULL, NULL };
	if (ev->kind != PHX_EV_drain)
		return plan_order(&a, &o, ret);
	int r = phx_need_node(&a, &o.n);
	if (r < 0)
		return r;
	*ret = (struct phx_plan){ 0 };
	return o.n->state == PHX_NODE_MAINTENANCE ? 0 : plan_drain(&a, o.n, ret);
}
