/* The tasks that this node was given, as far as they decide: which are known, which begins next,
 * what is to be answered. Values in, values out: no file, no process, no clock; whoever has a book
 * says what happened. Used by the keeper of tasks (task_keeper.h). Pure: make check-pure proves it.
 *
 *	waits ──begins──▶ runs ──ends──▶ ended ──said──▶ said ──many later──▶ forgotten
 *	  └───────────cancelled─────────────▲
 *
 * A task that is said is known still: a late copy of its order runs it no second time. */
#ifndef PHX_AGENT_TASK_BOOK_H
#define PHX_AGENT_TASK_BOOK_H

#include "agent/decide.h"
#include "base/hash.h"
#include "types/task.h"

/** Tasks that are held, not yet said: more are left to the head, which orders them again. */
#define TASKS_HELD_MAX 8192
/** Tasks that are said and known still. */
#define TASKS_KNOWN_MAX 65536
#define TASK_NONE UINT32_MAX

struct task_key {
	PHX_MEMBERS(task_key, PHX_TASK_KEY_FIELDS)
};
/** The key of a struct phx_task, phx_task_cancel or phx_task_result. */
#define TASK_KEY(t) ((struct task_key){(t)->run, (t)->submitted_ms, (t)->task, (t)->attempt})

enum task_state { TASK_WAITS, TASK_RUNS, TASK_ENDED, TASK_SAID, TASK_STATES };

struct task_entry {
	struct task_key key;
	enum task_state state;
	uint32_t cores;
	uint64_t memory_bytes;
	uint32_t after;      /* an older attempt, which must have ended first; TASK_NONE */
	uint32_t prev, next; /* in the list of its state; next: of the unused ones */
	void *body;          /* of whoever has the book, until it is said */
};

struct task_book {
	struct task_entry *entries;
	uint32_t n_entries, unused;
	struct phx_hash index; /* of entries, by run and task */
	uint32_t first[TASK_STATES], last[TASK_STATES], n[TASK_STATES];
	uint32_t cores, free_cores;
	uint64_t memory_bytes, free_memory; /* memory_bytes 0: it is not counted */
	uint32_t passed;                    /* how often others began before the first that waits */
	uint64_t order;                     /* the last that was taken */
	int64_t since_ms;
};

/** An empty book of a node with so much; nothing to free yet. */
void task_book_init(struct task_book *b, uint32_t cores, uint64_t memory_bytes);
/** Bodies are the caller's. Safe on one that is all zero. */
void task_book_fini(struct task_book *b);

/** How much all tasks may use from now on; those that run go on. */
void task_book_give(struct task_book *b, uint32_t cores, uint64_t memory_bytes);

/** Is the order one that was not taken yet? task_book_taken() notes that it is. */
bool task_book_is_new(const struct task_book *b, int64_t since_ms, uint64_t order);
void task_book_taken(struct task_book *b, int64_t since_ms, uint64_t order);
/** Have `n` more tasks room? */
bool task_book_has_room(const struct task_book *b, uint32_t n);

/** What an order about this run of a task is; ret_known: the newest one of the task that is known,
 * or TASK_NONE. */
enum decide_job task_book_judge(const struct task_book *b, const struct task_key *key,
				uint32_t *ret_known);
/** Could a task that wants so much ever begin here? 0 cores: all that there are. */
bool task_book_fits(const struct task_book *b, uint32_t cores, uint64_t memory_bytes);
/** Put a task that is not known behind all that wait; `after`: an older attempt of it, which the
 * caller ends. TASK_NONE: no memory. */
uint32_t task_book_put(struct task_book *b, const struct task_key *key, uint32_t cores,
		       uint64_t memory_bytes, uint32_t after, void *body);
/** The next that begins, which has its cores and its memory from now on; TASK_NONE: none now. The
 * first that fits begins, but nobody waits for ever behind smaller ones. */
uint32_t task_book_begin(struct task_book *b);
/** It ended, or is not to begin: what it had is free. */
void task_book_end(struct task_book *b, uint32_t i);
/** The head knows that it ended; the oldest of the said ones may be forgotten. */
void task_book_said(struct task_book *b, uint32_t i);
/** One that is known from before, and was said; never in the way of others. -ENOMEM. */
int task_book_remember(struct task_book *b, const struct task_key *key);

/** Does this cancel mean the task? */
bool task_book_cancels(const struct phx_task_cancel *c, const struct task_key *key);

static inline struct task_entry *task_book_at(const struct task_book *b, uint32_t i)
{
	return &b->entries[i];
}

#endif
