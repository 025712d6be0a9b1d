/* The application of one event: the data that every handler gets, and the functions by which it
 * leaves actions, notes and entries of the worklist. Used by the pure rooms above only. Pure. */
#ifndef PHX_STATE_APPLY_H
#define PHX_STATE_APPLY_H

#include "state/event.h"

/** Work that a lower room leaves to an upper one within one event (worklist.c). */
enum phx_work_kind {
	PHX_WORK_NODE_READY, /* a plan ended in the free pool: rules may give the node a role */
	/* an engine has told of its jobs: what came free is promised before what began is
	 * counted */
	PHX_WORK_ENGINE_TOLD,
	/* an engine has told of its jobs: it may have let go of the node, whose hand-over waits */
	PHX_WORK_NODE_LET_GO,
	PHX_WORK_JOB_LOST, /* the node was lost under a job of an RE: the ledger hears of it */
	PHX_WORK_COUNT_
};

struct phx_apply;
/** Does the work of one entry of the worklist; `n`: its node. */
typedef void (*phx_work_fn)(struct phx_apply *a, struct phx_node *n);

/** One application of one event. */
struct phx_apply {
	struct phx_state *s;
	const struct phx_event_head *ev; /* what it carries is given to its handler alone */
	struct phx_outcome *out;
	struct phx_err *err;
	/* who sent the event; "" when the core orders by itself */
	const char *by;
	enum phx_jobs_say jobs;         /* may jobs end by the event? */
	const struct phx_list *may_end; /* struct phx_job_ref: NAMED; of an order on an RE */
	bool tells; /* of the same: is it told how many jobs end? false in journals of before */
	/* struct phx_ledger_action: actions of the ledger that re/allocation.c has to carry out */
	struct phx_list *todo;
	struct phx_list *work;      /* the worklist */
	const phx_work_fn *do_work; /* by kind */
};

/** Handlers, in the rooms above, for the dispatcher (core/apply.c) alone: each applies one kind of
 * event, or several (event.def). It checks first and changes afterwards, so that a refused event
 * leaves the state as it was. */
#define EVENT(name, text, payload, handler) \
	int handler(struct phx_apply *a, const struct phx_event_##payload *p);
#include "state/event.def"

/* outcome.c */
/** Returns `r`. -ENOMEM sticks: the event ends with it, also when a caller drops the result. */
int phx_stick(struct phx_apply *a, int r);
/** Replace a TEXT of the state, cut after 255 bytes; "" gives NULL. Lack of memory sticks. */
void phx_put_text(struct phx_apply *a, char **to, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Append a zeroed item to a list of the state. NULL: out of memory, which sticks. */
void *phx_grow(struct phx_apply *a, struct phx_list *list, size_t item_size);
/** Append an action for `n` (may be NULL). NULL: out of memory, which sticks. */
struct phx_action *phx_act(struct phx_apply *a, enum phx_action_kind kind,
			   const struct phx_node *n);
/** Append an action on the power of `n`, of no step. NULL: out of memory, which sticks. */
struct phx_action *phx_act_power(struct phx_apply *a, const struct phx_node *n,
				 enum phx_power_op op);
/** Append a note: a sentence about `n` for `phx events`. */
void phx_note(struct phx_apply *a, const struct phx_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Append a note about `n` (may be NULL) to the history of an RE and of another one (may be NULL).
 */
void phx_note_re(struct phx_apply *a, const struct phx_node *n, const char *re,
		 const char *other_re, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* worklist.c */
/** Add an entry for `n` (may be NULL if the kind needs no node) to the worklist. */
void phx_work_add(struct phx_apply *a, enum phx_work_kind kind, const struct phx_node *n);
/** The same, done at once: where the caller goes on with what comes of it. */
void phx_work_now(struct phx_apply *a, enum phx_work_kind kind, struct phx_node *n);
/** Do all entries of the worklist, with those that they add. */
void phx_work_settle(struct phx_apply *a);

/* random.c */
/** A number that nobody can know before the event, from 1 to INT64_MAX, another one for each `of`
 * (the id of a step). Numbers of one event follow from each other for whoever knows one of them. 0:
 * the event has no random number, as in journals of before. */
uint64_t phx_draw(struct phx_apply *a, uint64_t of);

/* incarnation.c */
/** The numbers that phx_incarnation_begin() found, for phx_incarnation_undo(). */
struct phx_incarnation {
	uint64_t number, last_step_id;
};
/** From now on ids belong to incarnation `number`, if that is a new one. */
struct phx_incarnation phx_incarnation_begin(struct phx_state *s, uint64_t number);
/** The event changed nothing: restore the numbers. */
void phx_incarnation_undo(struct phx_state *s, struct phx_incarnation was);
/** The epoch of the node's next plan: above its last one, and of this incarnation. */
uint64_t phx_next_epoch(const struct phx_state *s, const struct phx_node *n);
/** Is the event replayed from a journal of before incarnations? It has to come out as it did then.
 */
static inline bool phx_of_before(const struct phx_state *s)
{
	return !s->incarnation;
}

#endif
