/* Turns an order on one node, from a person or the core itself, into a plan, and begins it. Decides
 * which setup policy must hold, asks the planner, and refuses orders that do not fit the node's
 * state. Called by request.c, by the allocation, and for a dry run. Pure. */
#include "node/check.h"
#include "node/internal.h"
#include "node/kernel.h"
#include "node/plan.h"
#include "node/protect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* All input of the planner, from state and order. */
struct draft {
	const struct phx_node_order *order;
	struct phx_plan_request q;
	struct phx_role from; /* borrows from the state's role */
	struct phx_role to;   /* the same, with the image of its pool */
	struct phx_why_erase why;
	struct phx_protect protect;
};

int phx_plan_may(const struct phx_node *n, enum phx_event_kind kind, struct phx_err *err)
{
	if (n->state == PHX_NODE_QUARANTINED && kind != PHX_EV_resume)
		return phx_err_set(err, -EPERM, "%s is quarantined (%s): resume it first", n->name,
				   n->reason);
	if (n->state == PHX_NODE_NEW || n->state == PHX_NODE_COMMISSIONING)
		return phx_err_set(err, n->accepted ? -EBUSY : -EPERM, "%s is %s: %s", n->name,
				   phx_enum_name(&phx_node_state_names, n->state),
				   n->accepted ? "it has not registered yet" : "accept it first");
	if (phx_node_step(n))
		return phx_err_set(err, -EBUSY, "%s is in the middle of %s (step %u of %u)",
				   n->name, phx_request_name(&n->plan), n->plan.cursor + 1,
				   n->plan.steps.n);
	return 0;
}

static enum phx_request request_of(const struct phx_node_order *o)
{
	switch (o->kind) {
#define REQUEST(name) \
	case PHX_EV_##name: \
		return PHX_REQUEST_##name;
#include "types/request.def"
#undef REQUEST
	default: /* the kinds of events are far more than those that make a plan */
		return PHX_REQUEST_NONE;
	}
}

static int find_role(const struct phx_state *s, struct draft *d, struct phx_err *err)
{
	const struct phx_node *n = d->order->node;
	bool rebuild = d->order->kind == PHX_EV_rebuild;
	const char *name = rebuild ? n->role : d->order->role;
	if (d->order->kind != PHX_EV_assign && !rebuild)
		return 0;
	if (rebuild && !name[0])
		return phx_err_set(err, -EINVAL, "%s has no role to rebuild: assign one", n->name);
	d->q.to = phx_state_role(s, name);
	return d->q.to ? 0 : phx_err_set(err, -ENOENT, "there is no role '%s'", name);
}

static const struct phx_pool *find_pool(const struct phx_state *s, const struct draft *d)
{
	const struct phx_node_order *o = d->order;
	if (!d->q.to)
		return phx_state_pool(s, PHX_POOL_FREE);
	if (o->pool[0])
		return phx_state_pool(s, o->pool);
	/* a node stays in its pool when it is rebuilt, or pinned in the role that it has */
	bool stays = o->kind == PHX_EV_rebuild || (o->pin && !strcmp(o->node->role, o->role));
	if (stays && o->node->pool[0])
		return phx_state_pool(s, o->node->pool);
	return phx_state_pool(s, d->q.to->pool);
}

/* The root is encrypted if the order says so, or if the pool erases by destroying the key. */
static bool wants_encryption(const struct draft *d, const struct phx_pool *to)
{
	bool may = d->q.to && phx_role_boot(d->q.to)->on_disk;
	return (may && d->order->encrypt) || phx_setup_encrypts(to, d->q.to);
}

/* Finds the role that the node runs, or else the role that it was assigned. */
static void find_former_role(const struct phx_state *s, struct draft *d)
{
	const struct phx_node *n = d->order->node;
	const struct phx_role *from = n->actual_role[0] ? phx_state_role(s, n->actual_role) : NULL;
	if (!from && n->role[0])
		from = phx_state_role(s, n->role);
	if (!from)
		return;
	d->from = *from;
	d->from.web = phx_node_web_of(s, n, from);
	d->q.from = &d->from;
}

