/* The lines between agents and head, and results on their way. What counts of a line is whether it
 * is there (`linked`), and when that changes, that the head notices the silence or hears the next
 * beat. Called by machines, agents and the head; says nothing to any of them. */
#include "fault/parts.h"

bool phx_fault_path(const struct fault_sim *f, const struct fault_machine *m)
{
	return f->head.up && f->now >= m->cut_until && phx_fault_env(m) != PHX_ENV_NONE;
}

void phx_fault_link(struct fault_sim *f, struct fault_machine *m)
{
	bool linked = m->registered && phx_fault_path(f, m);
	if (linked == m->linked)
		return;
	m->linked = linked;
	m->link_gen++;
	m->heard_ms = f->now;
	m->n_unheard++;
	if (!linked && m->keeper.up)
		phx_fault_later(f, FAULT_TIMEOUT_LOOK_MS, WHAT_HEARTBEAT_TIMEOUT, m->i,
				m->n_unheard, 0);
	if (linked)
		phx_fault_later(f, phx_fault_between(f, 1, FAULT_BEAT_MS), WHAT_BEAT, m->i,
				m->link_gen, 0);
	else if (f->head.up)
		phx_fault_later(f, phx_fault_between(f, SILENT_MS - FAULT_BEAT_MS, SILENT_MS),
				WHAT_SILENCE, m->i, m->link_gen, 0);
}

void phx_fault_cut(struct fault_sim *f, struct fault_machine *m, int64_t for_ms)
{
	if (f->now + for_ms <= m->cut_until)
		return;
	m->cut_until = f->now + for_ms;
	phx_fault_link(f, m);
	phx_fault_later(f, for_ms, WHAT_HEAL, m->i, 0, 0);
}

void phx_fault_tells(struct fault_sim *f, struct fault_machine *m)
{
	if (m->linked)
		phx_fault_later(f, phx_fault_between(f, 1, FAULT_BEAT_MS), WHAT_BEAT, m->i,
				m->link_gen, 0);
}

/* ---- results ---- */

static struct fault_message *new_message(struct fault_sim *f, const struct fault_machine *m,
					 uint64_t *ret_slot)
{
	uint32_t i = 0;
	while (i < f->messages.n && PHX_LIST_AT(&f->messages, struct fault_message, i)->used)
		i++;
	struct fault_message *msg = i < f->messages.n
		? PHX_LIST_AT(&f->messages, struct fault_message, i)
		: phx_list_push(&f->messages, sizeof(*msg));
	*ret_slot = i;
	if (msg)
		*msg = (struct fault_message){.used = true, .gen = m->gen, .m = m->i};
	return msg;
}

void phx_fault_send_in(struct fault_sim *f, const struct fault_message *msg, uint64_t slot,
		       int64_t in_ms)
{
	phx_fault_later(f, in_ms, WHAT_MESSAGE, msg->m, 0, slot);
}

void phx_fault_send_result(struct fault_sim *f, struct fault_machine *m, const struct fault_done *d)
{
	uint64_t slot;
	struct fault_message *msg = new_message(f, m, &slot);
	if (!msg)
		return;
	msg->id = d->id;
	msg->epoch = d->task.epoch;
	msg->result = d->result;
	msg->done = *d;
	phx_fault_send_in(f, msg, slot, phx_fault_between(f, 1, 100));
}

bool phx_fault_tells_result(const struct fault_sim *f, const struct fault_machine *m, uint64_t id)
{
	PHX_LIST_EACH(struct fault_message, msg, &f->messages)
		if (msg->used && !msg->stray && !msg->job && msg->m == m->i && msg->gen == m->gen &&
		    msg->id == id)
			return true;
	return false;
}

void phx_fault_send_job(struct fault_sim *f, struct fault_machine *m, uint64_t job, int64_t status)
{
	uint64_t slot;
	struct fault_message *msg = new_message(f, m, &slot);
	if (!msg)
		return;
	msg->job = true;
	msg->id = job;
	msg->result = status;
	phx_fault_send_in(f, msg, slot, phx_fault_between(f, 1, 100));
}

/* Copies of what was answered, or of what will be said again: the network gives them out when it
 * likes. */
void phx_fault_copy_by_chance(struct fault_sim *f, const struct fault_message *msg)
{
	uint64_t slot;
	bool wanted = f->now < f->m[msg->m].seen.stale_at;
	if (f->calm || (!wanted && !phx_fault_chance(f, 10)))
		return;
	struct fault_message mine = *msg;
	struct fault_message *copy = new_message(f, &f->m[msg->m], &slot);
	if (!copy)
		return;
	*copy = mine;
	copy->stray = true;
	phx_fault_send_in(f, copy, slot, phx_fault_between(f, 10, 20 * MINUTE));
}
