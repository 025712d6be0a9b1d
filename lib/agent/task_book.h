/* The book of the tasks that this node was given: it knows them all, and decides which begins next.
 * Values in, values out: no file, no process, no clock; the owner of a book tells it what happened.
 * Used by the keeper of tasks (task_keeper.h). Pure: make check-pure proves it.
 *
 *	waits ──begins──▶ runs ──ends──▶ ended ──said──▶ said ──many later──▶ forgotten
 *	  └───────────cancelled─────────────▲
 *
 * "Said": the head has the result. Such a task is still known, so that a late copy of its order
 * does not run it a second time. */
#ifndef PHX_AGENT_TASK_BOOK_H
#define PHX_AGENT_TASK_BOOK_H

#include "agent/decide.h"
#include "base/hash.h"
#include "types/task.h"

/** How many tasks may be held, which are not said yet: further ones are left to the head, which
 * orders them again. */
#define TASKS_HELD_MAX 8192
/** How many tasks stay known after they are said. */
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
	uint32_t after;      /* an older attempt, which must end first; TASK_NONE */
	uint32_t prev, next; /* in the list of its state; `next` also links unused entries */
	void *body;          /* the owner's data of the task, until it is said */
};

struct task_book {
	struct task_entry *entries;
	uint32_t n_entries, unused;
	struct phx_hash index; /* of entries, by run and task */
	uint32_t first[TASK_STATES], last[TASK_STATES], n[TASK_STATES];
	uint32_t cores, free_cores;
	uint64_t memory_bytes, free_memory; /* memory_bytes 0: memory is not counted */
	uint32_t passed; /* how often others began before the first waiting task */
	uint64_t order;  /* number of the last order that was taken */
	int64_t since_ms;
};

/** An empty book of a node with these resources; nothing to free yet. */
void task_book_init(struct task_book *b, uint32_t cores, uint64_t memory_bytes);
/** Bodies are the caller's to free. Safe on a book that is all zero. */
void task_book_fini(struct task_book *b);

/** Set how much all tasks may use. Does nothing while tasks run: their shares were counted by the
 * former figures. */
void task_book_give(struct task_book *b, uint32_t cores, uint64_t memory_bytes);

/** Was this order not taken yet? task_book_taken() records that it is. `since_ms`: when the head
 * began to number the orders of this node. */
bool task_book_is_new(const struct task_book *b, int64_t since_ms, uint64_t order);
void task_book_taken(struct task_book *b, int64_t since_ms, uint64_t order);
/** Is there room for `n` more tasks? */
bool task_book_has_room(const struct task_book *b, uint32_t n);

/** Judge an order about this attempt of a task. ret_known: the newest known attempt of the task, or
 * TASK_NONE. */
enum decide_job task_book_judge(const struct task_book *b, const struct task_key *key,
				uint32_t *ret_known);
/** Could a task with these needs ever begin here? 0 cores: all cores of the node. */
bool task_book_fits(const struct task_book *b, uint32_t cores, uint64_t memory_bytes);
/** Add an unknown task behind all that wait. `after`: an older attempt of it, which the caller
 * ends. Returns its index; TASK_NONE: no memory. */
uint32_t task_book_put(struct task_book *b, const struct task_key *key, uint32_t cores,
		       uint64_t memory_bytes, uint32_t after, void *body);
/** Choose the next task to begin, and give it its cores and memory; TASK_NONE: none can begin now.
 * The first that fits begins, but no task waits for ever behind smaller ones. */
uint32_t task_book_begin(struct task_book *b);
/** The task ended, or is not to begin: its resources are free again. */
void task_book_end(struct task_book *b, uint32_t i);
/** The head has the result of the task. The oldest said task may be forgotten. */
void task_book_said(struct task_book *b, uint32_t i);
/** Add a task of an earlier keeper that was said already. -ENOMEM. */
int task_book_remember(struct task_book *b, const struct task_key *key);

/** Does this order to cancel apply to the task? */
bool task_book_cancels(const struct phx_task_cancel *c, const struct task_key *key);

static inline struct task_entry *task_book_at(const struct task_book *b, uint32_t i)
{
	return &b->entries[i];
}

#endif
