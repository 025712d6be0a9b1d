/* Keepers of tasks on machines: they decide as the real one does (agent/task_book.h): which orders
 * are taken, which tasks begin, what is told. A keeper's log lies with what the agent has written
 * down, and outlasts it; its tasks do not. Called by the network, agents and time. */
#include "fault/parts.h"

#include <errno.h>

#include "job/job.h"

enum { LATE_ORDER_MS = 20 * SECOND, KEEPER_BACK_MS = 3 * SECOND, FEW_ROWS = 3 };

static struct fault_body *body_of(const struct fault_keeper *k, uint32_t i)
{
	return task_book_at(&k->book, i)->body;
}

/* The next batch of those that ended, one at a time: it goes through the agent. */
static void tell(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_keeper *k = &m->keeper;
	struct phx_list rows = {0};
	if (!k->up || k->telling || !k->book.n[TASK_ENDED])
		return;
	uint32_t most = phx_fault_chance(f, 300) ? FEW_ROWS : PHX_TASK_ROWS_MAX;
	for (uint32_t i = k->book.first[TASK_ENDED]; i != TASK_NONE && rows.n < most;
	     i = task_book_at(&k->book, i)->next) {
		struct phx_task_result *row = phx_list_push(&rows, sizeof(*row));
		if (row)
			*row = body_of(k, i)->row;
	}
	k->telling = true;
	phx_fault_send_rows(f, m, k->start, &rows);
}

/* ---- the end of one ---- */

static void finish(struct fault_sim *f, struct fault_machine *m, uint32_t i, int outcome,
		   uint32_t status)
{
	struct fault_body *b = body_of(&m->keeper, i);
	b->row.outcome = outcome;
	b->row.status = status;
	b->row.end_ms = b->row.begin_ms ? f->now : 0;
	task_book_end(&m->keeper.book, i);
	phx_fault_flow_ended(f, &b->row);
	tell(f, m);
}

/* What runs is told, and takes as long as it may. */
static void end_one(struct fault_sim *f, struct fault_machine *m, uint32_t i, int why)
{
	struct fault_body *b = body_of(&m->keeper, i);
	enum task_state state = task_book_at(&m->keeper.book, i)->state;
	if (state == TASK_WAITS)
		finish(f, m, i, why, 0);
	if (state != TASK_RUNS || b->why >= 0)
		return;
	b->why = why;
	phx_fault_later(f, phx_fault_between(f, 0, b->grace_ms), WHAT_TASK_END, m->i, 0, b->number);
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
	b->row.begin_ms = f->now;
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

static uint32_t put_task(struct fault_sim *f, struct fault_machine *m,
			 const struct fault_task_order *o, const struct fault_given *g,
			 uint32_t after)
{
	struct fault_body *b = calloc(1, sizeof(*b));
	if (!b)
		return TASK_NONE;
	*b = (struct fault_body){.number = ++f->n_task_runs,
				 .heartbeat_timeout_ms = o->heartbeat_timeout_ms,
				 .grace_ms = o->grace_ms,
				 .limit_ms = g->limit_ms,
				 .why = -1,
				 .row = {.run = g->key.run,
					 .submitted_ms = g->key.submitted_ms,
					 .task = g->key.task,
					 .attempt = g->key.attempt}};
	return task_book_put(&m->keeper.book, &g->key, g->cores, g->memory_bytes, after, b);
}

static void take_task(struct fault_sim *f, struct fault_machine *m,
		      const struct fault_task_order *o, const struct fault_given *g)
{
	uint32_t known;
	enum decide_job is = task_book_judge(&m->keeper.book, &g->key, &known);
	if (is == DECIDE_JOB_SAME || is == DECIDE_JOB_OF_PAST)
		return;
	if (is == DECIDE_JOB_NEWER)
		end_one(f, m, known, PHX_TASK_CANCELLED);
	uint32_t i = put_task(f, m, o, g, known);
	if (i != TASK_NONE && !task_book_fits(&m->keeper.book, g->cores, g->memory_bytes))
		finish(f, m, i, PHX_TASK_UNSTARTED, 0);
}

/* It was taken before, by this order or an earlier one. */
static void cancel_task(struct fault_sim *f, struct fault_machine *m, const struct fault_given *g)
{
	const struct phx_task_cancel c = {g->key.run, g->key.submitted_ms, g->key.task,
					  g->key.attempt, false};
	uint32_t known;
	task_book_judge(&m->keeper.book, &g->key, &known);
	if (known != TASK_NONE && task_book_cancels(&c, &task_book_at(&m->keeper.book, known)->key))
		end_one(f, m, known, PHX_TASK_CANCELLED);
}

static void take_order(struct fault_sim *f, struct fault_machine *m,
		       const struct fault_task_order *o)
{
	struct fault_keeper *k = &m->keeper;
	struct fault_memory *mem = phx_fault_memory(m);
	if (!k->up || !task_book_is_new(&k->book, o->since_ms, o->number) ||
	    !task_book_has_room(&k->book, 2 * o->given.n))
		return;
	if (!k->log)
		mem->task_log = k->log = ++f->n_task_logs;
	task_book_give(&k->book, o->cores, o->memory_bytes);
	PHX_LIST_EACH(struct fault_given, g, &o->given)
		take_task(f, m, o, g);
	PHX_LIST_EACH(struct fault_given, g, &o->given)
		if (g->ends)
			cancel_task(f, m, g);
	task_book_taken(&k->book, o->since_ms, o->number);
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
	o->given = (struct phx_list){0};
	phx_fault_later(f, phx_fault_between(f, 1, LATE_ORDER_MS), WHAT_TASK_ORDER, m->i, m->gen,
			i);
}

void phx_fault_task_order_late(struct fault_sim *f, struct fault_machine *m, uint64_t slot)
{
	struct fault_task_order *o = PHX_LIST_AT(&f->task_orders, struct fault_task_order, slot);
	if (m->linked && m->link_gen == o->link_gen)
		take_order(f, m, o);
	phx_list_fini(&o->given);
	o->used = false;
}

static void add_given(struct fault_task_order *o, const struct phx_task_given *g)
{
	const struct phx_flow_task *t = &g->run->live->flow.tasks[g->task];
	struct fault_given *to = phx_list_push(&o->given, sizeof(*to));
	if (to)
		*to = (struct fault_given){
			.key = {g->run->id, g->run->submitted_ms, g->task, g->attempt},
			.cores = t->cores,
			.memory_bytes = t->memory_bytes,
			.limit_ms = t->time_ms,
			.ends = g->ends};
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
				     .since_ms = 1 + f->head.starts,
				     .cores = worker->cores,
				     .heartbeat_timeout_ms = worker->heartbeat_timeout_ms,
				     .grace_ms = worker->grace_ms,
				     .memory_bytes = worker->memory_bytes};
	PHX_LIST_EACH(struct phx_task_given, g, &all)
		add_given(&o, g);
	bool late = !f->calm && phx_fault_chance(f, 50);
	if (!late || phx_fault_chance(f, 500))
		take_order(f, m, &o);
	if (late)
		hold_up(f, m, &o);
	phx_list_fini(&o.given);
}

