/* What core_apply must find without looking at every node and job: names, who
 * is free, who is idle, what is due. All of it follows from the state (it is in
 * no record, and is built anew where it is missing), so that it decides
 * nothing. Within the pure rooms above it only.
 *
 * The rule: who changes a node that another file may have to find touches it,
 * before or after, within the same event. What is derived of touched nodes is
 * brought up to date where it is asked for. */
#ifndef PHX_STATE_INDEX_H
#define PHX_STATE_INDEX_H

#include "state/state.h"
#include "state/tally.h"

/** Sets of nodes, by their place in the list. counts.h says what those of sets.def hold. */
enum phx_node_set {
	PHX_SET_TOUCHED, /* what is below has to be derived again */
	PHX_SET_LOOK,    /* touched since share.c has looked at it */
#define NODE_SET(name, predicate) PHX_SET_##name,
#include "state/sets.def"
#undef NODE_SET
	PHX_SET_COUNT_
};

/** Built where it is missing or of another list of nodes; the caller then may use all below.
 * -ENOMEM. */
int phx_index_ready(struct phx_state *s);
/** Nodes were removed or renamed: all of it anew. */
void phx_index_renew(struct phx_state *s);
void phx_index_drop(struct phx_state *s);

/** The node was changed or is going to be, in this event. Without an index: nothing. */
void phx_touch(struct phx_state *s, const struct phx_node *n);
/** Something that all depend on was changed. */
void phx_touch_all(struct phx_state *s);

/** The first node of `set` at or after `at`; NULL. Brings the sets up to date. */
struct phx_node *phx_index_next(struct phx_state *s, enum phx_node_set set, uint32_t at);
/** The same of an RE's IDLE nodes. */
struct phx_node *phx_index_next_idle(struct phx_state *s, const char *re, uint32_t at);
/** The first node at or after `at` that may be in `set`; NULL. In the middle of an event, between
 * events, without an index (then it is any node): the caller looks itself. */
struct phx_node *phx_index_candidate(const struct phx_state *s, enum phx_node_set set, uint32_t at);
uint32_t phx_index_count(struct phx_state *s, enum phx_node_set set);
/** share.c is about to look at `n`. */
void phx_index_looked(struct phx_state *s, const struct phx_node *n);
static inline uint32_t phx_index_place(const struct phx_state *s, const struct phx_node *n)
{
	return (uint32_t)(n - PHX_LIST_AT(&s->nodes, struct phx_node, 0));
}

/** The first node at or after `at` for which the time has come; NULL. Brings the times up to
 * date. */
struct phx_node *phx_index_next_due(struct phx_state *s, uint32_t at);

/** When the next node, or job, wants a tick; INT64_MAX. Right after phx_index_settle(), and without
 * an index. */
int64_t phx_index_nodes_due(const struct phx_state *s);
int64_t phx_index_jobs_due(const struct phx_state *s);
/** The job may want a tick sooner than it did. */
void phx_index_job_due(struct phx_state *s, const struct phx_job *j);

/** `n` runs a part of job `id` from now on; 0: it does not any more. */
void phx_index_runs(struct phx_state *s, const struct phx_node *n, uint64_t id);
/** The job that has an open part on `n`; NULL. Also without an index. */
struct phx_job *phx_index_job_on(const struct phx_state *s, const struct phx_node *n);

/** Jobs that are queued or running; of those that are queued, the ones of no RE; of all, those of
 * an engine not ours. */
struct phx_index_jobs {
	uint32_t n_open, n_queued, n_foreign;
};
struct phx_index_jobs *phx_index_jobs(struct phx_state *s);
/** The job counts in its user's tally from now on (`in`), or no more: before and after it is
 * changed. */
void phx_index_tally(struct phx_state *s, const struct phx_job *j, bool in);
struct phx_tally phx_index_tally_of(const struct phx_state *s, uint32_t uid);

/** What was looked at one by one to decide something (nodes tried, jobs walked over), since the
 * index was built; to be added to. Tests hold it down. */
uint64_t *phx_index_visits(struct phx_state *s);

/** The end of an event: whoever asks between events finds all of it right. */
void phx_index_settle(struct phx_state *s);
/** Is nothing missing in it? Where memory was lacking it is built anew with the next event. */
bool phx_index_is_whole(const struct phx_state *s);
/** Is it what would be built now? -EPROTO with the first difference; 0 also where there is none. */
int phx_index_check(const struct phx_state *s, struct phx_err *err);

#endif
