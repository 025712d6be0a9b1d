/* See task_book.h. Pure: make check-pure proves it. */
#include "agent/task_book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many waiting tasks are looked at for one that fits, and how often the first of them may be
 * passed over. */
enum { LOOK_AHEAD = 64, PASSED_MAX = 256, FIRST_ENTRIES = 64 };

void task_book_init(struct task_book *b, uint32_t cores, uint64_t memory_bytes)
{
	*b = (struct task_book){.unused = TASK_NONE,
				.cores = cores,
				.free_cores = cores,
				.memory_bytes = memory_bytes,
				.free_memory = memory_bytes};
	for (int s = 0; s < TASK_STATES; s++)
		b->first[s] = b->last[s] = TASK_NONE;
}

void task_book_fini(struct task_book *b)
{
	free(b->entries);
	phx_hash_fini(&b->index);
	*b = (struct task_book){0};
}

void task_book_give(struct task_book *b, uint32_t cores, uint64_t memory_bytes)
{
	uint32_t used = b->cores - b->free_cores;
	uint64_t held = b->memory_bytes - b->free_memory;
	if (used || held)
		return; /* what runs was counted by the former figures */
	b->cores = b->free_cores = cores;
	b->memory_bytes = b->free_memory = memory_bytes;
}

/* ---- lists ---- */

static void unlink_entry(struct task_book *b, uint32_t i)
{
	struct task_entry *e = &b->entries[i];
	enum task_state s = e->state;
	if (e->prev == TASK_NONE)
		b->first[s] = e->next;
	else
		b->entries[e->prev].next = e->next;
	if (e->next == TASK_NONE)
		b->last[s] = e->prev;
	else
		b->entries[e->next].prev = e->prev;
	b->n[s]--;
}

static void link_entry(struct task_book *b, uint32_t i, enum task_state s)
{
	struct task_entry *e = &b->entries[i];
	e->state = s;
	e->prev = b->last[s];
	e->next = TASK_NONE;
	if (b->last[s] == TASK_NONE)
		b->first[s] = i;
	else
		b->entries[b->last[s]].next = i;
	b->last[s] = i;
	b->n[s]++;
}

/* ---- which task ---- */

static uint32_t hash_of(uint64_t run, uint32_t task)
{
	uint64_t x = (run * UINT64_C(0x9e3779b97f4a7c15)) ^ (task * UINT64_C(0xff51afd7ed558ccd));
	return (uint32_t)(x ^ x >> 32);
}

static bool of_same_task(const struct task_key *a, const struct task_key *b)
{
	return a->run == b->run && a->task == b->task && a->submitted_ms == b->submitted_ms;
}

enum decide_job task_book_judge(const struct task_book *b, const struct task_key *key,
				uint32_t *ret_known)
{
	uint32_t hash = hash_of(key->run, key->task), i, known = TASK_NONE;
	for (uint32_t at = hash; phx_hash_next(&b->index, hash, &at, &i);) {
		const struct task_key *k = &b->entries[i].key;
		if (of_same_task(k, key) &&
		    (known == TASK_NONE || k->attempt > b->entries[known].key.attempt))
			known = i;
	}
	*ret_known = known;
	if (known == TASK_NONE)
		return decide_job(NULL, &(struct decide_run){0});
	const struct task_key *k = &b->entries[known].key;
	return decide_job(&(struct decide_run){k->attempt, k->submitted_ms},
			  &(struct decide_run){key->attempt, key->submitted_ms});
}

bool task_book_fits(const struct task_book *b, uint32_t cores, uint64_t memory_bytes)
{
	return cores <= b->cores && (!b->memory_bytes || memory_bytes <= b->memory_bytes);
}

