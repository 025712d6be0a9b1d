/* What would have been: the cluster's own journal, from one moment until another, through the
 * simulator, as it was agreed and with something changed (more nodes, another model, other bounds).
 *
 *   phx_past_new ─▶ (phx_past_state) ─▶ phx_past_event ... ─▶ phx_past_run
 *
 * The events are applied again, as for a start; of the state after each is kept which jobs there
 * were, how many instances web services wanted, which agreements and how many nodes. Used by phx
 * sim plan --journal and by phxd, whose process that does it is told the events by the head. Opens
 * no file, sends nothing. */
#ifndef PHX_PAST_PAST_H
#define PHX_PAST_PAST_H

#include <jansson.h>

#include "store/store.h"
#include "types/agreement.h"

/** What is asked. */
#define PHX_PAST_WISH_FIELDS(F, S) \
	F(S, from_ms, I64) /* core time */ \
	F(S, until_ms, I64) \
	F(S, re, STR(PHX_NAME_MAX)) /* of this RE alone, on nodes enough for it; "" = of all */ \
	/* what is changed: nodes more than there were, or fewer; not for one RE */ \
	F(S, nodes, I64) \
	F(S, has_model, BOOL) /* all REs have `model` */ \
	F(S, model, ENUM(phx_policy)) \
	F(S, wipes, BOOL)         /* the nodes of all REs are erased when they leave */ \
	F(S, has_agreement, BOOL) /* of one RE: it has this agreement */ \
	F(S, agreement, REC(phx_agreement)) \
	/* how long it takes, with and without the change */ \
	F(S, handover_ms, U32) \
	F(S, wipe_ms, U32)
PHX_RECORD_STRUCT(phx_past_wish, PHX_PAST_WISH_FIELDS);

enum {
	PHX_PAST_HANDOVER_MS = 20 * 1000, /* defaults */
	PHX_PAST_WIPE_MS = 600 * 1000,
	PHX_PAST_JOBS_MAX = 2 * 1000 * 1000,
	PHX_PAST_STEPS = 400, /* of each drawing */
};

/** Is it something that can be asked? -EINVAL with a text. */
int phx_past_check(const struct phx_past_wish *w, struct phx_err *err);

struct phx_past;
/** A copy of `w` is kept. -EINVAL: phx_past_check(); -ENOMEM. */
int phx_past_new(const struct phx_past_wish *w, struct phx_past **ret, struct phx_err *err);
/** Safe on NULL. */
void phx_past_free(struct phx_past *p);

/** Which part of a journal is needed. */
struct phx_past_source {
	char *snapshot; /* to begin with; malloc'd, NULL: none, the events begin with the first */
	uint64_t after, last; /* events after this one, up to that one */
};
/** -ENODATA: the journal does not reach back so far; -ENOENT: nothing was journalled in that time.
 */
int phx_past_source(struct phx_store_reader *r, const struct phx_past_wish *w,
		    struct phx_past_source *ret, struct phx_err *err);

/** Begin with the snapshot `text`, not with the state before the first event. -EBADMSG. */
int phx_past_state(struct phx_past *p, const char *text, struct phx_err *err);
/** The next event. 1: it is after until_ms, and no more are wanted. -EPROTO: its actions do not
 * come out as they were recorded, or it does not follow the one before; -EBADMSG, -ENOMEM,
 * -E2BIG. */
int phx_past_event(struct phx_past *p, const struct phx_store_event *ev, struct phx_err *err);
/** For phx_store_event_fn. */
struct phx_past_walk {
	struct phx_past *past;
	struct phx_err *err;
};
int phx_past_walk(void *walk, const struct phx_store_event *ev);

/** How far the simulations are, 0 to 1000; a non-zero result ends them with -ECANCELED. */
typedef int (*phx_past_progress_fn)(void *arg, unsigned milli);
/** Simulate twice: as it was agreed, and changed. ret: a new reference, {from_ms, until_ms, nodes,
 * nodes_changed, jobs, left_out, agreed: SIDE, changed: SIDE}; SIDE: {error, pools: as in GET
 * /v1/timeline, res: [{name, metrics...}], total: {metrics...}}, of which `error` alone where the
 * cluster could not have been so. `left_out`: jobs that never began, and whose run time nobody
 * knows. -ENOENT: there was no such RE, or none that was active. */
int phx_past_run(struct phx_past *p, phx_past_progress_fn progress, void *arg, json_t **ret,
		 struct phx_err *err);

#endif
