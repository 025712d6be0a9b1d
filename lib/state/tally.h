/* What each user has queued or running: so that one does not take all the room there is for jobs.
 * Pure. */
#ifndef PHX_STATE_TALLY_H
#define PHX_STATE_TALLY_H

#include "state/state.h"

/** Open jobs of one user, and what the state keeps for them. Jobs of an engine that is not ours are
 * not among them. The words of an array are its first member's, and count until the last one has
 * ended. */
struct phx_tally {
	uint32_t uid, n_open;
	uint64_t size_bytes;
};

/** Count `j` among those of its user (list of struct phx_tally, by uid), or, by `in` false, no
 * more: with the same `j`. -ENOMEM: nothing is counted. */
int phx_tally_job(struct phx_list *tallies, const struct phx_job *j, bool in);
/** Zeroes for who has none. */
struct phx_tally phx_tally_of(const struct phx_list *tallies, uint32_t uid);
bool phx_tally_equal(const struct phx_list *a, const struct phx_list *b);
/** Bytes of words, script and environment, and some for the rest. */
uint64_t phx_tally_size(const struct phx_list *argv, const struct phx_list *env,
			const char *script);

#endif
