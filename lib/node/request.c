/* Orders from people: assign, release, rebuild, wipe, drain, resume, quarantine, power; and orders
 * of the core itself when a node is ready or is heard again. planning.c makes the plans. Called by
 * the table of events. Pure. */
#include "node/internal.h"
#include "node/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A pin belongs to the order that placed the node: it lasts until the next order by hand. */
static int order_and_pin(struct phx_apply *a, const struct phx_event_order *p)
{
	struct phx_node_order o;
	struct phx_node *n;
	int r = phx_need_order(a, p, &n, &o);
	r = r ? r : phx_order_begin(a, &o);
	if (r < 0 || n->pinned == o.pin)
		return r;
	n->pinned = o.pin;
	a->out->changed = true;
	phx_touch(a->s, n);
	return 0;
}

int phx_apply_assign(struct phx_apply *a, const struct phx_event_order *p)
{
	return order_and_pin(a, p);
}

int phx_apply_release(struct phx_apply *a, const struct phx_event_order *p)
{
	return order_and_pin(a, p);
}

int phx_apply_rebuild(struct phx_apply *a, const struct phx_event_order *p)
{
	struct phx_node_order o;
	struct phx_node *n;
	int r = phx_need_order(a, p, &n, &o);
	return r ? r : phx_order_begin(a, &o);
}

int phx_apply_check(struct phx_apply *a, const struct phx_event_order *p)
{
	return phx_apply_rebuild(a, p);
}

int phx_apply_wipe(struct phx_apply *a, const struct phx_event_order *p)
{
	return phx_apply_rebuild(a, p);
}

/* ---- what the core orders by itself ---- */

void phx_auto_assign(struct phx_apply *a, struct phx_node *n)
{
	char reason[256];
	if (!a->s->settings.auto_assign || n->state != PHX_NODE_READY || n->pinned ||
	    n->key_unread || phx_node_step(n))
		return;
	int i = phx_stick(
		a, phx_rules_match(&a->s->rules, n->name, &n->facts, reason, sizeof(reason)));
	if (i < 0)
		return;
	struct phx_err why = {0};
	phx_note(a, n, "%s: %s", n->name, reason);
	struct phx_node_order o = phx_order_own(PHX_EV_assign, n, reason);
	o.role = PHX_LIST_AT(&a->s->rules, struct phx_rule, (uint32_t)i)->role;
	if (phx_order_by_itself(a, &o, &why) < 0)
		phx_note(a, n, "%s: automatic assignment: %s", n->name, why.text);
}

/* It was started for something else, which was given up meanwhile. */
static void start_again(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = {0};
	const struct phx_node_order o =
		phx_order_own(PHX_EV_reboot, n, "it was started under another kernel");
	if (phx_order_by_itself(a, &o, &why) < 0)
		phx_quarantine(a, n, why.text);
}

void phx_restore_system(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = {0};
	if (n->state == PHX_NODE_ACTIVE && n->env == PHX_ENV_DEPLOY &&
	    phx_node_boots_local(a->s, n) && !phx_kernel_fits(a->s, n)) {
		start_again(a, n);
		return;
	}
	if (n->state != PHX_NODE_ACTIVE || n->env != PHX_ENV_DEPLOY || phx_node_step(n) ||
	    phx_node_boots_local(a->s, n))
		return;
	const struct phx_role *role = phx_state_role(a->s, n->role);
	if (!role || phx_role_boot(role)->on_disk) {
		phx_quarantine(a, n, "it came back without its installed system");
		return;
	}
	if (phx_node_is_given_up(a->s, n)) /* the node is released at the end of this event */
		return;
	phx_note(a, n,
		 "%s: its system in memory is gone with the reset: role %s is brought there again",
		 n->name, n->role);
	struct phx_node_order o =
		phx_order_own(PHX_EV_assign, n, "its system in memory is gone with a reset");
	o.role = role->name;
	o.pool = n->pool;
	if (phx_order_by_itself(a, &o, &why) < 0)
		phx_quarantine(a, n, why.text);
}

void phx_read_back(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = {0};
	if (!n->key_unread || n->state != PHX_NODE_READY || !n->up || phx_node_step(n))
		return;
	phx_note(a, n, "%s is there again: its disks are erased and read back", n->name);
	const struct phx_node_order o =
		phx_order_own(PHX_EV_wipe, n, "what was ordered while it was away");
	if (phx_order_by_itself(a, &o, &why) >= 0)
		return;
	/* say what a person can do if the head cannot start the node */
	size_t len = strlen(why.text);
	if (!phx_node_has_bmc(n))
		snprintf(why.text + len, sizeof(why.text) - len,
			 ": phx node resume waits for a start by hand");
	phx_quarantine(a, n, why.text);
}

