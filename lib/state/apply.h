/* One application of one event: what every handler has in hand, and what it leaves behind: actions,
 * notes, entries of the worklist. Within the pure rooms above it only. Pure. */
#ifndef PHX_STATE_APPLY_H
#define PHX_STATE_APPLY_H

#include "state/event.h"

/** What a lower room leaves to an upper one within one event (work.c). */
enum phx_work_kind {
	PHX_WORK_NODE_READY, /* its plan has ended in the free pool: rules may give it a role */
	/* an engine has told of its jobs: what came free is promised before what began is
	 * counted */
	PHX_WORK_ENGINE_TOLD,
	/* an engine has told of its jobs: it may have let go of the node, whose hand-over waits */
	PHX_WORK_NODE_LET_GO,
	PHX_WORK_JOB_LOST, /* the node was lost under a job of an RE: the ledger hears of it */
	PHX_WORK_COUNT_
};

struct phx_apply;
/** Does one entry of the worklist; `n`: its node. */
typedef void (*phx_work_fn)(struct phx_apply *a, struct phx_node *n);

/** One application of one event. */
struct phx_apply {
	struct phx_state *s;
	const struct phx_event *ev;
	struct phx_outcome *out;
	struct phx_err *err;
	/* for whom: who sent the event; "" for what the core orders by itself */
	const char *by;
	enum phx_jobs_say jobs; /* may jobs end by that? */
	/* struct phx_ledger_action: what the ledger wants done, done by share.c */
	struct phx_list *todo;
	struct phx_list *work;      /* the worklist */
	const phx_work_fn *do_work; /* by kind */
};

/* outcome.c */
/** Returns `r`. If that is -ENOMEM it sticks: whatever else is done, and whoever drops the result,
 * the event ends with it. */
int phx_stick(struct phx_apply *a, int r);
/** An item more in a list of the state, zeroed; NULL: memory is lacking, and that sticks. */
void *phx_grow(struct phx_apply *a, struct phx_list *list, size_t item_size);
/** Append an action for `n` (may be NULL); NULL: the same. */
struct phx_action *phx_act(struct phx_apply *a, enum phx_action_kind kind,
			   const struct phx_node *n);
/** Append a note: a sentence about `n` for `phx events`. */
void phx_note(struct phx_apply *a, const struct phx_node *n, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** The same about an RE, and one more (may be NULL): their histories. */
void phx_note_re(struct phx_apply *a, const struct phx_node *n, const char *re,
		 const char *other_re, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/** The event's node; -ENOENT with a text. */
int phx_need_node(struct phx_apply *a, struct phx_node **ret);
/** The pool holds the node, or the node is on its way to it. */
bool phx_node_is_of(const struct phx_node *n, const char *pool);
/** Off, and again until it is seen off. */
void phx_power_off(struct phx_apply *a, struct phx_node *n);

/* work.c */
/** Leave something to be done for `n` (may be NULL where the kind needs no node). */
void phx_work_add(struct phx_apply *a, enum phx_work_kind kind, const struct phx_node *n);
/** The same, done at once: where the caller goes on with what comes of it. */
void phx_work_now(struct phx_apply *a, enum phx_work_kind kind, struct phx_node *n);
/** Do all that is left, and what that leaves. */
void phx_work_settle(struct phx_apply *a);

/* incarnation.c */
/** What phx_incarnation_begin() found. */
struct phx_incarnation {
	uint64_t number, last_step_id;
};
/** From now on ids are those of incarnation `number`, if it is a new one. */
struct phx_incarnation phx_incarnation_begin(struct phx_state *s, uint64_t number);
/** Nothing came of the event: as it was before it. */
void phx_incarnation_undo(struct phx_state *s, struct phx_incarnation was);
/** The epoch of the node's next plan: above its last one, and of this incarnation. */
uint64_t phx_next_epoch(const struct phx_state *s, const struct phx_node *n);
/** The event is of a journal from before incarnations: it is replayed, and has to come out as it
 * did then. */
static inline bool phx_of_before(const struct phx_state *s)
{
	return !s->incarnation;
}

#endif
