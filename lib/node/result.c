/* Answers of agents, BMCs and the key store to the steps of a plan: does the step still wait, is
 * the answer believed, and the record of an erase. Called by core/apply.c; never talks to any of
 * them. Pure. */
#include "node/check.h"
#include "node/internal.h"
#include "node/wipes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_current(const struct phx_event_answer *p, const struct phx_node *n,
		       const struct phx_step *step)
{
	return step && step->id == p->step_id && n->plan.epoch == p->epoch;
}

/* Refuses answers to past orders: another epoch, another step, or a step that is done (faults.md
 * 33). */
static int need_current(struct phx_apply *a, const struct phx_event_answer *p,
			struct phx_node **ret_node, struct phx_step **ret)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	struct phx_step *step = phx_node_step(n);
	if (!is_current(p, n, step))
		return phx_err_set(a->err, -ESTALE, "%s: step %llu of epoch %llu is of the past",
				   n->name, (unsigned long long)p->step_id,
				   (unsigned long long)p->epoch);
	*ret_node = n;
	*ret = step;
	return 0;
}

/* Why the result of a wipe does not count; NULL: it counts (faults.md 25, 29). */
static const char *wipe_fault(const struct phx_event_answer *p, const struct phx_node *n,
			      const struct phx_step *step)
{
	if (strcmp(p->erased_disk, step->disk))
		return "the agent erased another disk than the one ordered";
	if (step->nonce && !p->nonce)
		return "the answer does not carry the number of this attempt: an older agent, or "
		       "none of ours";
	if (p->setup.method != step->method)
		return "the agent used another method than the one ordered";
	if (!p->verified_bytes)
		return "the erase was not read back";
	return phx_wipes_fault(n, step, p);
}

/* Records an erase without a read-back: the node is not up, and only its key was destroyed. */
static void record_unread(struct phx_apply *a, const struct phx_node *n,
			  const struct phx_step *step)
{
	struct phx_action *act = phx_act(a, PHX_ACT_ERASED, n);
	if (!act)
		return;
	act->step_id = step->id;
	act->method = PHX_WIPE_CRYPTO;
	PHX_STR_SET(act->disk, step->disk);
	PHX_STR_SET(act->key_id, step->key_id);
	PHX_STR_SET(act->text, "key destroyed, unread");
	phx_erase_owners(a, n, act);
}

static void record_erase(struct phx_apply *a, const struct phx_event_answer *p, struct phx_node *n,
			 const struct phx_step *step)
{
	struct phx_action *act = phx_act(a, PHX_ACT_ERASED, n);
	if (!act)
		return;
	act->step_id = step->id;
	act->method = step->method;
	act->size_bytes = p->erased_bytes;
	act->verified_bytes = p->verified_bytes;
	act->verify = n->plan.measures ? step->verify : PHX_VERIFY_SAMPLE;
	act->nonce = p->nonce;
	PHX_MEMBERS_COPY(PHX_ERASED_FIELDS, act, p);
	PHX_STR_SET(act->disk, step->disk);
	PHX_STR_SET(act->key_id, step->key_id);
	PHX_STR_SET(act->text, a->ev->text);
	phx_erase_owners(a, n, act);
}

/* A node that answers is up even if its beats were missed: it need not be brought back (faults.md
 * 22). */
static void heard(struct phx_apply *a, struct phx_node *n)
{
	a->out->changed = a->out->changed || !n->up || n->quiet;
	n->up = true;
	phx_quiet_over(n);
	phx_fence_over(a, n);
	n->missing_since_ms = 0;
	phx_jobs_heard(a, n);
}

/* A check ends at the first part that does not pass. */
static void part_failed(struct phx_apply *a, struct phx_node *n, const struct phx_step *step,
			const struct phx_check *said)
{
	char why[200];
	snprintf(why, sizeof(why), "%s%s%.60s: %.100s",
		 phx_enum_name(&phx_check_part_names, said->part), step->disk[0] ? " " : "",
		 step->disk, said->text[0] ? said->text : "errors");
	phx_handover_abort(a, n, why);
	phx_check_failed(a, n, why);
}