static int fill(const struct phx_state *s, struct draft *d, struct phx_err *err)
{
	const struct phx_node_order *o = d->order;
	int r = phx_plan_may(o->node, o->kind, err);
	if (r < 0)
		return r;
	d->q.node = o->node;
	find_former_role(s, d);
	r = find_role(s, d, err);
	if (r < 0)
		return r;
	const struct phx_pool *pool = find_pool(s, d);
	if (!pool)
		return phx_err_set(err, -ENOENT, "there is no pool '%s'",
				   o->pool[0] ? o->pool : d->q.to->pool);
	if (d->q.to && strcmp(o->node->pool, pool->name))
		r = phx_check_suffices(s, o->node, pool, err);
	if (r < 0)
		return r;
	d->q.to_pool = pool->name;
	d->q.to = phx_state_role_in(s, d->q.to, pool->name, &d->to);
	d->q.rebuild = o->kind == PHX_EV_rebuild;
	d->q.power_cycle = o->power_cycle;
	d->q.encrypt = wants_encryption(d, pool);
	d->q.looks = s->settings.looks;
	d->q.deploy_kernel = phx_kernel_of_deploy(s);
	d->q.protect = phx_protect_of(s, o->node, &d->protect);
	d->q.rekey = s->settings.rekeys && phx_changes_owner(o->node, pool);
	d->q.apart = s->settings.resets && phx_changes_owner(o->node, pool);
	d->q.agreed = !o->has_setup && o->kind != PHX_EV_wipe;
	r = phx_setup_effective(s, o->node, pool, o->has_setup ? &o->setup : NULL, &d->q.setup,
				&d->why, err);
	if (r == 0 && o->setup.verify > d->q.setup.verify)
		d->q.setup.verify = o->setup.verify;
	return r;
}

static int make_drain(const struct phx_state *s, const struct phx_node_order *o,
		      struct phx_plan *ret, struct phx_err *err)
{
	const struct phx_node *n = o->node;
	const struct phx_role *role = n->role[0] ? phx_state_role(s, n->role) : NULL;
	struct phx_plan plan = {0};
	int r = phx_plan_may(n, o->kind, err);
	if (r < 0)
		return r;
	PHX_STR_SET(plan.to_pool, n->pool);
	PHX_STR_SET(plan.from_pool, n->pool);
	if (role && n->up && n->state == PHX_NODE_ACTIVE) {
		struct phx_role here = *role;
		here.web = phx_node_web_of(s, n, role);
		r = phx_plan_drain(&here, &plan);
	}
	if (r < 0) {
		phx_record_fini(&phx_plan_record, &plan);
		return r;
	}
	phx_order_jobs_plan(s, o, role, &plan);
	*ret = plan;
	return 0;
}

/* The node comes back in the role that it has, with its system and data. */
static int make_reboot(const struct phx_state *s, struct draft *d, struct phx_plan *ret,
		       struct phx_err *err)
{
	const struct phx_node *n = d->order->node;
	const struct phx_role *role = phx_state_role(s, n->role);
	int r = phx_plan_may(n, d->order->kind, err);
	if (r < 0)
		return r;
	if (!role || !n->pool[0])
		return phx_err_set(err, -EINVAL,
				   "%s has no role to come back in: phx node power %s cycle starts "
				   "it anew",
				   n->name, n->name);
	if (d->order->when_idle && !n->up && phx_index_job_on(s, n))
		return phx_err_set(
			err, -EBUSY,
			"%s is not heard, and may still run a job: that is not waited for",
			n->name);
	find_former_role(s, d);
	d->q.node = n;
	d->q.to_pool = n->pool;
	d->q.to = phx_state_role_in(s, role, n->pool, &d->to);
	d->q.power_cycle = d->order->power_cycle;
	r = phx_plan_reboot(&d->q, ret, err);
	if (r == 0)
		phx_order_jobs_plan(s, d->order, d->q.from, ret);
	return r;
}

static int make_check(const struct phx_state *s, const struct phx_node_order *o,
		      struct phx_plan *ret, struct phx_err *err)
{
	int r = phx_plan_may(o->node, o->kind, err);
	return r ? r : phx_check_plan(s, o, ret, err);
}

static int make(const struct phx_state *s, struct draft *d, struct phx_plan *ret,
		struct phx_err *err)
{
	const struct phx_node_order *o = d->order;
	if (o->kind == PHX_EV_drain)
		return make_drain(s, o, ret, err);
	if (o->kind == PHX_EV_reboot)
		return make_reboot(s, d, ret, err);
	if (o->kind == PHX_EV_check)
		return make_check(s, o, ret, err);
	int r = fill(s, d, err);
	if (r < 0)
		return r;
	if (o->kind == PHX_EV_wipe) {
		d->q.setup.mode = PHX_SETUP_WIPE;
		d->q.setup.method = o->setup.method;
		snprintf(d->why.text, sizeof(d->why.text), "the order says so");
	}
	if (o->kind == PHX_EV_resume) {
		/* the running system is not shut down in order: the node is reset if it has a BMC
		 */
		d->q.from = NULL;
		d->q.deploy_env_only = true;
		d->q.power_cycle = phx_node_has_bmc(o->node);
	}
	r = phx_plan_handover(&d->q, ret, err);
	if (r == 0)
		phx_order_jobs_plan(s, o, d->q.from, ret);
	return r;
}

