/* Follows a plan: issues steps, takes their results, brings a node back to where a step needs it,
 * and gives up safely.
 *
 *   pending ──issue──▶ issued ──result / registration──▶ done
 *      ▲                  │ failed, silent, deadline
 *      └──── back-off ────┘        after the last attempt: by its row (types/step.def)
 *
 * Every issued or waiting step has a deadline, so that nothing hangs (faults.md 17). Called by
 * whatever begins a plan, and by whatever learns of its steps. Pure. */
#include "node/check.h"
#include "node/internal.h"
#include "node/layout.h"
#include "node/kernel.h"
#include "node/protect.h"
#include "node/wipes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	BACKOFF_MS = 2000,    /* before the second attempt; doubled for the third */
	WAIT_MS = 300 * 1000, /* how long a node without BMC may take to come back by itself */
};

static void drop_plan(struct phx_node *n)
{
	/* the steps stay to be read; a plan whose cursor is at its end is idle */
	while (n->plan.steps.n > n->plan.cursor)
		n->plan.steps.n--;
}

void phx_quarantine(struct phx_apply *a, struct phx_node *n, const char *why)
{
	bool cleaning = n->state == PHX_NODE_CLEANING;
	phx_key_doom_unsure(a, n);
	drop_plan(n);
	phx_jobs_leave(a, n, why);
	phx_node_must_become(a, n, PHX_NODE_QUARANTINED);
	n->pool[0] = n->role[0] = '\0';
	phx_text_clear(&n->gave_up);
	phx_start_close(n);
	n->awaited = false;
	snprintf(n->reason, sizeof(n->reason), "%s", why);
	phx_line_lost(a, n, why);
	a->out->changed = true;
	phx_note(a, n, "%s is quarantined: %s", n->name, n->reason);
	/* a node whose cleaning failed must not come back up by itself (faults.md 18) */
	if (cleaning && a->s->settings.power_off_quarantined && phx_node_has_bmc(n))
		phx_power_off(a, n);
}

/* ---- effects of a step that begins, and of a step that is done ---- */

/* From this step on the new tenant's data is on the node. */
static void move_in(struct phx_node *n, const struct phx_pool *to, const struct phx_step *step)
{
	bool stays = n->dirty && !strcmp(n->tenant, to->owner);
	bool unlocked = step->kind == PHX_STEP_image ? !step->key_id[0] : !n->disk_key_id[0];
	n->owes_wipe = (stays && n->owes_wipe) || phx_setup_wipes(&to->setup, PHX_WHEN_RELEASE);
	n->owes_data = (stays && n->owes_data) || phx_setup_clears(&to->setup);
	if (step->kind == PHX_STEP_ram ||
	    ((step->kind == PHX_STEP_image || step->kind == PHX_STEP_activate) && unlocked))
		n->plain = true;
	n->mixed = n->mixed || (n->dirty && !stays);
	n->dirty = true;
	PHX_STR_SET(n->pool, to->name);
	PHX_STR_SET(n->tenant, to->owner);
	PHX_STR_SET(n->tenant_pool, to->name);
}

/* The pool that the node enters with this step; NULL while the plan still has steps of the old
 * tenant, as when a repair brings the node up again for them. */
static const struct phx_pool *enters(const struct phx_apply *a, const struct phx_node *n,
				     const struct phx_step *step)
{
	if (info_of(step)->phase != PHX_NODE_DEPLOYING || !n->plan.to_role[0])
		return NULL;
	for (uint32_t i = n->plan.cursor + 1; i < n->plan.steps.n; i++)
		if (info_of(PHX_LIST_AT(&n->plan.steps, struct phx_step, i))->phase !=
		    PHX_NODE_DEPLOYING)
			return NULL;
	return phx_state_pool(a->s, n->plan.to_pool);
}

