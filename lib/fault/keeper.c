/* Keepers of tasks on machines: they decide as the real one does (agent/task_book.h): which orders
 * are taken, what they come to, which tasks begin, what is noted and what is told. A keeper's log
 * lies with what the agent has written down, and the next keeper makes its book from that; tasks do
 * not outlast their keeper. Called by the network, agents and time. */
#include "fault/parts.h"

#include <errno.h>

#include "job/job.h"

enum {
	LATE_ORDER_MS = 20 * SECOND,
	KEEPER_BACK_MS = 3 * SECOND,
	SYNC_MS = 50,
	REFUSES_MS = 2 * MINUTE,
	FEW_ROWS = 3,
	LONG_LOG = 256,
};

static struct fault_body *body_of(const struct fault_keeper *k, uint32_t i)
{
	return task_book_at(&k->book, i)->body;
}

/* ---- what the book asks for ---- */

/* Who owns the book, for one call of it. */
struct owner {
	struct fault_sim *f;
	struct fault_machine *m;
	const struct phx_task_order *order; /* that is being taken */
	struct task_owner is;
};

static void *make_body(void *owner, const struct phx_task *task)
{
	const struct owner *o = owner;
	struct fault_body *b = calloc(1, sizeof(*b));
	if (b)
		b->why = -1;
	if (!b || !task)
		return b;
	b->number = ++o->f->n_task_runs;
	b->heartbeat_timeout_ms = o->order->heartbeat_timeout_ms;
	b->grace_ms = o->order->grace_ms;
	b->limit_ms = task->limit_ms;
	return b;
}

static void drop_body(void *owner, void *body)
{
	(void)owner;
	free(body);
}

static struct phx_task_result *result_of(void *body)
{
	return &((struct fault_body *)body)->row;
}

static void note(void *owner, const struct task_note *n)
{
	const struct owner *o = owner;
	struct task_note *to = phx_list_push(&o->m->keeper.notes, sizeof(*to));
	if (!to) {
		phx_fault_violated(o->f, "model", "out of memory");
		return;
	}
	*to = *n;
	if (n->kind == TASK_NOTE_ENDED)
		to->key = TASK_KEY(&n->result);
}

/* What runs is told, and takes as long as it may. */
static void tell_to_end(void *owner, uint32_t i, enum phx_task_outcome why)
{
	const struct owner *o = owner;
	struct fault_body *b = body_of(&o->m->keeper, i);
	if (b->why >= 0)
		return;
	b->why = (int)why;
	phx_fault_later(o->f, phx_fault_between(o->f, 0, b->grace_ms), WHAT_TASK_END, o->m->i, 0,
			b->number);
}

static void ended(void *owner, uint32_t i)
{
	const struct owner *o = owner;
	struct fault_keeper *k = &o->m->keeper;
	phx_fault_flow_ended(o->f, &body_of(k, i)->row);
	if (!k->syncs)
		phx_fault_later(o->f, SYNC_MS, WHAT_TASK_SYNC, o->m->i, k->start, 0);
	k->syncs = true;
}

static void own(struct fault_sim *f, struct fault_machine *m, const struct phx_task_order *order,
		struct owner *ret)
{
	*ret = (struct owner){.f = f,
			      .m = m,
			      .order = order,
			      .is = {.arg = ret,
				     .make = make_body,
				     .drop = drop_body,
				     .result = result_of,
				     .note = note,
				     .tell = tell_to_end,
				     .ended = ended}};
}

/* ---- rows and notes ---- */

/* The next batch of those that ended, one at a time: it goes through the agent. */
static void tell(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_keeper *k = &m->keeper;
	struct phx_list rows = {0};
	struct owner o;
	own(f, m, NULL, &o);
	if (!k->up || k->telling || !k->book.n[TASK_ENDED])
		return;
	uint32_t most = phx_fault_chance(f, 300) ? FEW_ROWS : PHX_TASK_ROWS_MAX;
	if (!task_book_rows(&k->book, &o.is, most, &rows))
		return;
	k->telling = true;
	phx_fault_send_rows(f, m, k->start, &rows);
}

/* The log is rewritten with what still matters. */
static void renew(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_keeper *k = &m->keeper;
	struct owner o;
	own(f, m, NULL, &o);
	k->notes.n = 0;
	task_book_each_note(&k->book, &o.is, note, &o);
	k->long_from = 2 * k->notes.n + LONG_LOG;
}

