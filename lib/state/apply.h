/* The application of one event: the data that every handler gets, and the functions by which a
 * handler leaves actions, notes and entries of the worklist. Used only by the pure rooms above.
 * Pure. */
#ifndef PHX_STATE_APPLY_H
#define PHX_STATE_APPLY_H

#include "state/event.h"

/** Work that a lower room leaves to an upper one within one event (worklist.c). */
enum phx_work_kind {
	PHX_WORK_LINES,      /* turns to be rebooted may have come, of whatever node */
	PHX_WORK_NODE_READY, /* a plan ended in the free pool: a rule may give the node a role */
	/* an external engine reported its jobs: nodes that came free are promised before the jobs
	 * that began are counted */
	PHX_WORK_ENGINE_TOLD,
	/* an external engine reported its jobs: it may have let go of the node, whose hand-over
	 * waits for that */
	PHX_WORK_NODE_LET_GO,
	/* the node was lost while a job of an RE ran on it: the ledger must know */
	PHX_WORK_JOB_LOST,
	/* the node's agent does not say that a job has ended, which was told to for the node */
	PHX_WORK_JOB_UNHEARD,
	PHX_WORK_COUNT_
};

struct phx_apply;
/** Does the work of one entry of the worklist; `n`: its node. */
typedef void (*phx_work_fn)(struct phx_apply *a, struct phx_node *n);

/** One application of one event. */
struct phx_apply {
	struct phx_state *s;
	const struct phx_event_head *ev; /* only its handler gets the payload */
	struct phx_outcome *out;
	struct phx_err *err;
	/* who sent the event; "" when the core orders by itself */
	const char *by;
	enum phx_jobs_say jobs; /* may the event end jobs? */
	/* struct phx_job_ref: those that may end, if `jobs` is NAMED; for an order on an RE */
	const struct phx_list *may_end;
	/* for an order on an RE: does its history get the number of jobs that end? false in older
	 * journals */
	bool tells;
	/* struct phx_ledger_action: what the ledger wants; re/allocation.c carries it out */
	struct phx_list *todo;
	struct phx_list *work;      /* the worklist */
	const phx_work_fn *do_work; /* by kind */
};

/** Handlers, defined in the rooms above and called by the dispatcher (core/apply.c) alone: each
 * applies one or several kinds of event (event.def). A handler checks first and changes afterwards,
 * so that a refused event leaves the state as it was. */
#define EVENT(name, text, payload, handler) \
	int handler(struct phx_apply *a, const struct phx_event_##payload *p);
#include "state/event.def"

/* outcome.c */
/** Returns `r`, and keeps -ENOMEM: the event ends with -ENOMEM even if a caller drops the
 * result. */
int phx_stick(struct phx_apply *a, int r);
/** Something that no table allows was about to happen, to node `n` (NULL: to none alone): an error
 * of the program. The event ends with -EPROTO and this text, and its outcome names the node. */
void phx_stick_never(struct phx_apply *a, const struct phx_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Replace a TEXT of the state, which is freed, by a formatted copy of at most 255 bytes; "" gives
 * NULL. Out of memory: as phx_stick(). */
void phx_put_text(struct phx_apply *a, char **to, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Append a zeroed item to a list of the state, which owns it. NULL: out of memory, as
 * phx_stick(). */
void *phx_grow(struct phx_apply *a, struct phx_list *list, size_t item_size);
/** Append an action for `n` (may be NULL). NULL: out of memory, as phx_stick(). The action is
 * borrowed until the next one is appended. */
struct phx_action *phx_act(struct phx_apply *a, enum phx_action_kind kind,
			   const struct phx_node *n);
/** Append an action on the power of `n` that belongs to no step. NULL: out of memory, as
 * phx_stick(). Borrowed like that of phx_act(). */
struct phx_action *phx_act_power(struct phx_apply *a, const struct phx_node *n,
				 enum phx_power_op op);
/** Append a note: a sentence about `n` for `phx events`. */
void phx_note(struct phx_apply *a, const struct phx_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Append a note about `n` (may be NULL) to the history of `re` and of `other_re` (may be NULL). */
void phx_note_re(struct phx_apply *a, const struct phx_node *n, const char *re,
		 const char *other_re, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/** The present step of `n` ended now: leaves that for metrics. `failed`: an attempt of it; else
 * call it once the step is done, and the plan has gone on. */
void phx_step_over(struct phx_apply *a, const struct phx_node *n, const struct phx_step *step,
		   bool failed);

/* worklist.c */
/** Add an entry for `n` (may be NULL if the kind needs no node) to the worklist. */
void phx_work_add(struct phx_apply *a, enum phx_work_kind kind, const struct phx_node *n);
/** Do the work of such an entry at once, for a caller that goes on with the outcome. */
void phx_work_now(struct phx_apply *a, enum phx_work_kind kind, struct phx_node *n);
/** Do all entries of the worklist, including those that are added meanwhile. */
void phx_work_settle(struct phx_apply *a);

/* random.c */
/** A number that nobody can know before the event: 1 to INT64_MAX, and a different one for each
 * `of` (the id of a step). Whoever knows one number of an event can compute the others. 0: the
 * event has no random number, as in older journals. */
uint64_t phx_draw(struct phx_apply *a, uint64_t of);

/* incarnation.c */
/** The numbers that phx_incarnation_begin() found, for phx_incarnation_undo(). */
struct phx_incarnation {
	uint64_t number, last_step_id;
};
/** From now on ids belong to incarnation `number`, if that is above the present one. Returns what
 * phx_incarnation_undo() needs. */
struct phx_incarnation phx_incarnation_begin(struct phx_state *s, uint64_t number);
/** The event changed nothing: restore the numbers. */
void phx_incarnation_undo(struct phx_state *s, struct phx_incarnation was);
/** The epoch for the node's next plan: above its last epoch, and within this incarnation. */
uint64_t phx_next_epoch(const struct phx_state *s, const struct phx_node *n);
/** Is the event replayed from a journal older than incarnations? Its outcome must be what it was
 * then. */
static inline bool phx_of_before(const struct phx_state *s)
{
	return !s->incarnation;
}

#endif
