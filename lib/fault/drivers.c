/* What the head has done: BMCs, the store of disk keys and orders on their way to agents take its
 * actions here, and driver_results.c says what comes of them. An operation that the head's death
 * interrupts stops where it is. Called by head.c. */
#include "fault/parts.h"

#include <string.h>

/* ---- power ---- */

void phx_fault_next_op(struct fault_sim *f, struct fault_machine *m)
{
	if (m->n_ops)
		phx_fault_later(f, phx_fault_between(f, 300, FAULT_BMC_STAGE_MS), WHAT_POWER, m->i,
				m->op_gen, 0);
}

static void start_power(struct fault_sim *f, const struct phx_action *act)
{
	struct fault_machine *m = phx_fault_machine(f, act->node);
	if (!m || !m->bmc || m->n_ops >= FAULT_POWER)
		return;
	for (uint32_t i = 0; act->step_id && i < m->n_ops; i++)
		if (m->ops[i].step_id == act->step_id)
			return;
	struct fault_op *op = &m->ops[m->n_ops++];
	*op = (struct fault_op){.step_id = act->step_id, .epoch = act->epoch, .op = act->op};
	if (m->n_ops == 1)
		phx_fault_next_op(f, m);
}

/* ---- disk keys ---- */

struct fault_key *phx_fault_find_key(const struct fault_sim *f, const char *id)
{
	PHX_LIST_EACH(struct fault_key, k, &f->head.keys)
		if (!strcmp(k->id, id))
			return k;
	return NULL;
}

static void start_key(struct fault_sim *f, const struct phx_action *act)
{
	struct phx_list *l = &f->head.key_ops;
	uint32_t i = 0;
	while (i < l->n && PHX_LIST_AT(l, struct fault_key_op, i)->used)
		i++;
	struct fault_key_op *op =
		i < l->n ? PHX_LIST_AT(l, struct fault_key_op, i) : phx_list_push(l, sizeof(*op));
	if (!op)
		return;
	*op = (struct fault_key_op){
		.used = true, .make = act->kind == PHX_ACT_KEY_MAKE, .act = *act};
	phx_fault_later(f, phx_fault_between(f, 1, 200), WHAT_KEY, 0, f->head.starts, i);
}

/* ---- actions ---- */

static void order(struct fault_sim *f, const char *node)
{
	struct fault_machine *m = phx_fault_machine(f, node);
	if (!m || !m->linked)
		return; /* its next beat brings them */
	/* an answer that is lost is looked for again after a while */
	int64_t in_ms =
		!f->calm && phx_fault_chance(f, 30) ? 5 * SECOND : phx_fault_between(f, 1, 50);
	phx_fault_later(f, in_ms, WHAT_ORDERS, m->i, m->gen, 0);
}

static void check_erased(struct fault_sim *f, const struct fault_machine *m,
			 const struct fault_disk *d, const char *what)
{
	for (uint32_t k = 0; k < d->n_residues; k++)
		if (!d->residues[k].key_id[0] || phx_fault_find_key(f, d->residues[k].key_id))
			phx_fault_violated(
				f, "record",
				"%s: a signed %s says that %s is erased, and data of pool %s is "
				"on it",
				m->node, what, d->id, phx_fault_pool_names[d->residues[k].pool]);
}

/* A signed record says that a disk was erased: then nothing can be read on it. */
static void check_record(struct fault_sim *f, const struct phx_action *act)
{
	struct fault_machine *m = phx_fault_machine(f, act->node);
	f->ret->erasures++;
	if (!m || !strcmp(act->text, "key destroyed, unread"))
		return;
	for (uint32_t i = 0; i < m->n_disks; i++)
		if (!strcmp(m->disks[i].id, act->disk))
			check_erased(f, m, &m->disks[i], "record");
}

/* An attestation says so of every disk of the machine. */
static void check_attestation(struct fault_sim *f, const struct phx_action *act)
{
	struct fault_machine *m = phx_fault_machine(f, act->node);
	for (uint32_t i = 0; m && i < m->n_disks; i++)
		check_erased(f, m, &m->disks[i], "attestation");
}

void phx_fault_act(struct fault_sim *f, const struct phx_action *act)
{
	switch ((enum phx_action_kind)act->kind) {
	case PHX_ACT_ORDER:
		order(f, act->node);
		return;
	case PHX_ACT_POWER:
		start_power(f, act);
		return;
	case PHX_ACT_KEY_MAKE:
	case PHX_ACT_KEY_DESTROY:
		start_key(f, act);
		return;
	case PHX_ACT_ERASED:
		check_record(f, act);
		return;
	case PHX_ACT_ATTEST:
		check_attestation(f, act);
		return;
	case PHX_ACT_NOTE:
		phx_fault_note(f, -1, "  %s", act->text);
		return;
	case PHX_ACT_DHCP:
		return;
	}
}

void phx_fault_drivers_drop(struct fault_sim *f)
{
	PHX_LIST_EACH(struct fault_key_op, op, &f->head.key_ops)
		op->used = false;
	for (uint32_t i = 0; i < f->n; i++) {
		f->m[i].n_ops = 0;
		f->m[i].op_gen++;
	}
}
