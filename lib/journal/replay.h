/* Applies journalled events again: for a start and for `phx sim replay`. Never
 * writes. */
#ifndef PHX_JOURNAL_REPLAY_H
#define PHX_JOURNAL_REPLAY_H

#include "core/core.h"
#include "journal/store.h"

/** The result of one event that was applied again. */
struct phx_replayed {
	uint32_t n_actions;
	/* the actions that come out now, JSON; "" if the event is refused now; owned by the caller
	 */
	char *actions;
	char difference[PHX_ERR_TEXT_MAX]; /* from the recorded actions; "" = none */
};

/** Apply `stored` to `s`. 0 also when other actions come out (ret->difference); -EBADMSG: the
 * event's text cannot be read; -ENOMEM. */
int phx_journal_replay(struct phx_state *s, const struct phx_store_event *stored,
		       struct phx_replayed *ret, struct phx_err *err);

/** Parse the text of a snapshot; the caller frees *ret by phx_state_fini(). */
int phx_journal_parse_state(const char *text, struct phx_state *ret, struct phx_err *err);

struct phx_recalled {
	struct phx_state state;
	uint64_t snapshot_seq; /* the snapshot it was made from; 0 = from no snapshot */
	struct phx_err damage; /* its text says which snapshot could not be used, and why */
};

/** Bring the state back: load the newest sound snapshot, then apply the events after it. The caller
 * frees ret->state by phx_state_fini(). -EPROTO (the text names the event): its actions do not come
 * out as they were recorded. -ENODATA: no sound snapshot reaches the first event that is left. */
int phx_journal_recall(const struct phx_journal_store *store, struct phx_recalled *ret,
		       struct phx_err *err);

#endif
