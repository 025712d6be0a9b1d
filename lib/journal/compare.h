/* A whole journal of phxd through the core again: the decisions must be the recorded ones, byte for
 * byte. Used by phx sim replay. Opens the journal as phxd does, and changes nothing in it. */
#ifndef PHX_JOURNAL_COMPARE_H
#define PHX_JOURNAL_COMPARE_H

#include "base/util.h"

struct phx_comparison {
	uint64_t n_events;         /* that were applied */
	uint64_t n_actions;        /* that came out */
	uint64_t first, last;      /* numbers of the first and the last event */
	int64_t first_ms, last_ms; /* core time */
	/* event of the snapshot it began with; 0 = from the very beginning */
	uint64_t from_snapshot;
	/* event of the newest snapshot, which the state was compared with; 0 = none */
	uint64_t checked_snapshot;
	bool identical;
	/* the first difference, when not identical */
	uint64_t seq;
	char kind[64];
	char *recorded, *now; /* actions (or the state's first differing part) as JSON; owned */
	char reason[PHX_ERR_TEXT_MAX];
};
void phx_comparison_fini(struct phx_comparison *r);

/** Replay `path`. 0 also when a difference was found (ret->identical says so). -ENOENT, -EBUSY phxd
 * has it open, -EBADMSG it is damaged or no journal; ret untouched then. */
int phx_journal_compare(const char *path, struct phx_comparison *ret, struct phx_err *err);

#endif
