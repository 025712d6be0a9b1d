/* Tallies of users: the open jobs of each, counted so that no user can take all the room for jobs.
 * Pure. */
#ifndef PHX_STATE_USER_TALLY_H
#define PHX_STATE_USER_TALLY_H

#include "state/state.h"

/** One user's open jobs and the bytes that the state keeps for them, without jobs of external
 * engines. The words of an array belong to its first member and count until the last member has
 * ended. */
struct phx_tally {
	uint32_t uid, n_open;
	uint64_t size_bytes;
};

/** Count `j` in its user's tally (list of struct phx_tally, by uid) or, with `in` false, take the
 * same `j` out again. -ENOMEM: the tally is unchanged. */
int phx_tally_job(struct phx_list *tallies, const struct phx_job *j, bool in);
/** The tally of a user; zeroes if there is none. */
struct phx_tally phx_tally_of(const struct phx_list *tallies, uint32_t uid);
bool phx_tally_equal(const struct phx_list *a, const struct phx_list *b);
/** Bytes of a job's words, script and environment, and an estimate for its other fields. */
uint64_t phx_tally_size(const struct phx_list *argv, const struct phx_list *env,
			const char *script);

#endif