static void sync_notes(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_keeper *k = &m->keeper;
	k->syncs = false;
	task_book_synced(&k->book);
	if (k->notes.n > k->long_from)
		renew(f, m);
	k->n_synced = k->notes.n;
	tell(f, m);
}

void phx_fault_task_sync(struct fault_sim *f, struct fault_machine *m, uint32_t start)
{
	if (m->keeper.up && m->keeper.start == start)
		sync_notes(f, m);
}

/* ---- the end of one ---- */

static void finish(struct fault_sim *f, struct fault_machine *m, uint32_t i, int outcome,
		   uint32_t status)
{
	struct owner o;
	own(f, m, NULL, &o);
	task_book_finish(&m->keeper.book, &o.is, i, (enum phx_task_outcome)outcome, status, f->now);
}

static void begin_all(struct fault_sim *f, struct fault_machine *m);

static int how_it_ends(struct fault_sim *f, uint32_t *ret_status)
{
	uint64_t chance = phx_rng_below(&f->rng, 100);
	*ret_status = 0;
	if (chance < 85)
		return PHX_TASK_EXITED;
	if (chance < 90)
		return PHX_TASK_MISSING;
	*ret_status = chance < 95 ? 1 : 9;
	return chance < 95 ? PHX_TASK_EXITED : PHX_TASK_KILLED;
}

void phx_fault_task_end(struct fault_sim *f, struct fault_machine *m, uint64_t number)
{
	const struct fault_keeper *k = &m->keeper;
	uint32_t i = k->up ? k->book.first[TASK_RUNS] : TASK_NONE, status = 0;
	while (i != TASK_NONE && body_of(k, i)->number != number)
		i = task_book_at(&k->book, i)->next;
	if (i == TASK_NONE)
		return;
	const struct fault_body *b = body_of(k, i);
	bool over = b->limit_ms && f->now >= b->row.begin_ms + b->limit_ms;
	int how = b->why >= 0 ? b->why : over ? PHX_TASK_OVERDUE : how_it_ends(f, &status);
	finish(f, m, i, how, status);
	begin_all(f, m);
}

/* ---- the beginning ---- */

static void begin_one(struct fault_sim *f, struct fault_machine *m, uint32_t i)
{
	struct fault_body *b = body_of(&m->keeper, i);
	int64_t most = phx_fault_chance(f, 100) ? 20 * MINUTE : 90 * SECOND,
		takes = phx_fault_between(f, 200, most);
	struct owner o;
	own(f, m, NULL, &o);
	task_book_begun(&m->keeper.book, &o.is, i, f->now);
	if (b->limit_ms && takes > b->limit_ms)
		takes = b->limit_ms;
	phx_fault_flow_begins(f, m, &task_book_at(&m->keeper.book, i)->key);
	phx_fault_later(f, takes, WHAT_TASK_END, m->i, 0, b->number);
}

static void begin_all(struct fault_sim *f, struct fault_machine *m)
{
	for (uint32_t i; (i = task_book_begin(&m->keeper.book)) != TASK_NONE;)
		begin_one(f, m, i);
}

/* ---- orders ---- */

static void order_fini(struct fault_task_order *o)
{
	phx_list_fini(&o->is.tasks);
	phx_list_fini(&o->is.cancels);
	PHX_LIST_EACH(struct phx_text, t, &o->argv)
		free(t->text);
	phx_list_fini(&o->argv);
}

static void take_order(struct fault_sim *f, struct fault_machine *m,
		       const struct fault_task_order *order)
{
	struct fault_keeper *k = &m->keeper;
	struct fault_memory *mem = phx_fault_memory(m);
	struct owner o;
	own(f, m, &order->is, &o);
	if (!k->up || task_book_admits(&k->book, order->number, &order->is, NULL) <= 0)
		return;
	if (!k->log)
		mem->task_log = k->log = ++f->n_task_logs;
	if (order->is.tasks.n)
		task_book_give(&k->book, order->is.cores, order->is.memory_bytes);
	if (task_book_order(&k->book, &o.is, order->number, &order->is) < 0)
		phx_fault_violated(f, "model", "out of memory");
	phx_fault_flow_taken(f, m, &order->is);
	sync_notes(f, m);
	begin_all(f, m);
}