int phx_apply_step_result(struct phx_apply *a, const struct phx_event_answer *p)
{
	struct phx_node *n;
	struct phx_step *step;
	int r = need_current(a, p, &n, &step);
	if (r < 0)
		return r;
	if (info_of(step)->executor != PHX_EXEC_AGENT)
		return phx_err_set(a->err, -EINVAL, "%s: step %s is not the agent's", n->name,
				   info_of(step)->name);
	if (!step->attempt)
		return phx_err_set(a->err, -ESTALE, "%s: step %s has not been ordered yet", n->name,
				   info_of(step)->name);
	if (p->result < 0 && p->attempt && p->attempt != step->attempt)
		return phx_err_set(a->err, -ESTALE, "%s: step %s is in attempt %u, not %u", n->name,
				   info_of(step)->name, step->attempt, p->attempt);
	if (step->kind == PHX_STEP_wipe && p->nonce && p->nonce != step->nonce)
		return phx_err_set(a->err, -ESTALE,
				   "%s: the answer is to another attempt of step %s than the one "
				   "under way",
				   n->name, info_of(step)->name);
	heard(a, n);
	bool checks = phx_step_checks(step->kind, NULL);
	const char *fault = p->result < 0      ? NULL
		: checks                       ? phx_check_fault(step, p)
		: step->kind == PHX_STEP_wipe  ? wipe_fault(p, n, step)
		: step->kind == PHX_STEP_rekey ? phx_rekey_fault(n, step)
					       : NULL;
	if (p->result < 0 || fault) {
		phx_handover_failed(a, n, fault ? fault : a->ev->text);
		return 0;
	}
	/* these steps end when the node registers from its new environment */
	if (phx_step_leaves(step->kind))
		return 0;
	a->out->changed = true;
	if (step->kind == PHX_STEP_wipe) {
		record_erase(a, p, n, step);
		phx_tpm_keep(a, p, n);
	}
	if (checks)
		phx_check_take(a, n, step, &p->check);
	if (checks && !p->check.passed)
		part_failed(a, n, step, &p->check);
	else
		phx_handover_done(a, n);
	return 0;
}

/* phxd says that the directors have confirmed: the step that waits for that is done. */
int phx_apply_balanced(struct phx_apply *a, const struct phx_event_answer *p)
{
	struct phx_node *n;
	struct phx_step *step;
	int r = need_current(a, p, &n, &step);
	if (r < 0)
		return r;
	if (info_of(step)->executor != PHX_EXEC_DIRECTOR)
		return phx_err_set(a->err, -EINVAL, "%s: step %s waits for no director", n->name,
				   info_of(step)->name);
	if (step->status != PHX_STEP_ISSUED)
		return phx_err_set(a->err, -ESTALE, "%s: step %s has not begun", n->name,
				   info_of(step)->name);
	phx_handover_done(a, n);
	return 0;
}

/* The machine was switched off and on: it counts as not up until it is heard. It may ask for a
 * certificate, again if a start before this one asked already. */
static void started(struct phx_apply *a, struct phx_node *n, struct phx_step *step)
{
	step->started = true;
	phx_start_done(a, n, step);
	phx_jobs_lost(a, n, 255);
	if (!n->up)
		return;
	n->up = false;
	n->missing_since_ms = a->s->now_ms;
}

/* A BMC has reported the node as off. It may be wrong if the node was heard lately: then the node's
 * job counts as running until the node is silent, too. */
static void seen_off(struct phx_apply *a, struct phx_node *n)
{
	if (n->off_wanted || !n->up)
		phx_jobs_lost(a, n, 255);
	else if (phx_of_before(a->s))
		phx_jobs_silent(a, n);
	else
		phx_jobs_seen_off(a, n);
	n->off_wanted = false;
	if (!n->up)
		return;
	n->up = false; /* seen off: do not wait for missed beats */
	n->missing_since_ms = a->s->now_ms;
}

int phx_apply_power_result(struct phx_apply *a, const struct phx_event_answer *p)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	struct phx_step *step = phx_node_step(n);
	if (p->power != PHX_POWER_UNKNOWN)
		n->power = p->power;
	if (p->power == PHX_POWER_IS_OFF)
		seen_off(a, n);
	a->out->changed = true;
	phx_soft_answer(a, n, p);
	if (!p->step_id && p->result < 0 && !n->soft_until_ms)
		phx_text_clear(&n->cut_by); /* the power was not switched */
	if (p->step_id) {
		/* for a past step only the seen power state counts */
		if (!is_current(p, n, step) || step->status != PHX_STEP_ISSUED)
			return 0;
		if (p->result < 0)
			phx_handover_failed(a, n, a->ev->text);
		else if (step->kind == PHX_STEP_boot)
			started(a, n, step);
		return 0;
	}
	if (!step || p->power != PHX_POWER_IS_OFF || info_of(step)->executor != PHX_EXEC_AGENT)
		return 0;
	/* the node is off in the middle of an agent's step: no answer will come */
	if (step->status == PHX_STEP_ISSUED && !n->up)
		phx_handover_failed(a, n, "the node is off");
	else if (step->status == PHX_STEP_PENDING && !n->up)
		step->deadline_ms = a->s->now_ms;
	phx_handover_advance(a, n);
	return 0;
}

int phx_apply_key_result(struct phx_apply *a, const struct phx_event_answer *p)
{
	struct phx_node *n;
	struct phx_step *step;
	if (!p->step_id)
		return phx_key_gone(a, p);
	int r = need_current(a, p, &n, &step);
	if (r < 0)
		return r;
	if (info_of(step)->executor != PHX_EXEC_KEY)
		return phx_err_set(a->err, -EINVAL, "%s: step %s has nothing to do with keys",
				   n->name, info_of(step)->name);
	if (p->result < 0) {
		phx_handover_failed(a, n, a->ev->text);
		return 0;
	}
	if (step->kind == PHX_STEP_destroy_key && !n->up)
		record_unread(a, n, step);
	phx_handover_done(a, n);
	return 0;
}
