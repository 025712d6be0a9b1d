/* What the head drives: BMCs, the store of disk keys, orders on their way to
 * agents. Results come back as events. A BMC may be dead, busy, or say 'off' too
 * early; an operation that the head's death interrupts stops where it is.
 * Called by head.c with actions, by fault.c when time has come. */
#include "fault/world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BMC_TIMEOUT_MS = 60 * SECOND, BMC_STAGE_MS = 2 * SECOND };

/* ---- power ---- */

static void next_op(struct fault_sim *f, struct fault_machine *m)
{
	if (m->n_ops)
		phx_fault_later(f, phx_fault_between(f, 300, BMC_STAGE_MS), WHAT_POWER, m->i,
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
	*op = (struct fault_op){.step_id = act->step_id, .epoch = act->epoch};
	phx_str_copy(op->op, sizeof(op->op), act->text);
	if (m->n_ops == 1)
		next_op(f, m);
}

static void op_result(struct fault_sim *f, struct fault_machine *m, int result, const char *text)
{
	struct fault_op op = m->ops[0];
	struct phx_event ev = {.kind = PHX_EV_power_result,
			       .step_id = op.step_id,
			       .epoch = op.epoch,
			       .result = result};
	m->n_ops--;
	m->op_gen++;
	memmove(&m->ops[0], &m->ops[1], m->n_ops * sizeof(m->ops[0]));
	next_op(f, m);
	PHX_STR_SET(ev.node, m->node);
	snprintf(ev.text, sizeof(ev.text), "%s: %s", op.op, text);
	bool lies = f->now < m->early_off_until && !strcmp(op.op, "off");
	if (result == 0)
		ev.power = phx_fault_on(m) && !lies ? PHX_POWER_KNOWN_ON : PHX_POWER_KNOWN_OFF;
	if (phx_fault_submit(f, &ev, NULL) == -EROFS && op.step_id)
		phx_fault_note(f, m->i, "the result of its BMC is lost");
}

static void tell_off(struct fault_sim *f, struct fault_machine *m)
{
	if (f->now < m->early_off_until) {
		phx_fault_later(f, phx_fault_between(f, 5 * SECOND, 30 * SECOND), WHAT_GOES_OFF,
				m->i, m->gen, 0);
		return;
	}
	phx_fault_power_off(f, m);
}

/* True when the operation has another stage. */
static bool do_stage(struct fault_sim *f, struct fault_machine *m, struct fault_op *op)
{
	bool off_first = !strcmp(op->op, "boot") || !strcmp(op->op, "cycle");
	if (!strcmp(op->op, "off") || (off_first && op->stage == 0))
		tell_off(f, m);
	else if (!strcmp(op->op, "on") || off_first)
		phx_fault_power_on(f, m);
	else if (!strcmp(op->op, "reset") && phx_fault_on(m))
		phx_fault_reset(f, m);
	return off_first && op->stage++ == 0;
}

void phx_fault_power(struct fault_sim *f, struct fault_machine *m, uint32_t gen)
{
	if (!f->head.up || gen != m->op_gen || !m->n_ops)
		return;
	struct fault_op *op = &m->ops[0];
	bool dead = f->now < m->bmc_dead_until, busy = f->now < m->bmc_busy_until;
	if ((dead || busy) && op->stage < 100) {
		op->stage = 100 + (dead ? 1 : 0); /* it is tried until its time is over */
		phx_fault_later(f, BMC_TIMEOUT_MS, WHAT_POWER, m->i, m->op_gen, 0);
		return;
	}
	if (op->stage >= 100) {
		op_result(f, m, op->stage == 101 ? -ETIMEDOUT : -EBUSY,
			  op->stage == 101 ? "the BMC does not answer" : "the BMC is busy");
		return;
	}
	if (do_stage(f, m, op))
		phx_fault_later(f, phx_fault_between(f, 500, BMC_STAGE_MS), WHAT_POWER, m->i,
				m->op_gen, 0);
	else
		op_result(f, m, 0, "done");
}

/* ---- disk keys ---- */

static struct fault_key *find_key(const struct fault_sim *f, const char *id)
{
	PHX_LIST_EACH(struct fault_key, k, &f->head.keys)
		if (!strcmp(k->id, id))
			return k;
	return NULL;
}

bool phx_fault_key_there(const struct fault_sim *f, const char *id)
{
	return find_key(f, id);
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

static void change_key(struct fault_sim *f, const struct fault_key_op *op)
{
	struct fault_key *k = find_key(f, op->act.key_id);
	if (op->make && !k) {
		k = phx_list_push(&f->head.keys, sizeof(*k));
		if (k)
			PHX_STR_SET(k->id, op->act.key_id);
	} else if (!op->make && k) {
		phx_list_remove(&f->head.keys, sizeof(*k),
				(uint32_t)(k - PHX_LIST_AT(&f->head.keys, struct fault_key, 0)));
	}
}

void phx_fault_key_done(struct fault_sim *f, uint64_t slot)
{
	struct fault_key_op op = *PHX_LIST_AT(&f->head.key_ops, struct fault_key_op, slot);
	struct phx_event ev = {
		.kind = PHX_EV_key_result, .step_id = op.act.step_id, .epoch = op.act.epoch};
	PHX_LIST_AT(&f->head.key_ops, struct fault_key_op, slot)->used = false;
	if (!f->calm && phx_fault_chance(f, 10)) {
		struct fault_machine *m = phx_fault_machine(f, op.act.node);
		ev.result = -EIO;
		PHX_STR_SET(ev.text, "the key store has an error");
		if (m)
			phx_fault_cause(f, m);
	} else {
		change_key(f, &op);
	}
	PHX_STR_SET(ev.node, op.act.node);
	PHX_STR_SET(ev.name, op.act.key_id);
	phx_fault_submit(f, &ev, NULL);
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

/* A signed record says that a disk was erased: then nothing can be read on it. */
static void check_record(struct fault_sim *f, const struct phx_action *act)
{
	struct fault_machine *m = phx_fault_machine(f, act->node);
	f->ret->erasures++;
	if (!m || !strcmp(act->text, "key destroyed, unread"))
		return;
	for (uint32_t i = 0; i < m->n_disks; i++) {
		struct fault_disk *d = &m->disks[i];
		if (strcmp(d->id, act->disk))
			continue;
		for (uint32_t k = 0; k < d->n_residues; k++)
			if (!d->residues[k].key_id[0] ||
			    phx_fault_key_there(f, d->residues[k].key_id))
				phx_fault_violated(
					f, "record",
					"%s: a signed record says that %s is erased, and data of "
					"pool %s is on it",
					m->node, d->id, phx_fault_pool_names[d->residues[k].pool]);
	}
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
