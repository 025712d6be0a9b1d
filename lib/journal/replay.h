/* Events that were journalled, applied again: what a start and `phx sim replay`
 * do. Never writes. */
#ifndef PHX_JOURNAL_REPLAY_H
#define PHX_JOURNAL_REPLAY_H

#include "core/core.h"
#include "journal/store.h"

/** What came of one event that was applied again. */
struct phx_replayed {
	uint32_t n_actions;
	/* as they come out now, JSON; "" where the event is refused now; owned by the caller */
	char *actions;
	char difference[PHX_ERR_TEXT_MAX]; /* from what was recorded; "" = none */
};

/** Apply `stored` to `s`. 0 also where something else comes out; -EBADMSG: its text cannot be read;
 * -ENOMEM. */
int phx_journal_replay(struct phx_state *s, const struct phx_store_event *stored,
		       struct phx_replayed *ret, struct phx_err *err);

/** The state that a snapshot's text says; the caller: phx_state_fini(). */
int phx_journal_parse_state(const char *text, struct phx_state *ret, struct phx_err *err);

struct phx_recalled {
	struct phx_state state;
	uint64_t snapshot_seq; /* from which it was made; 0 = from nothing */
	struct phx_err damage; /* text set: a snapshot could not be used, and why */
};

/** Bring the state back: the newest sound snapshot, then the events after it. `ret` (caller:
 * phx_state_fini(&ret->state)) is what the journal says; the actions of events must come out as
 * they were recorded (-EPROTO otherwise, naming the event). -ENODATA: nothing leads there. */
int phx_journal_recall(const struct phx_journal_store *store, struct phx_recalled *ret,
		       struct phx_err *err);

#endif
