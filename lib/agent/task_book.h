/* The book of the tasks that this node was given: it knows them all, decides what an order comes to
 * and which task begins next, and notes what the next keeper must know. Values in, values out: no
 * file, no process, no clock; the owner of a book tells it what happened, and does what it says.
 * Used by the keeper of tasks (task_keeper.h) and by those of the fault simulation. Pure: make
 * check-pure proves it.
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
	bool synced;         /* it ended, and the note of that outlasts the keeper */
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

/* ---- notes ---- */

enum task_note_kind {
	TASK_NOTE_ORDER, /* an order was taken: number, since_ms */
	TASK_NOTE_TAKEN, /* key: the task was given to this node */
	TASK_NOTE_BEGUN, /* key, begin_ms */
	TASK_NOTE_ENDED, /* result */
	TASK_NOTE_SAID,  /* key: the head has its result */
};

/** What the next keeper must know. */
struct task_note {
	enum task_note_kind kind;
	struct task_key key; /* of TASK_NOTE_ENDED: set when the note was read */
	uint64_t number;
	int64_t since_ms, begin_ms;
	struct phx_task_result result;
};

typedef void task_note_fn(void *arg, const struct task_note *note);

/* ---- who has a book ---- */

/** What the owner of a book does for it; all functions get `arg`. */
struct task_owner {
	void *arg;
	/** Make the body of an entry. `task`: as it was ordered; NULL: all that is known of it is
	 * its key. NULL: no memory. */
	void *(*make)(void *arg, const struct phx_task *task);
	/** Free a body; NULL is one, too. */
	void (*drop)(void *arg, void *body);
	/** The result in a body, which is the book's to write: key, outcome, times, text. */
	struct phx_task_result *(*result)(void *body);
	/** Note this; it is lost with the keeper until it is synced (task_book_synced()). */
	task_note_fn *note;
	/** Tell a running task to end, for `why`; task_book_finish() follows when it has. It may
	 * have been told before. */
	void (*tell)(void *arg, uint32_t i, enum phx_task_outcome why);
	/** The task ended, which is noted. */
	void (*ended)(void *arg, uint32_t i);
};

/* ---- the book ---- */

/** An empty book of a node with these resources; nothing to free yet. */
void task_book_init(struct task_book *b, uint32_t cores, uint64_t memory_bytes);
/** Bodies are the caller's to free. Safe on a book that is all zero. */
void task_book_fini(struct task_book *b);

/** Set how much all tasks may use. Does nothing while tasks run: their shares were counted by the
 * former figures. */
void task_book_give(struct task_book *b, uint32_t cores, uint64_t memory_bytes);

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
/* ---- orders ---- */

/** Is the order to be taken? 1 it is; 0: it was taken; -EBUSY: too many tasks are here. `since_ms`
 * of an order: when the head began to number the orders of this node. */
int task_book_admits(const struct task_book *b, uint64_t number, const struct phx_task_order *order,
		     struct phx_err *err);
/** Take the order, which was admitted: tasks that are not known are put into the book, older
 * attempts of them are ended; then tasks are cancelled. One that cannot begin here, or is cancelled
 * before it is known, ends at once, so that it is answered. All of that is noted; nothing of it may
 * begin until the notes are synced. -ENOMEM: half of it is in the book, which cannot go on. */
int task_book_order(struct task_book *b, const struct task_owner *o, uint64_t number,
		    const struct phx_task_order *order);
/** Does this order to cancel apply to the task? */
bool task_book_cancels(const struct phx_task_cancel *c, const struct task_key *key);

/* ---- what becomes of a task ---- */

/** Entry `i` began (task_book_begin()), at `now_ms` of the wall clock. */
void task_book_begun(struct task_book *b, const struct task_owner *o, uint32_t i, int64_t now_ms);
/** The task ended so, at `now_ms`; the clock may have been set back. */
void task_book_finish(struct task_book *b, const struct task_owner *o, uint32_t i,
		      enum phx_task_outcome outcome, uint32_t status, int64_t now_ms);
/** End a task for `why`: one that waits ends now, one that runs is told to end. */
void task_book_stop(struct task_book *b, const struct task_owner *o, uint32_t i,
		    enum phx_task_outcome why);
/** The same for all that wait or run. */
void task_book_stop_all(struct task_book *b, const struct task_owner *o, enum phx_task_outcome why);
/** Call `fn` for each task that waits or runs; it may end the task that it is called with. */
void task_book_each_open(struct task_book *b, void (*fn)(void *arg, uint32_t i), void *arg);

/* ---- rows for the head ---- */

/** Replace what is not printable in the text of a result by '?'. */
void task_book_make_printable(char *text);

/** All notes outlast the keeper from now on. */
void task_book_synced(struct task_book *b);
/** Put the results of the first tasks that ended into *ret, at most `most`, and return how many. A
 * result is told once its note is synced: else the next keeper would tell another. What they point
 * to is the book's. */
uint32_t task_book_rows(const struct task_book *b, const struct task_owner *o, uint32_t most,
			struct phx_list *ret);
/** The head has the results of the first `n` tasks that ended: their bodies are dropped. The oldest
 * said tasks may be forgotten. */
void task_book_told(struct task_book *b, const struct task_owner *o, uint32_t n);

/* ---- the next keeper ---- */

/** Apply one note of an earlier keeper to a book that was empty before the first. After the last,
 * task_book_lose() ends the tasks that had not ended. Notes nothing. */
void task_book_replay(struct task_book *b, const struct task_owner *o, const struct task_note *n);
/** All tasks that were there have gone with the earlier keeper, and are answered as lost. */
void task_book_lose(struct task_book *b, const struct task_owner *o, int64_t now_ms);
/** Call `fn` with notes that come to this book, for a log that has grown long. */
void task_book_each_note(const struct task_book *b, const struct task_owner *o, task_note_fn *fn,
			 void *arg);

static inline struct task_entry *task_book_at(const struct task_book *b, uint32_t i)
{
	return &b->entries[i];
}

#endif
