/* What jobs left on a node could not all be destroyed in place: its disks are erased instead,
 * within the same hand-over. Called by handover.c when the last attempt of step scratch has failed.
 * Pure. */
#include "node/internal.h"
#include "node/kernel.h"
#include "node/plan.h"
#include "node/protect.h"

#include <errno.h>

enum { WAIT_MS = 300 * 1000 };

/* The setup policy of the present hand-over, made as strict as possible. */
static int find_setup(const struct phx_apply *a, const struct phx_node *n,
		      const struct phx_pool *to, struct phx_setup *ret, struct phx_err *err)
{
	struct phx_why_erase why;
	int r = phx_setup_effective(a->s, n, to, NULL, ret, &why, err);
	ret->mode = phx_setup_strictest();
	return r;
}

/* The plan from here on: what ran on the node has stopped already. */
static int make_plan(const struct phx_apply *a, const struct phx_node *n, struct phx_plan *ret,
		     struct phx_err *err)
{
	const struct phx_pool *to = phx_state_pool(a->s, n->plan.to_pool);
	struct phx_role store;
	struct phx_protect protect;
	struct phx_plan_request q = {.node = n,
				     .to_pool = n->plan.to_pool,
				     .agreed = true,
				     .looks = a->s->settings.looks,
				     .deploy_kernel = phx_kernel_of_deploy(a->s),
				     .protect = phx_protect_of(a->s, n, &protect)};
	if (n->plan.to_role[0])
		q.to = phx_state_role_in(a->s, phx_state_role(a->s, n->plan.to_role),
					 n->plan.to_pool, &store);
	if (!to || (n->plan.to_role[0] && !q.to))
		return phx_err_set(err, -ENOENT, "there is no pool %s or role %s", n->plan.to_pool,
				   n->plan.to_role);
	q.apart = a->s->settings.resets && phx_changes_owner(n, to);
	/* a disk that was encrypted stays encrypted */
	q.encrypt = phx_setup_encrypts(to, q.to) ||
		(q.to && phx_role_boot(q.to)->on_disk && n->disk_key_id[0]);
	int r = find_setup(a, n, to, &q.setup, err);
	return r ? r : phx_plan_handover(&q, ret, err);
}

static bool take_steps(struct phx_apply *a, struct phx_node *n, const struct phx_plan *from)
{
	PHX_LIST_EACH(struct phx_step, step, &from->steps) {
		struct phx_step *s = phx_grow(a, &n->plan.steps, sizeof(*s));
		if (!s)
			return false;
		*s = *step;
		s->id = ++a->s->last_step_id;
		s->deadline_ms = a->s->now_ms + WAIT_MS;
		phx_key_name(n, s);
	}
	return true;
}

/* Whoever had the node, or gets it, was told when the hand-over began only if that erased or
 * installed anything. */
static void say_erased(struct phx_apply *a, const struct phx_node *n, const char *why)
{
	const struct phx_plan *p = &n->plan;
	if (phx_of_before(a->s) || phx_plan_has(p, PHX_STEP_wipe) ||
	    phx_plan_has(p, PHX_STEP_destroy_key) || phx_plan_has(p, PHX_STEP_image))
		return;
	phx_note_re(a, n, n->tenant_pool, p->to_pool, "%s is erased: %.110s; %.110s", n->name,
		    phx_text(p->cause), why);
}

bool phx_erase_instead(struct phx_apply *a, struct phx_node *n, struct phx_step *failed,
		       const char *why)
{
	struct phx_plan *p = &n->plan, plan;
	struct phx_err err = {0};
	if (make_plan(a, n, &plan, &err) < 0) {
		phx_note(a, n, "%s: %.200s; its disks cannot be erased instead: %.150s", n->name,
			 why, err.text);
		return false;
	}
	phx_note(a, n, "%s: %.200s; its disks are erased instead", n->name, why);
	say_erased(a, n, why);
	failed->status = PHX_STEP_FAILED;
	failed->ended_ms = a->s->now_ms;
	p->steps.n = ++p->cursor; /* later steps of the plan are dropped */
	p->tier = plan.tier;
	p->erase = plan.erase;
	p->agreed = plan.agreed;
	p->looks = plan.looks;
	p->apart = plan.apart;
	p->attests = plan.looks && a->s->settings.attests;
	p->measures = plan.looks && a->s->settings.measures;
	PHX_STR_SET(p->reason, plan.reason);
	phx_list_fini(&p->left);
	p->left = plan.left;
	plan.left = (struct phx_list){0};
	phx_record_fini(&phx_layout_record, &p->layout);
	p->layout = plan.layout;
	p->keeps_layout = plan.keeps_layout;
	plan.layout = (struct phx_layout){0};
	bool all = take_steps(a, n, &plan);
	phx_record_fini(&phx_plan_record, &plan);
	return all;
}