/* ---- what is told ---- */

void phx_fault_task_rows_said(struct fault_sim *f, struct fault_machine *m, uint32_t start,
			      const struct phx_list *rows)
{
	struct fault_keeper *k = &m->keeper;
	phx_fault_flow_acked(f, rows);
	if (!k->up || k->start != start)
		return;
	for (uint32_t n = rows->n; n && k->book.first[TASK_ENDED] != TASK_NONE; n--) {
		uint32_t i = k->book.first[TASK_ENDED];
		free(body_of(k, i));
		task_book_said(&k->book, i);
	}
	k->telling = false;
	tell(f, m);
}

/* ---- the heartbeat timeout ---- */

void phx_fault_task_timeout(struct fault_sim *f, struct fault_machine *m, uint32_t n_unheard)
{
	static const enum task_state states[] = {TASK_WAITS, TASK_RUNS};
	const struct fault_keeper *k = &m->keeper;
	if (n_unheard != m->n_unheard || !k->up)
		return;
	for (size_t s = 0; s < PHX_ARRAY_SIZE(states); s++)
		for (uint32_t i = k->book.first[states[s]], next; i != TASK_NONE; i = next) {
			next = task_book_at(&k->book, i)->next;
			if (f->now - m->heard_ms >= body_of(k, i)->heartbeat_timeout_ms)
				end_one(f, m, i, PHX_TASK_LOST);
		}
	phx_fault_later(f, FAULT_TIMEOUT_LOOK_MS, WHAT_HEARTBEAT_TIMEOUT, m->i, n_unheard, 0);
}

/* ---- life ---- */

static void forget(struct fault_keeper *k)
{
	for (uint32_t i = 0; i < k->book.n_entries; i++)
		free(k->book.entries[i].body);
	task_book_fini(&k->book);
	task_book_init(&k->book, 1, 0);
	k->log = 0;
}

static void lose_all(struct fault_sim *f, struct fault_machine *m)
{
	static const enum task_state states[] = {TASK_RUNS, TASK_WAITS};
	for (size_t s = 0; s < PHX_ARRAY_SIZE(states); s++)
		while (m->keeper.book.first[states[s]] != TASK_NONE)
			finish(f, m, m->keeper.book.first[states[s]], PHX_TASK_LOST, 0);
}

void phx_fault_keeper_starts(struct fault_sim *f, struct fault_machine *m)
{
	struct fault_keeper *k = &m->keeper;
	if (!f->o.flows || k->up || phx_fault_env(m) != PHX_ENV_OS)
		return;
	if (!k->log || phx_fault_memory(m)->task_log != k->log)
		forget(k);
	k->start++;
	lose_all(f, m);
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

void phx_fault_keeper_drains(struct fault_sim *f, struct fault_machine *m)
{
	if (m->keeper.up)
		lose_all(f, m);
}

void phx_fault_keepers_fini(struct fault_sim *f)
{
	for (uint32_t i = 0; f->m && i < f->n; i++) {
		forget(&f->m[i].keeper);
		task_book_fini(&f->m[i].keeper.book);
	}
	PHX_LIST_EACH(struct fault_task_order, o, &f->task_orders)
		phx_list_fini(&o->given);
	phx_list_fini(&f->task_orders);
}