/* ---- out of service and back ---- */

/* Changes the grace of the job in a drain under way: shorter, longer or without end. */
static int drain_anew(struct phx_apply *a, struct phx_node *n, const struct phx_node_order *o)
{
	struct phx_plan *p = &n->plan;
	struct phx_step *step = phx_node_step(n);
	if (!p->waits || o->jobs == PHX_JOBS_UNSAID ||
	    (p->has_grace == o->has_grace && (!p->has_grace || p->grace_ms == o->grace_ms)))
		return 0;
	PHX_STR_SET(p->by, o->by);
	p->has_grace = o->has_grace;
	p->grace_ms = p->has_grace ? o->grace_ms : 0;
	p->kill_at_ms = 0;
	a->out->changed = true;
	if (step->kind == PHX_STEP_drain)
		phx_handover_advance(a, n);
	return 0;
}

/* An order that names no end leaves the one that was set. Always 0. */
static int set_end(struct phx_apply *a, struct phx_node *n, int64_t until_ms)
{
	if (!until_ms || n->maintained_until_ms == until_ms)
		return 0;
	n->maintained_until_ms = until_ms;
	a->out->changed = true;
	phx_touch(a->s, n);
	return 0;
}

int phx_apply_drain(struct phx_apply *a, const struct phx_event_order *p)
{
	struct phx_node_order o;
	struct phx_node *n;
	struct phx_plan plan;
	int r = phx_need_order(a, p, &n, &o);
	if (r < 0)
		return r;
	if (n->state == PHX_NODE_MAINTENANCE)
		return set_end(a, n, p->until_ms);
	r = phx_order_jobs_allow(a, &o);
	if (r == 0 && phx_node_step(n) && n->plan.request == PHX_REQUEST_drain && n->plan.waits)
		return set_end(a, n, p->until_ms) + drain_anew(a, n, &o);
	r = r ? r : phx_order_plan(a->s, &o, &plan, a->err);
	if (r < 0)
		return r;
	r = phx_handover_begin(a, n, &plan, PHX_REQUEST_drain);
	n->maintained_until_ms = p->until_ms;
	PHX_STR_SET(n->reason, a->ev->text[0] ? a->ev->text : "drained by hand");
	return r;
}

/* A node that is up gets no token of a start (phx_start_given): a person has to wait until it is
 * not. */
static const char *awaited_text(const struct phx_node *n, bool started)
{
	if (started)
		return "is started, to be seen as it is now";
	return n->up ? "has no BMC: switch it off by hand, and on again when it counts as "
		       "missing; it is waited for"
		     : "has no BMC: start it by hand now, it is waited for";
}

/* Lets a quarantined node boot and be certified; the resume goes on when it is heard. Nothing can
 * be planned before: the node has no BMC, or its last facts about its disks are unusable. If it
 * were refused until then, it would never be heard. */
static int await(struct phx_apply *a, struct phx_node *n)
{
	bool started = phx_node_has_bmc(n) && phx_act_power(a, n, PHX_POWER_BOOT);
	n->awaited = true;
	n->off_wanted = false;
	phx_start_await(a, n);
	a->out->changed = true;
	phx_note(a, n, "%s %s", n->name, awaited_text(n, started));
	return 0;
}

/* A node leaves quarantine only through the deploy environment, and is erased if a tenant's data
 * may be left. */
static int resume_quarantined(struct phx_apply *a, struct phx_node *n,
			      const struct phx_node_order *o)
{
	if (!n->key_fp[0]) { /* the node was never accepted: this order accepts it */
		phx_node_must_become(a, n, PHX_NODE_NEW);
		n->accepted = true;
		n->hold = false;
		n->reason[0] = '\0';
		a->out->changed = true;
		return 0;
	}
	if (!n->up && !phx_node_has_bmc(n))
		return await(a, n);
	int r = phx_order_begin(a, o);
	bool by_hand = r == -EHOSTUNREACH && !phx_node_has_bmc(n);
	if (r < 0 && (by_hand || phx_facts_check(&n->facts, NULL) < 0))
		return await(a, n);
	n->awaited = n->awaited && r < 0;
	return r;
}