static void begin_effects(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	const struct phx_step_info *info = info_of(step);
	bool stays = n->state == PHX_NODE_QUARANTINED && info->phase != PHX_NODE_CLEANING;
	if (info->on_fail != PHX_ON_FAIL_ABORT && !stays) /* quarantine stays until it is clean */
		phx_node_must_become(a, n, info->phase);
	if (phx_step_starts(step->kind))
		phx_start_begin(a, n, step);
	if (step->kind == PHX_STEP_kexec)
		n->by_kexec = true;
	if (step->kind == PHX_STEP_enter)
		phx_start_entered(a, n); /* what runs from now on has its key on the disk */
	if (step->kind == PHX_STEP_wipe || step->kind == PHX_STEP_image) {
		n->system_image[0] = n->system_digest[0] = '\0';
		n->actual_role[0] = n->actual_identity[0] = '\0';
	}
	if (step->kind == PHX_STEP_wipe || (step->kind == PHX_STEP_layout && !n->plan.keeps_layout))
		phx_layout_forget(n);
	const struct phx_pool *pool = enters(a, n, step);
	if (!pool)
		return;
	PHX_STR_SET(n->role, n->plan.to_role);
	move_in(n, pool, step);
}

static bool wipes_left(const struct phx_node *n)
{
	for (uint32_t i = n->plan.cursor + 1; i < n->plan.steps.n; i++)
		if (PHX_LIST_AT(&n->plan.steps, struct phx_step, i)->kind == PHX_STEP_wipe)
			return true;
	return false;
}

static void wipe_effects(struct phx_node *n, const struct phx_step *step)
{
	/* again: a registration that was repeated after the wipe was ordered may have set them */
	n->system_image[0] = n->system_digest[0] = '\0';
	if (!strcmp(n->system_disk, step->disk)) {
		n->system_disk[0] = '\0';
		n->disk_key_id[0] = '\0';
	}
	if (wipes_left(n))
		return;
	/* a node that restarts during the wipe no longer knows to which disk the key belonged */
	n->disk_key_id[0] = '\0';
	n->dirty = n->mixed = n->owes_wipe = n->owes_data = n->plain = false;
	n->key_unread = false;
	n->tenant[0] = n->tenant_pool[0] = '\0';
}

static void image_effects(struct phx_apply *a, struct phx_node *n, const struct phx_step *step)
{
	struct phx_role store;
	const struct phx_role *role = phx_step_role(a->s, n, step, &store);
	if (!role)
		return;
	PHX_STR_SET(n->system_image, role->image);
	PHX_STR_SET(n->system_digest, role->image_digest);
	PHX_STR_SET(n->system_version, role->image_version);
	PHX_STR_SET(n->system_kernel, role->image_kernel);
	PHX_STR_SET(n->system_disk, step->disk);
	if (step->kind == PHX_STEP_ram)
		return; /* the data on the disks stays, with its key */
	PHX_STR_SET(n->disk_key_id, step->key_id);
	n->key_unread = false; /* the disk of the destroyed key is overwritten */
}

/* Counts the agent's step on the role at once, so that balancers need not wait for its next beat,
 * which reports the same. */
static void role_effects(struct phx_apply *a, struct phx_node *n, const struct phx_step *step)
{
	struct phx_role store;
	const struct phx_role *role = phx_step_role(a->s, n, step, &store);
	n->healthy = step->kind == PHX_STEP_health;
	if (step->kind == PHX_STEP_health && role) {
		PHX_STR_SET(n->actual_role, role->name);
		phx_role_identity(role, n->actual_identity, sizeof(n->actual_identity));
	}
	if (step->kind == PHX_STEP_leave)
		n->actual_role[0] = n->actual_identity[0] = '\0';
}

static void done_effects(struct phx_apply *a, struct phx_node *n, const struct phx_step *step)
{
	if (step->kind == PHX_STEP_wipe)
		wipe_effects(n, step);
	else if (step->kind == PHX_STEP_image || step->kind == PHX_STEP_ram)
		image_effects(a, n, step);
	else if (step->kind == PHX_STEP_stop || step->kind == PHX_STEP_leave ||
		 step->kind == PHX_STEP_health)
		role_effects(a, n, step);
	else if (step->kind == PHX_STEP_layout)
		phx_layout_done(a, n);
	else if (step->kind == PHX_STEP_boot)
		n->by_kexec = false;
	else if (step->kind == PHX_STEP_scratch)
		n->owes_data = false; /* the owner's other data is still there */
	else if (step->kind == PHX_STEP_destroy_key)
		n->key_unread = true;
	else if (step->kind == PHX_STEP_make_key)
		/* from now on the key must be destroyed, whatever happens */
		PHX_STR_SET(n->disk_key_id, step->key_id);
}