/* Makes room for more entries, which may move. */
static int grow(struct task_book *b)
{
	uint32_t n = b->n_entries ? b->n_entries * 2 : FIRST_ENTRIES;
	struct task_entry *entries = realloc(b->entries, n * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	b->entries = entries;
	for (uint32_t i = n; i-- > b->n_entries;) {
		entries[i] = (struct task_entry){.next = b->unused};
		b->unused = i;
	}
	b->n_entries = n;
	return 0;
}

static uint32_t put(struct task_book *b, const struct task_entry *e, enum task_state state)
{
	if (b->unused == TASK_NONE && grow(b) < 0)
		return TASK_NONE;
	uint32_t i = b->unused, next = b->entries[i].next;
	if (phx_hash_put(&b->index, hash_of(e->key.run, e->key.task), i) < 0)
		return TASK_NONE;
	b->unused = next;
	b->entries[i] = *e;
	link_entry(b, i, state);
	return i;
}

uint32_t task_book_put(struct task_book *b, const struct task_key *key, uint32_t cores,
		       uint64_t memory_bytes, uint32_t after, void *body)
{
	return put(b,
		   &(struct task_entry){.key = *key,
					.cores = cores ? cores : b->cores,
					.memory_bytes = b->memory_bytes ? memory_bytes : 0,
					.after = after,
					.body = body},
		   TASK_WAITS);
}

static void forget_oldest(struct task_book *b)
{
	uint32_t i = b->first[TASK_SAID];
	struct task_entry *e = &b->entries[i];
	unlink_entry(b, i);
	phx_hash_drop(&b->index, hash_of(e->key.run, e->key.task), i);
	*e = (struct task_entry){.next = b->unused};
	b->unused = i;
}

/* ---- who begins ---- */

/* Must an older attempt end first? That one may be forgotten by now, and its entry used by another
 * task, which does not count. */
static bool is_awaited(const struct task_book *b, const struct task_entry *e)
{
	const struct task_entry *older = e->after == TASK_NONE ? NULL : &b->entries[e->after];
	return older && older->state == TASK_RUNS && of_same_task(&older->key, &e->key) &&
		older->key.attempt < e->key.attempt;
}

uint32_t task_book_begin(struct task_book *b)
{
	uint32_t i = b->first[TASK_WAITS];
	uint32_t most = b->passed < PASSED_MAX ? LOOK_AHEAD : 1;
	for (uint32_t n = 0; i != TASK_NONE && n < most; n++, i = b->entries[i].next) {
		struct task_entry *e = &b->entries[i];
		if (e->cores > b->free_cores || e->memory_bytes > b->free_memory ||
		    is_awaited(b, e))
			continue;
		b->passed = n ? b->passed + 1 : 0;
		b->free_cores -= e->cores;
		b->free_memory -= e->memory_bytes;
		unlink_entry(b, i);
		link_entry(b, i, TASK_RUNS);
		return i;
	}
	return TASK_NONE;
}

void task_book_end(struct task_book *b, uint32_t i)
{
	struct task_entry *e = &b->entries[i];
	if (e->state == TASK_RUNS) {
		b->free_cores += e->cores;
		b->free_memory += e->memory_bytes;
	}
	if (b->first[TASK_WAITS] == i)
		b->passed = 0;
	unlink_entry(b, i);
	link_entry(b, i, TASK_ENDED);
}

/* ---- what becomes of a task ---- */

static struct phx_task_result *result_of(const struct task_book *b, const struct task_owner *o,
					 uint32_t i)
{
	return o->result(b->entries[i].body);
}

void task_book_begun(struct task_book *b, const struct task_owner *o, uint32_t i, int64_t now_ms)
{
	result_of(b, o, i)->begin_ms = now_ms;
	o->note(o->arg,
		&(struct task_note){
			.kind = TASK_NOTE_BEGUN, .key = b->entries[i].key, .begin_ms = now_ms});
}

void task_book_finish(struct task_book *b, const struct task_owner *o, uint32_t i,
		      enum phx_task_outcome outcome, uint32_t status, int64_t now_ms)
{
	struct phx_task_result *w = result_of(b, o, i);
	w->outcome = outcome;
	w->status = status;
	if (w->begin_ms)
		w->end_ms = now_ms > w->begin_ms ? now_ms : w->begin_ms;
	task_book_end(b, i);
	o->note(o->arg, &(struct task_note){.kind = TASK_NOTE_ENDED, .result = *w});
	o->ended(o->arg, i);
}

void task_book_stop(struct task_book *b, const struct task_owner *o, uint32_t i,
		    enum phx_task_outcome why)
{
	if (b->entries[i].state == TASK_RUNS)
		o->tell(o->arg, i, why);
	else if (b->entries[i].state == TASK_WAITS)
		task_book_finish(b, o, i, why, 0, 0);
}

void task_book_each_open(struct task_book *b, void (*fn)(void *arg, uint32_t i), void *arg)
{
	static const enum task_state states[] = {TASK_WAITS, TASK_RUNS};
	for (size_t s = 0; s < PHX_ARRAY_SIZE(states); s++)
		for (uint32_t i = b->first[states[s]], next; i != TASK_NONE; i = next) {
			next = b->entries[i].next;
			fn(arg, i);
		}
}

struct stopping {
	struct task_book *book;
	const struct task_owner *owner;
	enum phx_task_outcome why;
	const struct phx_task_cancel *cancel; /* NULL: all */
};

static void stop_if_meant(void *arg, uint32_t i)
{
	const struct stopping *s = arg;
	if (!s->cancel || task_book_cancels(s->cancel, &s->book->entries[i].key))
		task_book_stop(s->book, s->owner, i, s->why);
}

void task_book_stop_all(struct task_book *b, const struct task_owner *o, enum phx_task_outcome why)
{
	task_book_each_open(b, stop_if_meant, &(struct stopping){b, o, why, NULL});
}

/* ---- orders ---- */

int task_book_admits(const struct task_book *b, uint64_t number, const struct phx_task_order *order,
		     struct phx_err *err)
{
	uint32_t held = b->n[TASK_WAITS] + b->n[TASK_RUNS] + b->n[TASK_ENDED];
	if (order->since_ms == b->since_ms && number <= b->order)
		return 0;
	if (held + order->tasks.n + order->cancels.n > TASKS_HELD_MAX)
		return phx_err_set(err, -EBUSY, "this node has %d tasks already", TASKS_HELD_MAX);
	return 1;
}

/* Puts a task into the book; TASK_NONE: no memory. */
static uint32_t put_new(struct task_book *b, const struct task_owner *o, const struct task_key *key,
			const struct phx_task *task, uint32_t after)
{
	void *body = o->make(o->arg, task);
	if (!body)
		return TASK_NONE;
	struct phx_task_result *w = o->result(body);
	w->run = key->run;
	w->submitted_ms = key->submitted_ms;
	w->task = key->task;
	w->attempt = key->attempt;
	uint32_t i = task_book_put(b, key, task ? task->cores : 1, task ? task->memory_bytes : 0,
				   after, body);
	if (i == TASK_NONE)
		o->drop(o->arg, body);
	return i;
}

static void note_taken(const struct task_owner *o, const struct task_key *key)
{
	o->note(o->arg, &(struct task_note){.kind = TASK_NOTE_TAKEN, .key = *key});
}

void task_book_make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static int take(struct task_book *b, const struct task_owner *o, const struct phx_task *task)
{
	struct task_key key = TASK_KEY(task);
	struct phx_err err = {0};
	uint32_t known;
	enum decide_job is = task_book_judge(b, &key, &known);
	if (is == DECIDE_JOB_SAME || is == DECIDE_JOB_OF_PAST)
		return 0;
	if (is == DECIDE_JOB_NEWER)
		task_book_stop(b, o, known, PHX_TASK_CANCELLED);
	uint32_t i = put_new(b, o, &key, task, known);
	if (i == TASK_NONE)
		return -ENOMEM;
	note_taken(o, &key);
	if (phx_task_check(task, &err) == 0 && !task_book_fits(b, task->cores, task->memory_bytes))
		phx_err_set(&err, -E2BIG,
			    "it wants more cores or memory than this node has for tasks");
	if (err.text[0]) {
		struct phx_task_result *w = result_of(b, o, i);
		snprintf(w->text, sizeof(w->text), "%s", err.text);
		task_book_make_printable(w->text);
		task_book_finish(b, o, i, PHX_TASK_UNSTARTED, 0, 0);
	}
	return 0;
}

/* One that is not known yet never begins, but is reported all the same. */
static int cancel(struct task_book *b, const struct task_owner *o, const struct phx_task_cancel *c)
{
	struct task_key key = TASK_KEY(c);
	uint32_t known;
	if (c->whole) {
		task_book_each_open(b, stop_if_meant,
				    &(struct stopping){b, o, PHX_TASK_CANCELLED, c});
		return 0;
	}
	enum decide_job is = task_book_judge(b, &key, &known);
	if (known != TASK_NONE && is != DECIDE_JOB_OF_PAST)
		task_book_stop(b, o, known, PHX_TASK_CANCELLED);
	if (is != DECIDE_JOB_NEW && is != DECIDE_JOB_NEWER)
		return 0;
	uint32_t i = put_new(b, o, &key, NULL, TASK_NONE);
	if (i == TASK_NONE)
		return -ENOMEM;
	note_taken(o, &key);
	task_book_finish(b, o, i, PHX_TASK_CANCELLED, 0, 0);
	return 0;
}

static void set_order(struct task_book *b, uint64_t number, int64_t since_ms)
{
	b->since_ms = since_ms;
	b->order = number;
}

int task_book_order(struct task_book *b, const struct task_owner *o, uint64_t number,
		    const struct phx_task_order *order)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_task, t, &order->tasks)
		r = r ? r : take(b, o, t);
	PHX_LIST_EACH(struct phx_task_cancel, c, &order->cancels)
		r = r ? r : cancel(b, o, c);
	if (r < 0)
		return r;
	set_order(b, number, order->since_ms);
	o->note(o->arg,
		&(struct task_note){
			.kind = TASK_NOTE_ORDER, .number = number, .since_ms = order->since_ms});
	return 0;
}

