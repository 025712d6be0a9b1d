/* See task_book.h. Pure: make check-pure proves it. */
#include "agent/task_book.h"

#include <errno.h>
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

/* ---- orders ---- */

bool task_book_is_new(const struct task_book *b, int64_t since_ms, uint64_t order)
{
	return since_ms != b->since_ms || order > b->order;
}

void task_book_taken(struct task_book *b, int64_t since_ms, uint64_t order)
{
	b->since_ms = since_ms;
	b->order = order;
}

bool task_book_has_room(const struct task_book *b, uint32_t n)
{
	return b->n[TASK_WAITS] + b->n[TASK_RUNS] + b->n[TASK_ENDED] + n <= TASKS_HELD_MAX;
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

int task_book_remember(struct task_book *b, const struct task_key *key)
{
	uint32_t i = put(b, &(struct task_entry){.key = *key, .after = TASK_NONE}, TASK_SAID);
	if (b->n[TASK_SAID] > TASKS_KNOWN_MAX)
		forget_oldest(b);
	return i == TASK_NONE ? -ENOMEM : 0;
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

void task_book_said(struct task_book *b, uint32_t i)
{
	b->entries[i].body = NULL;
	unlink_entry(b, i);
	link_entry(b, i, TASK_SAID);
	if (b->n[TASK_SAID] > TASKS_KNOWN_MAX)
		forget_oldest(b);
}

bool task_book_cancels(const struct phx_task_cancel *c, const struct task_key *key)
{
	return c->run == key->run && c->submitted_ms == key->submitted_ms &&
		(c->whole || (c->task == key->task && c->attempt >= key->attempt));
}