/* The network gives a copy out again, while the line that it came by is there. */
static void hold_up(struct fault_sim *f, const struct fault_machine *m, struct fault_task_order *o)
{
	uint32_t i = 0;
	while (i < f->task_orders.n &&
	       PHX_LIST_AT(&f->task_orders, struct fault_task_order, i)->used)
		i++;
	struct fault_task_order *to = i < f->task_orders.n
		? PHX_LIST_AT(&f->task_orders, struct fault_task_order, i)
		: phx_list_push(&f->task_orders, sizeof(*to));
	if (!to)
		return;
	*to = *o;
	to->used = true;
	o->is.tasks = o->is.cancels = o->argv = (struct phx_list){0};
	phx_fault_later(f, phx_fault_between(f, 1, LATE_ORDER_MS), WHAT_TASK_ORDER, m->i, m->gen,
			i);
}

void phx_fault_task_order_late(struct fault_sim *f, struct fault_machine *m, uint64_t slot)
{
	struct fault_task_order *o = PHX_LIST_AT(&f->task_orders, struct fault_task_order, slot);
	if (m->linked && m->link_gen == o->link_gen)
		take_order(f, m, o);
	order_fini(o);
	o->used = false;
}

/* A task that is to end is also ordered to begin, but for some whose order is refused for a while,
 * as for want of room: they are cancelled all the same, and not ordered again then. */
static bool is_refused(const struct fault_sim *f, const struct phx_task_given *g)
{
	bool refuses = !f->calm && f->now / REFUSES_MS % 2;
	return (refuses || g->ends) && (g->run->id + g->task + g->attempt) % 8 == 0;
}

static void add_task(struct fault_task_order *o, const struct phx_task_given *g)
{
	const struct phx_flow_task *t = &g->run->live->flow.tasks[g->task];
	struct phx_task *to = phx_list_push(&o->is.tasks, sizeof(*to));
	if (to)
		*to = (struct phx_task){.run = g->run->id,
					.submitted_ms = g->run->submitted_ms,
					.task = g->task,
					.attempt = g->attempt,
					.argv = o->argv,
					.cores = g->wide ? 0 : t->cores,
					.memory_bytes = t->memory_bytes,
					.limit_ms = t->time_ms};
}

static void add_cancel(struct fault_task_order *o, const struct phx_task_given *g)
{
	struct phx_task_cancel *to = phx_list_push(&o->is.cancels, sizeof(*to));
	if (to)
		*to = (struct phx_task_cancel){.run = g->run->id,
					       .submitted_ms = g->run->submitted_ms,
					       .task = g->task,
					       .attempt = g->attempt};
}

void phx_fault_task_orders(struct fault_sim *f, struct fault_machine *m)
{
	PHX_AUTO(phx_list_fini) struct phx_list all = {0};
	const struct phx_node *n = phx_fault_node(f, m);
	const struct phx_job *worker = NULL;
	if (!f->o.flows || !n || !m->keeper.up)
		return;
	phx_tasks_on(f->head.s, n, &all, &worker);
	if (!worker || !all.n)
		return;
	struct fault_task_order o = {.link_gen = m->link_gen,
				     .number = ++f->n_task_orders,
				     .is = {.since_ms = 1 + f->head.starts,
					    .cores = worker->cores,
					    .heartbeat_timeout_ms = worker->heartbeat_timeout_ms,
					    .grace_ms = worker->grace_ms,
					    .memory_bytes = worker->memory_bytes}};
	phx_text_push(&o.argv, "task");
	bool again = false;
	PHX_LIST_EACH(struct phx_task_given, g, &all) {
		bool refused = is_refused(f, g);
		if (!refused)
			add_task(&o, g);
		if (g->ends)
			add_cancel(&o, g);
		again = again || (refused && !g->ends);
	}
	if (again)
		phx_fault_later(f, REFUSES_MS, WHAT_ORDERS, m->i, m->gen, 0);
	bool late = !f->calm && phx_fault_chance(f, 50);
	if (!late || phx_fault_chance(f, 500))
		take_order(f, m, &o);
	if (late)
		hold_up(f, m, &o);
	order_fini(&o);
}