static void finish_plan(struct phx_apply *a, struct phx_node *n)
{
	struct phx_plan *p = &n->plan;
	bool checked = p->request == PHX_REQUEST_check;
	bool rests = (checked || p->request == PHX_REQUEST_reboot) &&
		p->from_state == PHX_NODE_MAINTENANCE;
	phx_away_settle(a->s, n);
	if (p->request == PHX_REQUEST_drain || rests) {
		phx_node_must_become(a, n, PHX_NODE_MAINTENANCE);
		if (checked)
			PHX_STR_SET(n->reason, "it passed its check");
		phx_away_end(a, n);
		phx_line_done(a, n);
		return;
	}
	if (p->to_role[0]) {
		phx_node_must_become(a, n, PHX_NODE_ACTIVE);
		PHX_STR_SET(n->pool, p->to_pool);
		PHX_STR_SET(n->role, p->to_role);
	} else {
		phx_node_must_become(a, n, PHX_NODE_READY);
		PHX_STR_SET(n->pool, PHX_POOL_FREE);
		n->role[0] = '\0';
	}
	struct phx_err why = {0};
	if (p->request == PHX_REQUEST_resume && phx_facts_unsound(a, n, &why)) {
		phx_quarantine(a, n, why.text);
		return;
	}
	n->reason[0] = '\0';
	if (n->key_unread) {
		/* the node does not know of this: do not count on the jobs that it ran */
		PHX_STR_SET(n->reason, "key destroyed, unread");
		phx_jobs_leave(a, n, n->reason);
	}
	phx_note(a, n, "%s is %s in pool %s%s%s after %lld ms", n->name,
		 phx_enum_name(&phx_node_state_names, n->state), n->pool, n->role[0] ? " as " : "",
		 n->role, (long long)(a->s->now_ms - p->started_ms));
	phx_update_gone_back(a, n);
	phx_away_end(a, n);
	phx_line_done(a, n);
	if (!p->to_role[0])
		phx_work_add(a, PHX_WORK_NODE_READY, n);
}

/* ---- repair ---- */

/* Must the machine be started first? So it is if it goes to another owner and has not proven a
 * start: what claims to be the deploy environment may be the former owner's. */
static bool needs_start(const struct phx_node *n, const struct phx_step *step)
{
	bool again = step->kind == PHX_STEP_enter && step->attempt;
	return n->plan.apart && !n->fresh && n->env == PHX_ENV_DEPLOY && !again &&
		info_of(step)->needs == PHX_NEEDS_DEPLOY;
}

/* The step that brings the node to where the current step needs it; COUNT_: there is none. `other`:
 * its kernel is not the one. */
static enum phx_step_kind repair_kind(const struct phx_node *n, const struct phx_step *step,
				      bool other)
{
	enum phx_step_needs needs = info_of(step)->needs;
	if (!n->up || n->env == PHX_ENV_NONE || needs_start(n, step))
		return phx_node_has_bmc(n) ? PHX_STEP_boot : PHX_STEP_COUNT_;
	if (other)
		return PHX_STEP_kernel;
	if (n->env == PHX_ENV_DEPLOY && phx_ram_system_lost(n))
		return PHX_STEP_ram;
	if (needs == PHX_NEEDS_DEPLOY)
		return PHX_STEP_kexec;
	return n->system_digest[0] ? PHX_STEP_enter : PHX_STEP_COUNT_;
}

static bool node_fits(const struct phx_node *n, enum phx_step_needs needs)
{
	switch (needs) {
	case PHX_NEEDS_NOWHERE:
		return true;
	case PHX_NEEDS_OS:
		return n->up && n->env == PHX_ENV_OS;
	case PHX_NEEDS_DEPLOY:
		return n->up && n->env == PHX_ENV_DEPLOY;
	}
	return false;
}