bool task_book_cancels(const struct phx_task_cancel *c, const struct task_key *key)
{
	return c->run == key->run && c->submitted_ms == key->submitted_ms &&
		(c->whole || (c->task == key->task && c->attempt >= key->attempt));
}

/* ---- rows for the head ---- */

/* From the last one back: all before a synced one are synced, too. */
void task_book_synced(struct task_book *b)
{
	for (uint32_t i = b->last[TASK_ENDED]; i != TASK_NONE && !b->entries[i].synced;
	     i = b->entries[i].prev)
		b->entries[i].synced = true;
}

uint32_t task_book_rows(const struct task_book *b, const struct task_owner *o, uint32_t most,
			struct phx_list *ret)
{
	for (uint32_t i = b->first[TASK_ENDED];
	     i != TASK_NONE && ret->n < most && b->entries[i].synced; i = b->entries[i].next) {
		struct phx_task_result *w = phx_list_push(ret, sizeof(*w));
		if (!w)
			break;
		*w = *result_of(b, o, i);
	}
	return ret->n;
}

static void set_said(struct task_book *b, const struct task_owner *o, uint32_t i)
{
	o->drop(o->arg, PHX_TAKE(b->entries[i].body));
	unlink_entry(b, i);
	link_entry(b, i, TASK_SAID);
	if (b->n[TASK_SAID] > TASKS_KNOWN_MAX)
		forget_oldest(b);
}