void phx_resume_awaited(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = {0};
	struct phx_apply own = phx_by_itself(a, &why);
	const struct phx_node_order o = phx_order_own(PHX_EV_resume, n, "");
	if (!n->awaited || n->state != PHX_NODE_QUARANTINED || n->env != PHX_ENV_DEPLOY)
		return;
	n->awaited = n->by_kexec = false; /* a person has started it */
	if (phx_facts_check(&n->facts, &why) < 0 || resume_quarantined(&own, n, &o) < 0)
		phx_note(a, n, "%s: it is there, and stays quarantined: %s", n->name, why.text);
}

/* Starts the role of a node that was restarted while it was out of service. */
static int serve_again(struct phx_apply *a, struct phx_node *n)
{
	static const enum phx_step_kind kinds[] = {PHX_STEP_activate, PHX_STEP_start,
						   PHX_STEP_health, PHX_STEP_join};
	/* a system in memory may be one that was just fetched, without the role's packages */
	bool anew = !n->system_disk[0] && a->s->settings.redoes_role;
	struct phx_plan plan = {.tier = PHX_TIER_IN_PLACE};
	PHX_STR_SET(plan.to_role, n->role);
	PHX_STR_SET(plan.to_pool, n->pool);
	PHX_STR_SET(plan.from_pool, n->pool);
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(kinds); i++)
		if (kinds[i] != PHX_STEP_activate || anew)
			r = phx_steps_add(a, &plan, kinds[i], n->role);
	if (r < 0) {
		phx_record_fini(&phx_plan_record, &plan);
		return r;
	}
	return phx_handover_begin(a, n, &plan, PHX_REQUEST_resume);
}

int phx_resume_unserved(struct phx_apply *a, struct phx_node *n)
{
	if (n->env == PHX_ENV_DEPLOY) /* it is entered first */
		return 0;
	bool unserved =
		n->unserved && n->state == PHX_NODE_ACTIVE && !n->healthy && !phx_node_step(n);
	n->unserved = false;
	return unserved ? serve_again(a, n) : 0;
}

/* Refuses to resume a node whose RE does not exist any more. A node that is heard is being released
 * already. */
static int resume_detached(struct phx_apply *a, const struct phx_node *n)
{
	return phx_err_set(
		a->err, -EHOSTUNREACH,
		"%s is %s, and its RE does not exist any more: the node is erased and released as "
		"soon as it is heard",
		n->name, n->power == PHX_POWER_IS_OFF ? "off" : "silent");
}

static int resume(struct phx_apply *a, struct phx_node *n, const struct phx_node_order *o)
{
	int r = phx_order_jobs_allow(a, o);
	if (r < 0)
		return r;
	if (n->state == PHX_NODE_QUARANTINED)
		return resume_quarantined(a, n, o);
	if (n->state != PHX_NODE_MAINTENANCE)
		return 0;
	r = phx_plan_may(n, o->kind, a->err); /* the node may be leaving maintenance already */
	if (r < 0)
		return r;
	if (!n->pool[0])
		return resume_detached(a, n);
	/* the node is released, at the end of this event or when it is heard */
	bool left = phx_node_is_given_up(a->s, n);
	const struct phx_re *full = n->up && !left ? phx_holding_full(a, n) : NULL;
	if (full) {
		snprintf(a->out->text, sizeof(a->out->text),
			 "RE %s has others in its place: %s is %s", full->name, n->name,
			 phx_release_words(a->s, n));
		phx_note(a, n, "%s", a->out->text);
	}
	a->out->changed = true;
	bool unserved = n->role[0] && !n->healthy && !left, inside = n->env == PHX_ENV_OS;
	if (unserved && inside && n->up)
		return serve_again(a, n);
	n->unserved = unserved && (inside ? !phx_of_before(a->s) : a->s->settings.serves_late);
	phx_node_must_become(a, n, n->role[0] ? PHX_NODE_ACTIVE : PHX_NODE_READY);
	n->maintained_until_ms = 0;
	n->reason[0] = '\0';
	if (n->up)
		phx_restore_system(a, n);
	else {
		snprintf(a->out->text, sizeof(a->out->text),
			 "%s is out of maintenance, and it is %s: it %s when it is heard", n->name,
			 n->power == PHX_POWER_IS_OFF ? "off" : "silent",
			 left                 ? "is released"
				 : n->role[0] ? "serves"
					      : "is free");
		phx_note(a, n, "%s", a->out->text);
	}
	phx_read_back(a, n);
	return 0;
}