/* The plan cannot go on. A node that was only checked, or to start anew, keeps what it has. */
static void fail_plan(struct phx_apply *a, struct phx_node *n, const char *why)
{
	bool checked = n->plan.request == PHX_REQUEST_check;
	if (n->plan.request != PHX_REQUEST_reboot && !checked) {
		phx_quarantine(a, n, why);
		return;
	}
	phx_handover_abort(a, n, why);
	(checked ? phx_check_failed : phx_reboot_given_up)(a, n, why);
}

/* No order of ours can bring the node back: gives it time to come by itself. */
static void wait_for_node(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	if (!n->up)
		phx_start_await(a, n);
	if (step->deadline_ms > a->s->now_ms)
		return;
	a->out->changed = true;
	if (n->plan.repairs++ >= a->s->settings.repairs_max ||
	    (n->up && n->env == PHX_ENV_DEPLOY)) {
		fail_plan(a, n,
			  needs_start(n, step)
				  ? "it goes to another owner, and does not show the token of a "
				    "start: switch it off and on by hand, and resume it"
				  : n->up
				  ? "there is no system on it to enter"
				  : "it went silent in the middle of a hand-over and has no BMC");
		return;
	}
	step->deadline_ms = a->s->now_ms + WAIT_MS;
}

/* True when a repair step was put in front of the current one. */
static bool repair(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	enum phx_step_kind kind = repair_kind(n, step, phx_kernel_other(a->s, n, step));
	if (kind == PHX_STEP_COUNT_) {
		wait_for_node(a, n, step);
		return false;
	}
	if (n->plan.repairs >= a->s->settings.repairs_max) {
		char why[200];
		snprintf(why, sizeof(why), "step %s: the node had to be brought back %u times",
			 info_of(step)->name, n->plan.repairs);
		fail_plan(a, n, why);
		return false;
	}
	n->plan.repairs++;
	return phx_steps_insert(a, n, n->plan.cursor, kind) != NULL;
}

void phx_step_renew(struct phx_apply *a, struct phx_step *step)
{
	uint64_t nonce = phx_draw(a, step->id);
	step->nonce = nonce ? nonce : step->nonce;
}

/* ---- issuing ---- */

static void issue_key(struct phx_apply *a, struct phx_node *n, const struct phx_step *step)
{
	struct phx_action *act = phx_act(
		a, step->kind == PHX_STEP_make_key ? PHX_ACT_KEY_MAKE : PHX_ACT_KEY_DESTROY, n);
	if (!act)
		return;
	act->step_id = step->id;
	PHX_STR_SET(act->key_id, step->key_id);
}

static void issue_power(struct phx_apply *a, struct phx_node *n, const struct phx_step *step)
{
	struct phx_action *act = phx_act_power(a, n, PHX_POWER_BOOT);
	if (act)
		act->step_id = step->id;
}

/* Is the step done as soon as it is issued? */
static bool done_at_once(const struct phx_apply *a, const struct phx_step *step)
{
	enum phx_step_executor by = info_of(step)->executor;
	return by == PHX_EXEC_CORE || (by == PHX_EXEC_DIRECTOR && !phx_director_there(a->s));
}

/* The step is not done after all: a check ends there, and another plan in quarantine. */
static bool refuse(struct phx_apply *a, struct phx_node *n, const struct phx_step *step,
		   const char *why)
{
	(phx_step_checks(step->kind, NULL) ? phx_handover_abort : phx_quarantine)(a, n, why);
	return false;
}

