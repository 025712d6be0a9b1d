/* What the head's drivers come to: a BMC may be dead, busy, or say 'off' too early; a store of keys
 * may fail. Results come back to the head as events. Called by fault.c when time has come. */
#include "fault/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BMC_TIMEOUT_MS = 60 * SECOND };

/* ---- power ---- */

static void op_result(struct fault_sim *f, struct fault_machine *m, int result, const char *text)
{
	struct fault_op op = m->ops[0];
	struct phx_event ev = {
		.kind = PHX_EV_power_result,
		.answer = {
			.step_id = op.step_id, .epoch = op.epoch, .result = result, .op = op.op}};
	m->n_ops--;
	m->op_gen++;
	memmove(&m->ops[0], &m->ops[1], m->n_ops * sizeof(m->ops[0]));
	phx_fault_next_op(f, m);
	PHX_STR_SET(ev.node, m->node);
	snprintf(ev.text, sizeof(ev.text), "%s: %s", phx_enum_name(&phx_power_op_names, op.op),
		 text);
	bool lies = f->now < m->early_off_until && op.op == PHX_POWER_OFF;
	if (result == 0)
		ev.answer.power = phx_fault_on(m) && !lies ? PHX_POWER_IS_ON : PHX_POWER_IS_OFF;
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
	bool off_first = op->op == PHX_POWER_BOOT || op->op == PHX_POWER_CYCLE;
	if (op->op == PHX_POWER_OFF || (off_first && op->stage == 0))
		tell_off(f, m);
	else if (op->op == PHX_POWER_ON || off_first)
		phx_fault_power_on(f, m);
	else if (op->op == PHX_POWER_RESET && phx_fault_on(m))
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
		phx_fault_later(f, phx_fault_between(f, 500, FAULT_BMC_STAGE_MS), WHAT_POWER, m->i,
				m->op_gen, 0);
	else
		op_result(f, m, 0, "done");
}

/* ---- disk keys ---- */

static void change_key(struct fault_sim *f, const struct fault_key_op *op)
{
	struct fault_key *k = phx_fault_find_key(f, op->act.key_id);
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
	struct phx_event ev = {.kind = PHX_EV_key_result,
			       .answer = {.step_id = op.act.step_id, .epoch = op.act.epoch}};
	PHX_LIST_AT(&f->head.key_ops, struct fault_key_op, slot)->used = false;
	if (!f->calm && phx_fault_chance(f, 10)) {
		struct fault_machine *m = phx_fault_machine(f, op.act.node);
		ev.answer.result = -EIO;
		PHX_STR_SET(ev.text, "the key store has an error");
		if (m)
			phx_fault_cause(f, m);
	} else {
		change_key(f, &op);
	}
	PHX_STR_SET(ev.node, op.act.node);
	PHX_STR_SET(ev.answer.name, op.act.key_id);
	phx_fault_submit(f, &ev, NULL);
}
