/* The rules of the step log (step_log.h): what is written in which order, what is kept and what is
 * forgotten. Values in, values out: its owner reads and writes. Used by the step log, whose steps
 * are files, and by the agents of the fault simulation. Pure: make check-pure proves it. */
#ifndef PHX_AGENT_STEP_BOOK_H
#define PHX_AGENT_STEP_BOOK_H

#include "base/err.h"
#include "base/util.h"

/** How many finished steps an agent keeps. */
#define STEP_BOOK_KEEP 128

typedef void step_book_fn(void *arg, uint64_t id);

/** Where finished steps and the highest epoch lie. What write() and write_epoch() have written
 * outlasts the agent once they return 0; on failure what was there before is still there. `step` is
 * the owner's record of a step. */
struct step_book {
	void *arg;     /* passed to all functions */
	uint32_t keep; /* how many steps; the oldest go */
	/** Write how step `id` ended, in place of what was written of it before. */
	int (*write)(void *arg, uint64_t id, const void *step, struct phx_err *err);
	/** -ENOENT: nothing is written of the step; -EBADMSG: what is written is damaged. */
	int (*read)(void *arg, uint64_t id, void *ret_step, struct phx_err *err);
	int (*remove)(void *arg, uint64_t id);
	/** Call fn(fn_arg, ID) for each step that is written. fn() changes no step of this book. */
	int (*each)(void *arg, step_book_fn *fn, void *fn_arg);
	int (*write_epoch)(void *arg, uint64_t epoch, struct phx_err *err);
};

/** Write down that step `id` ended, and forget the oldest beyond the bound: those with the lowest
 * ids, since a head gives ids in ascending order. That they cannot be removed is no error. */
int step_book_put(const struct step_book *b, uint64_t id, const void *step, struct phx_err *err);

/** Epochs of orders. */
struct step_epochs {
	uint64_t seen;    /* the highest of any order: no step of an older one begins */
	uint64_t written; /* the highest that outlasts the agent: no step of a newer one begins */
};

/** An order of this epoch came: nothing older begins from now on, whether this can be written down
 * or not. Then write it down, if it is not written yet; on failure its steps must not begin, since
 * an agent that starts anew would follow older orders. An older one changes nothing. */
int step_book_keep_epoch(const struct step_book *b, struct step_epochs *e, uint64_t epoch,
			 struct phx_err *err);

/** Write all steps of `from` into `to`, the book of a system that is entered, and then the epoch
 * `from_epoch`, if it is newer than `to_epoch`. `room`: for one step. Forgets as step_book_put()
 * does. */
int step_book_copy(const struct step_book *from, uint64_t from_epoch, const struct step_book *to,
		   uint64_t to_epoch, void *room, struct phx_err *err);

#endif