/* Issues the step; false: the plan is over instead. */
static bool issue(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	const struct phx_step_info *info = info_of(step);
	const struct phx_pool *pool = enters(a, n, step);
	char why[256];
	if (pool && phx_setup_owed(a->s, n, pool))
		return refuse(a, n, step,
			      "it holds data that has to be erased before its new owner has it");
	if (!phx_may_write(a, n, step, why, sizeof(why)) ||
	    !phx_layout_settle(a, n, step, why, sizeof(why)))
		return refuse(a, n, step, why);
	if (phx_step_checks(step->kind, NULL) && !n->checker)
		return refuse(a, n, step,
			      "its agent is of before there were checks: build the deploy image "
			      "anew");
	if (!step->nonce)
		phx_step_renew(a, step);
	if (step->kind == PHX_STEP_wipe && step->nonce && !n->echoes)
		return refuse(a, n, step,
			      "its agent is older than phxd, so its word on an erase is not taken: "
			      "build the deploy image anew, then resume it");
	begin_effects(a, n, step);
	step->status = PHX_STEP_ISSUED;
	step->started = step->turned_up = false;
	step->attempt++;
	step->issued_ms = a->s->now_ms;
	step->deadline_ms = phx_step_due_ms(a, n, step);
	switch (info->executor) {
	case PHX_EXEC_AGENT: {
		struct phx_action *act = phx_act(a, PHX_ACT_ORDER, n);
		if (act)
			act->step_id = step->id;
		break;
	}
	case PHX_EXEC_POWER:
		issue_power(a, n, step);
		break;
	case PHX_EXEC_KEY:
		issue_key(a, n, step);
		break;
	case PHX_EXEC_CORE:
	case PHX_EXEC_DIRECTOR:
		break;
	}
	return true;
}

/* Completes the current step: its effects, its time, and on to the next. */
static void complete(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	done_effects(a, n, step);
	step->status = PHX_STEP_DONE;
	step->ended_ms = a->s->now_ms;
	n->plan.cursor++;
	phx_step_over(a, n, step, false);
	a->out->changed = true;
}

/* Updates the plan's erases to the disks that the node reports now; false: the node was quarantined
 * instead. */
static bool settle_wipes(struct phx_apply *a, struct phx_node *n, uint32_t at)
{
	struct phx_err why = {0};
	int r = phx_wipes_settle(a, n, at, &why);
	if (r == 0 || phx_stick(a, r) == -ENOMEM)
		return r == 0;
	/* this counts as a failed cleaning even if no step of one has begun: the node is switched
	 * off */
	phx_node_must_become(a, n, PHX_NODE_CLEANING);
	phx_quarantine(a, n, why.text);
	return false;
}

void phx_handover_advance(struct phx_apply *a, struct phx_node *n)
{
	phx_touch(a->s, n);
	for (;;) {
		struct phx_step *step = phx_node_step(n);
		if (!step || step->status == PHX_STEP_ISSUED)
			return;
		if (step->attempt && step->deadline_ms > a->s->now_ms)
			return; /* backing off */
		if (phx_order_jobs_wait(a, n, step))
			return;
		bool ready = node_fits(n, info_of(step)->needs) &&
			!(step->kind == PHX_STEP_enter && phx_ram_system_lost(n)) &&
			!needs_start(n, step) && !phx_kernel_other(a->s, n, step);
		if (!ready) {
			if (!phx_take_back_gone(a, n, step) && !repair(a, n, step))
				return;
			continue;
		}
		if (step->kind == PHX_STEP_wipe) {
			if (!settle_wipes(a, n, n->plan.cursor))
				return;
			/* an erase may have been inserted, or dropped */
			step = phx_node_step(n);
			if (step->kind != PHX_STEP_wipe)
				continue;
		}
		/* a start between was in the right kernel already */
		bool runs = step->kind == PHX_STEP_kernel && phx_kernel_fits(a->s, n);
		if (!runs && (!issue(a, n, step) || !done_at_once(a, step)))
			return;
		complete(a, n, step);
		if (!phx_node_step(n)) {
			finish_plan(a, n);
			return;
		}
	}
}

void phx_handover_done(struct phx_apply *a, struct phx_node *n)
{
	struct phx_step *step = phx_node_step(n);
	phx_note(a, n, "%s: step %s done after %lld ms%s%.150s", n->name, info_of(step)->name,
		 (long long)(a->s->now_ms - step->issued_ms), a->ev->text[0] ? ": " : "",
		 a->ev->text);
	step->status = PHX_STEP_DONE;
	if (step->kind == PHX_STEP_wipe && !settle_wipes(a, n, n->plan.cursor + 1))
		return;
	step = phx_node_step(n);
	if (step->kind == PHX_STEP_wipe && !wipes_left(n))
		phx_attest(a, n);
	complete(a, n, step);
	if (phx_node_step(n))
		phx_handover_advance(a, n);
	else
		finish_plan(a, n);
}