/* ---- what is told ---- */

void phx_fault_task_rows_said(struct fault_sim *f, struct fault_machine *m, uint32_t start,
			      const struct phx_list *rows)
{
	struct fault_keeper *k = &m->keeper;
	struct owner o;
	phx_fault_flow_acked(f, rows);
	if (!k->up || k->start != start)
		return;
	own(f, m, NULL, &o);
	task_book_told(&k->book, &o.is, rows->n);
	k->telling = false;
	tell(f, m);
}

/* ---- the heartbeat timeout ---- */

static void look_at_heartbeat(void *owner, uint32_t i)
{
	struct owner *o = owner;
	const struct fault_keeper *k = &o->m->keeper;
	if (o->f->now - o->m->heard_ms >= body_of(k, i)->heartbeat_timeout_ms)
		task_book_stop(&o->m->keeper.book, &o->is, i, PHX_TASK_LOST);
}

void phx_fault_task_timeout(struct fault_sim *f, struct fault_machine *m, uint32_t n_unheard)
{
	struct owner o;
	own(f, m, NULL, &o);
	if (n_unheard != m->n_unheard || !m->keeper.up)
		return;
	task_book_each_open(&m->keeper.book, look_at_heartbeat, &o);
	phx_fault_later(f, FAULT_TIMEOUT_LOOK_MS, WHAT_HEARTBEAT_TIMEOUT, m->i, n_unheard, 0);
}

/* ---- life ---- */

static void close_book(struct fault_keeper *k)
{
	for (uint32_t i = 0; i < k->book.n_entries; i++)
		free(k->book.entries[i].body);
	task_book_fini(&k->book);
}

/* A log that does not lie with what the agent has written down is gone; of what was not synced, the
 * first notes may be on the disk. */
static void find_log(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_keeper *k = &m->keeper;
	if (k->log && phx_fault_memory(m)->task_log == k->log) {
		k->notes.n = (uint32_t)phx_fault_between(f, k->n_synced, k->notes.n);
		k->n_synced = k->notes.n;
		return;
	}
	k->log = 0;
	k->notes.n = k->n_synced = 0;
}

void phx_fault_keeper_starts(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_keeper *k = &m->keeper;
	struct owner o;
	own(f, m, NULL, &o);
	if (!f->o.flows || k->up || phx_fault_env(m) != PHX_ENV_OS)
		return;
	find_log(f, m);
	close_book(k);
	task_book_init(&k->book, 1, 0);
	k->start++;
	k->syncs = false;
	k->long_from = k->notes.n + LONG_LOG;
	for (uint32_t n = 0; n < k->n_synced; n++) {
		struct task_note one = *PHX_LIST_AT(&k->notes, struct task_note, n);
		task_book_replay(&k->book, &o.is, &one);
	}
	task_book_lose(&k->book, &o.is, f->now);
	k->up = true;
	tell(f, m);
	phx_fault_later(f, phx_fault_between(f, 1, 100), WHAT_ORDERS, m->i, m->gen, 0);
}

void phx_fault_keeper_dies(struct fault_sim *f, struct fault_machine *m)
{
	phx_fault_note(f, m->i, "%s: what keeps its tasks dies", m->node);
	m->keeper.up = m->keeper.telling = false;
	phx_fault_later(f, phx_fault_between(f, 1, KEEPER_BACK_MS), WHAT_KEEPER, m->i, m->gen, 0);
}

static void lose_one(void *owner, uint32_t i)
{
	const struct owner *o = owner;
	finish(o->f, o->m, i, PHX_TASK_LOST, 0);
}

void phx_fault_keeper_drains(struct fault_sim *f, struct fault_machine *m)
{
	struct owner o;
	own(f, m, NULL, &o);
	if (m->keeper.up)
		task_book_each_open(&m->keeper.book, lose_one, &o);
}

void phx_fault_keepers_fini(struct fault_sim *f)
{
	for (uint32_t i = 0; f->m && i < f->n; i++) {
		close_book(&f->m[i].keeper);
		phx_list_fini(&f->m[i].keeper.notes);
	}
	PHX_LIST_EACH(struct fault_task_order, o, &f->task_orders)
		order_fini(o);
	phx_list_fini(&f->task_orders);
}