int phx_apply_resume(struct phx_apply *a, const struct phx_event_order *p)
{
	struct phx_node_order o;
	struct phx_node *n;
	int r = phx_need_order(a, p, &n, &o);
	return r ? r : resume(a, n, &o);
}

void phx_maintenance_tick(struct phx_apply *a, struct phx_node *n)
{
	struct phx_err why = {0};
	struct phx_apply own = phx_by_itself(a, &why);
	const struct phx_node_order o = phx_order_own(PHX_EV_resume, n, "its maintenance is over");
	if (!n->maintained_until_ms || n->maintained_until_ms > a->s->now_ms ||
	    n->state != PHX_NODE_MAINTENANCE || phx_node_step(n))
		return;
	n->maintained_until_ms = 0;
	a->out->changed = true;
	phx_note(a, n, "%s: its maintenance ends by itself, as ordered", n->name);
	if (resume(&own, n, &o) < 0)
		phx_note(a, n, "%s stays in maintenance: %s", n->name, why.text);
}

/* The node stays quarantined, for a new reason. */
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

int phx_apply_quarantine(struct phx_apply *a, const struct phx_event_order *p)
{
	struct phx_node_order o;
	struct phx_node *n;
	int r = phx_need_order(a, p, &n, &o);
	if (r == 0 && n->state == PHX_NODE_QUARANTINED)
		say_another_reason(a, n);
	else if (r == 0 && (r = phx_order_jobs_allow(a, &o)) == 0)
		phx_quarantine(a, n, a->ev->text[0] ? a->ev->text : "by hand");
	return r;
}

/* Records who switches the power: that kills the node's job, whose record then names the cause. */
static void cut(struct phx_apply *a, struct phx_node *n, const struct phx_node_order *o)
{
	const struct phx_job *j = phx_order_ends(a->s, o);
	phx_text_clear(&n->cut_by);
	if (o->jobs == PHX_JOBS_UNSAID || !phx_power_ends(o->op))
		return;
	phx_put_text(a, &n->cut_by, "%s", a->ev->by[0] ? a->ev->by : "phxd");
	if (o->op == PHX_POWER_SOFT)
		phx_note(a, n, "%s is to switch itself off, by order of %s", n->name,
			 phx_text(n->cut_by));
	else if (j)
		phx_note_re(a, n, j->re, NULL,
			    "job %s is killed%s (kill %u): %s is switched (%s), by order of %s",
			    phx_job_title(j).text, j->no_requeue ? "" : " and queued again",
			    j->kills + 1, n->name, phx_enum_name(&phx_power_op_names, (int)o->op),
			    phx_text(n->cut_by));
}

/* -EINVAL, with the operations that there are, if it is none that people may order. */
static int check_power_op(struct phx_apply *a, enum phx_power_op op)
{
	const char *name = op ? phx_enum_name(&phx_power_op_names, (int)op) : a->ev->text;
	return phx_power_op_parse(name, PHX_POWER_STATUS, &op, a->err);
}

/* Does the machine start by the operation? */
static bool starts(enum phx_power_op op)
{
	return op != PHX_POWER_STATUS && op != PHX_POWER_OFF && op != PHX_POWER_SOFT;
}

int phx_apply_power(struct phx_apply *a, const struct phx_event_order *p)
{
	struct phx_node_order o;
	struct phx_node *n;
	int r = phx_need_order(a, p, &n, &o);
	r = r ? r : check_power_op(a, o.op);
	if (r < 0)
		return r;
	if (!phx_node_has_bmc(n))
		return phx_err_set(a->err, -EHOSTUNREACH, "%s has no BMC", n->name);
	if (phx_power_ends(o.op) && phx_node_step(n) && !p->force)
		return phx_err_set(a->err, -EBUSY, "%s is in the middle of %s: use force", n->name,
				   phx_request_name(&n->plan));
	r = phx_order_jobs_allow(a, &o);
	if (r < 0)
		return r;
	if (o.op != PHX_POWER_STATUS)
		n->off_wanted = false; /* an order by hand replaces the core's wish */
	if (starts(o.op))
		phx_start_await(a, n);
	if (o.op != PHX_POWER_STATUS)
		phx_soft_over(a, n);
	if (o.op == PHX_POWER_SOFT)
		phx_soft_begin(a, n);
	else
		phx_act_power(a, n, o.op);
	if (o.op != PHX_POWER_STATUS)
		cut(a, n, &o);
	a->out->changed = true;
	return 0;
}