int phx_handover_begin(struct phx_apply *a, struct phx_node *n, struct phx_plan *plan,
		       enum phx_request request)
{
	phx_touch(a->s, n);
	phx_record_fini(&phx_plan_record, &n->plan);
	n->plan = *plan;
	*plan = (struct phx_plan){0};
	n->plan.epoch = n->epoch = phx_next_epoch(a->s, n);
	if (!n->plan.steps.n)
		a->s->last_step_id++; /* epochs never run ahead of step ids: see new_node() */
	n->plan.started_ms = a->s->now_ms;
	n->plan.from_state = n->state;
	n->plan.request = (int)request;
	n->plan.attests = n->plan.looks && a->s->settings.attests;
	n->plan.measures = n->plan.looks && a->s->settings.measures;
	phx_update_prepare(a, n);
	PHX_LIST_EACH(struct phx_step, s, &n->plan.steps) {
		s->id = ++a->s->last_step_id;
		s->deadline_ms = a->s->now_ms + WAIT_MS;
		phx_key_name(n, s);
	}
	n->reason[0] = '\0';
	phx_list_fini(&n->unfit_for); /* it may fit after the hand-over */
	n->off_wanted = n->unserved = false;
	phx_soft_over(a, n);
	a->out->changed = true;
	phx_engine_doubt(a, n);
	phx_order_jobs_begin(a, n);
	if (phx_node_step(n))
		phx_handover_advance(a, n);
	else
		finish_plan(a, n);
	return 0;
}

/* ---- failure ---- */

void phx_handover_abort(struct phx_apply *a, struct phx_node *n, const char *why)
{
	phx_note(a, n, "%s keeps what it had: %s", n->name, why);
	snprintf(n->reason, sizeof(n->reason), "hand-over given up: %.200s", why);
	phx_key_doom_unsure(a, n);
	drop_plan(n);
	if (phx_node_state_transient((enum phx_node_state)n->state))
		/* a repair had changed its state */
		phx_node_must_become(a, n, (enum phx_node_state)n->plan.from_state);
	a->out->changed = true;
}

static void give_up(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	char why[300];
	bool goes_on = false, died = a->ev->kind != PHX_EV_step_result;
	snprintf(why, sizeof(why), "step %s failed %u times: %.200s", info_of(step)->name,
		 step->attempt, step->error);
	switch (info_of(step)->on_fail) {
	case PHX_ON_FAIL_ABORT:
		phx_handover_abort(a, n, why);
		/* a program that is missing says nothing of the machine */
		if (died && phx_step_checks(step->kind, NULL))
			phx_check_failed(a, n, why);
		return;
	case PHX_ON_FAIL_FALLBACK:
		if ((goes_on = phx_node_has_bmc(n))) {
			phx_note(a, n, "%s: %s; power cycle instead", n->name, why);
			phx_step_cut(a, step);
		}
		break;
	case PHX_ON_FAIL_QUARANTINE:
		goes_on = phx_update_go_back(a, n, step, why);
		break;
	case PHX_ON_FAIL_ERASE:
		goes_on = phx_erase_instead(a, n, step, why);
		break;
	case PHX_ON_FAIL_CUT:
		goes_on = phx_take_back(a, n, step, why);
		break;
	}
	if (goes_on)
		phx_handover_advance(a, n);
	else
		fail_plan(a, n, why);
}

void phx_handover_failed(struct phx_apply *a, struct phx_node *n, const char *why)
{
	struct phx_step *step = phx_node_step(n);
	snprintf(step->error, sizeof(step->error), "%s", why);
	phx_step_over(a, n, step, true);
	a->out->changed = true;
	phx_note(a, n, "%s: step %s, attempt %u: %.180s", n->name, info_of(step)->name,
		 step->attempt, why);
	if (step->attempt >= info_of(step)->attempts + step->silences) {
		give_up(a, n, step);
		return;
	}
	step->status = PHX_STEP_PENDING;
	phx_step_renew(a, step);
	step->deadline_ms = a->s->now_ms + (int64_t)BACKOFF_MS * step->attempt;
}