void task_book_told(struct task_book *b, const struct task_owner *o, uint32_t n)
{
	for (uint32_t i; n && (i = b->first[TASK_ENDED]) != TASK_NONE; n--) {
		o->note(o->arg,
			&(struct task_note){.kind = TASK_NOTE_SAID, .key = b->entries[i].key});
		set_said(b, o, i);
	}
}

/* ---- the next keeper ---- */

static uint32_t find_same(const struct task_book *b, const struct task_key *key)
{
	uint32_t known;
	return task_book_judge(b, key, &known) == DECIDE_JOB_SAME ? known : TASK_NONE;
}

/* A task that an earlier keeper had said already. */
static void remember(struct task_book *b, const struct task_key *key)
{
	put(b, &(struct task_entry){.key = *key, .after = TASK_NONE}, TASK_SAID);
	if (b->n[TASK_SAID] > TASKS_KNOWN_MAX)
		forget_oldest(b);
}

static void replay_end(struct task_book *b, const struct task_owner *o, uint32_t i,
		       const struct phx_task_result *w)
{
	if (b->entries[i].state != TASK_WAITS)
		return;
	*result_of(b, o, i) = *w;
	b->entries[i].synced = true;
	task_book_end(b, i);
}

static void replay_said(struct task_book *b, const struct task_owner *o, uint32_t i)
{
	if (b->entries[i].state == TASK_WAITS)
		task_book_end(b, i);
	set_said(b, o, i);
}