int phx_order_plan(const struct phx_state *s, const struct phx_node_order *o, struct phx_plan *ret,
		   struct phx_err *err)
{
	struct draft d = {.order = o};
	return make(s, &d, ret, err);
}

int phx_order_plan_of(const struct phx_state *s, const struct phx_event *ev, struct phx_plan *ret,
		      struct phx_err *err)
{
	const struct phx_node *n = phx_state_node(s, ev->node);
	if (!n)
		return phx_err_set(err, -ENOENT, "there is no node '%s'", ev->node);
	PHX_CARRIES(ev, order);
	const struct phx_node_order o = phx_order_of(&ev->head, &ev->order, n);
	if (o.kind != PHX_EV_drain || n->state != PHX_NODE_MAINTENANCE)
		return phx_order_plan(s, &o, ret, err);
	*ret = (struct phx_plan){0};
	return 0;
}

/* Does the plan do what the order asks for? */
static bool does_as_asked(const struct phx_plan *p, const struct phx_setup *asked)
{
	bool writes = phx_plan_has(p, PHX_STEP_image) || phx_plan_has(p, PHX_STEP_ram);
	return phx_setup_does(asked, PHX_SETUP_DISKS) == phx_plan_has(p, PHX_STEP_wipe) &&
		(!phx_setup_does(asked, PHX_SETUP_SCRATCH) || phx_plan_has(p, PHX_STEP_wipe) ||
		 phx_plan_has(p, PHX_STEP_scratch)) &&
		(!phx_setup_does(asked, PHX_SETUP_SYSTEM) || !p->to_role[0] || writes);
}

/* Is the same order under way already? That is no error: scripts repeat orders. */
static bool under_way(const struct phx_node_order *o)
{
	const struct phx_node *n = o->node;
	if (!phx_node_step(n) || n->plan.request != (int)request_of(o))
		return false;
	if (o->has_setup && !does_as_asked(&n->plan, &o->setup))
		return false;
	return o->kind != PHX_EV_assign ||
		(!strcmp(n->plan.to_role, o->role) &&
		 (!o->pool[0] || !strcmp(n->plan.to_pool, o->pool)));
}

static int begin_order(struct phx_apply *a, const struct draft *d, struct phx_plan *plan)
{
	const struct phx_node_order *o = d->order;
	struct phx_node *n =
		PHX_LIST_AT(&a->s->nodes, struct phx_node, phx_index_place(a->s, o->node));
	phx_say_cause(a, o, d->why.text, plan);
	int r = phx_handover_begin(a, n, plan, request_of(o));
	phx_work_settle(a); /* before a pin of this order counts */
	return r;
}

/* Is the node already as ordered, so that the order changes nothing? */
static bool is_so(const struct draft *d, const struct phx_plan *plan)
{
	const struct phx_node *n = d->order->node;
	bool serves = n->state == PHX_NODE_ACTIVE || n->state == PHX_NODE_MAINTENANCE;
	return !plan->steps.n && d->order->kind != PHX_EV_resume && (d->q.to || !serves);
}

int phx_order_begin(struct phx_apply *a, const struct phx_node_order *o)
{
	struct draft d = {.order = o};
	struct phx_plan plan;
	if (under_way(o))
		return 0;
	int r = phx_stick(a, make(a->s, &d, &plan, a->err));
	if (r < 0)
		return r;
	if (!is_so(&d, &plan) && (r = phx_order_jobs_allow(a, o)) == 0)
		return begin_order(a, &d, &plan);
	phx_record_fini(&phx_plan_record, &plan);
	return r;
}

struct phx_apply phx_by_itself(const struct phx_apply *a, struct phx_err *err)
{
	struct phx_apply own = *a;
	own.by = "";
	own.jobs = PHX_JOBS_UNSAID;
	own.err = err;
	return own;
}

int phx_order_by_itself(struct phx_apply *a, const struct phx_node_order *o, struct phx_err *err)
{
	struct phx_apply own = phx_by_itself(a, err);
	return phx_order_begin(&own, o);
}
