/* The attestation of a hand-over: once its last erase counts, leaves an action with what the head
 * knows of all its erases, from which lib/journal makes the document. Called by handover.c;
 * result.c asks for the owners of an erase, too. Pure. */
#include "node/internal.h"

/* The step by which the machine left its former system before the first erase; NULL: it was in the
 * deploy environment already. */
static const struct phx_step *last_reset(const struct phx_node *n)
{
	const struct phx_step *last = NULL;
	PHX_LIST_EACH(struct phx_step, s, &n->plan.steps) {
		if (s->kind == PHX_STEP_wipe)
			break;
		if (s->status == PHX_STEP_DONE &&
		    (s->kind == PHX_STEP_kexec || s->kind == PHX_STEP_boot))
			last = s;
	}
	return last;
}

bool phx_was_power_cycled(const struct phx_node *n)
{
	const struct phx_step *reset = last_reset(n);
	return reset && reset->kind == PHX_STEP_boot;
}

static const char *reset_word(const struct phx_step *reset)
{
	return !reset ? "none" : reset->kind == PHX_STEP_kexec ? "kexec" : "power-cycle";
}

void phx_erase_owners(const struct phx_apply *a, const struct phx_node *n, struct phx_action *act)
{
	const struct phx_pool *to = phx_state_pool(a->s, n->plan.to_pool);
	if (!a->s->settings.looks)
		return; /* older journals do not record owners */
	PHX_STR_SET(act->from_owner, n->tenant);
	PHX_STR_SET(act->to_owner, to ? to->owner : "");
}

/* Sets the range of ids of the erases that are done: steps that were inserted later have greater
 * ids, wherever they stand. */
static void set_range(const struct phx_node *n, struct phx_action *act)
{
	PHX_LIST_EACH(struct phx_step, s, &n->plan.steps) {
		if (s->kind != PHX_STEP_wipe || s->status != PHX_STEP_DONE)
			continue;
		if (!act->first_id || s->id < act->first_id)
			act->first_id = s->id;
		act->step_id = s->id > act->step_id ? s->id : act->step_id;
	}
}

void phx_attest(struct phx_apply *a, const struct phx_node *n)
{
	struct phx_action *act = n->plan.attests ? phx_act(a, PHX_ACT_ATTEST, n) : NULL;
	const struct phx_step *reset = last_reset(n);
	if (!act)
		return;
	set_range(n, act);
	phx_erase_owners(a, n, act);
	PHX_STR_SET(act->ordered_by, n->plan.by);
	PHX_STR_SET(act->reset, reset_word(reset));
	if (n->tpms.n && PHX_LIST_AT(&n->tpms, struct phx_node_tpm, 0)->epoch == n->plan.epoch)
		PHX_STR_SET(act->tpm, PHX_LIST_AT(&n->tpms, struct phx_node_tpm, 0)->key);
	act->reset_ms = reset ? reset->ended_ms : 0;
}