void task_book_replay(struct task_book *b, const struct task_owner *o, const struct task_note *n)
{
	if (n->kind == TASK_NOTE_ORDER) {
		set_order(b, n->number, n->since_ms);
		return;
	}
	uint32_t i = find_same(b, &n->key);
	if (i == TASK_NONE && n->kind == TASK_NOTE_SAID)
		remember(b, &n->key);
	else if (i == TASK_NONE)
		i = put_new(b, o, &n->key, NULL, TASK_NONE);
	if (i == TASK_NONE || b->entries[i].state == TASK_SAID)
		return;
	if (n->kind == TASK_NOTE_BEGUN)
		result_of(b, o, i)->begin_ms = n->begin_ms;
	else if (n->kind == TASK_NOTE_ENDED)
		replay_end(b, o, i, &n->result);
	else if (n->kind == TASK_NOTE_SAID)
		replay_said(b, o, i);
}

void task_book_lose(struct task_book *b, const struct task_owner *o, int64_t now_ms)
{
	for (uint32_t i; (i = b->first[TASK_WAITS]) != TASK_NONE;) {
		PHX_STR_SET(result_of(b, o, i)->text,
			    "the node, or what keeps its tasks, started anew");
		task_book_finish(b, o, i, PHX_TASK_LOST, 0, now_ms);
	}
}

static void each_note_of(const struct task_book *b, const struct task_owner *o, uint32_t i,
			 task_note_fn *fn, void *arg)
{
	const struct task_entry *e = &b->entries[i];
	bool said = e->state == TASK_SAID;
	fn(arg,
	   &(struct task_note){.kind = said ? TASK_NOTE_SAID : TASK_NOTE_TAKEN, .key = e->key});
	if (e->state == TASK_RUNS)
		fn(arg,
		   &(struct task_note){.kind = TASK_NOTE_BEGUN,
				       .key = e->key,
				       .begin_ms = result_of(b, o, i)->begin_ms});
	if (e->state == TASK_ENDED)
		fn(arg,
		   &(struct task_note){
			   .kind = TASK_NOTE_ENDED, .key = e->key, .result = *result_of(b, o, i)});
}

void task_book_each_note(const struct task_book *b, const struct task_owner *o, task_note_fn *fn,
			 void *arg)
{
	fn(arg,
	   &(struct task_note){
		   .kind = TASK_NOTE_ORDER, .number = b->order, .since_ms = b->since_ms});
	for (int s = 0; s < TASK_STATES; s++)
		for (uint32_t i = b->first[s]; i != TASK_NONE; i = b->entries[i].next)
			each_note_of(b, o, i, fn, arg);
}
