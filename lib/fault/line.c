/* The lines between agents and head, and results on their way. What counts of a line is whether it
 * is there (`linked`), and when that changes, that the head notices the silence or hears the next
 * beat. Called by machines, agents and the head; says nothing to any of them. */
#include "fault/parts.h"

#include <stdlib.h>

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

enum { SEND_MS = 100 };

void phx_fault_begin_sending(struct fault_sim *f, struct fault_machine *m)
{
	if (result_queue_begin(&m->results))
		phx_fault_later(f, phx_fault_between(f, 1, SEND_MS), WHAT_SEND, m->i, m->gen, 0);
}

static void free_message(struct fault_message *msg)
{
	phx_list_fini(&msg->rows);
	free(msg);
}

/* Takes the rows of `msg`. */
static void put(struct fault_sim *f, struct fault_machine *m, struct fault_message *msg)
{
	struct fault_message *body = malloc(sizeof(*body));
	if (!body) {
		phx_list_fini(&msg->rows);
		return;
	}
	*body = *msg;
	if (result_queue_put(&m->results, msg->about, body) == 0)
		phx_fault_begin_sending(f, m);
	else
		free_message(body);
}

void phx_fault_send_result(struct fault_sim *f, struct fault_machine *m, const struct fault_done *d)
{
	struct fault_message msg = {.about = {.id = d->id}, .done = *d};
	put(f, m, &msg);
}

void phx_fault_send_job(struct fault_sim *f, struct fault_machine *m, struct job_run run,
			int64_t status)
{
	struct fault_message msg = {.about = {.is_job = true, .id = run.id, .run = run.run},
				    .status = status};
	put(f, m, &msg);
}

void phx_fault_refuse_job(struct fault_sim *f, struct fault_machine *m, struct job_run run)
{
	struct fault_message msg = {.about = {.is_job = true, .id = run.id, .run = run.run},
				    .status = JOB_STATUS_UNSTARTED,
				    .refused = true};
	put(f, m, &msg);
}

void phx_fault_send_rows(struct fault_sim *f, struct fault_machine *m, uint32_t start,
			 struct phx_list *rows)
{
	struct fault_message msg = {.about = {.is_tasks = true, .run = start}, .rows = *rows};
	*rows = (struct phx_list){0};
	put(f, m, &msg);
}

void phx_fault_drop_result(struct fault_machine *m)
{
	struct fault_message *msg = PHX_LIST_AT(&m->results.items, struct result_item, 0)->body;
	result_queue_drop(&m->results);
	free_message(msg);
}

void phx_fault_lose_results(struct fault_machine *m)
{
	while (m->results.items.n)
		phx_fault_drop_result(m);
	phx_list_fini(&m->results.items);
	result_queue_init(&m->results);
}

/* ---- copies ---- */

static struct fault_copy *new_copy(struct fault_sim *f, uint64_t *ret_slot)
{
	uint32_t i = 0;
	while (i < f->copies.n && PHX_LIST_AT(&f->copies, struct fault_copy, i)->used)
		i++;
	*ret_slot = i;
	return i < f->copies.n ? PHX_LIST_AT(&f->copies, struct fault_copy, i)
			       : phx_list_push(&f->copies, sizeof(struct fault_copy));
}

static void copy_rows(struct phx_list *to, const struct phx_list *from)
{
	*to = (struct phx_list){0};
	PHX_LIST_EACH(struct phx_task_result, row, from) {
		struct phx_task_result *r = phx_list_push(to, sizeof(*r));
		if (r)
			*r = *row;
	}
}

void phx_fault_copy_by_chance(struct fault_sim *f, const struct fault_machine *m,
			      const struct fault_message *msg)
{
	uint64_t slot;
	bool wanted = f->now < m->seen.stale_at;
	if (f->calm || (!wanted && !phx_fault_chance(f, msg->about.is_tasks ? 100 : 10)))
		return;
	struct fault_copy *c = new_copy(f, &slot);
	if (!c)
		return;
	*c = (struct fault_copy){true, m->i, *msg};
	copy_rows(&c->message.rows, &msg->rows);
	phx_fault_later(f, phx_fault_between(f, 10, 20 * MINUTE), WHAT_COPY, m->i, 0, slot);
}

void phx_fault_copy_fini(struct fault_copy *c)
{
	phx_list_fini(&c->message.rows);
	c->used = false;
}
