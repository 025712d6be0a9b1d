/* The index by which core_apply finds nodes and jobs without looking at all of
 * them: names, free nodes, idle nodes, deadlines. All of it follows from the state:
 * it is in no record, is built anew where it is missing, and decides nothing. Used
 * by the pure rooms above only.
 *
 * The rule: code that changes a node which another file may have to find touches
 * the node, before or after the change, within the same event. The index brings
 * touched nodes up to date when it is asked. */
#ifndef PHX_STATE_INDEX_H
#define PHX_STATE_INDEX_H

#include "state/state.h"
#include "state/user_tally.h"

/** Sets of nodes, by their place in the list: the rows of node_sets.def, each with a predicate of
 * node_sets.h. */
enum phx_node_set {
	PHX_SET_TOUCHED, /* the sets below must be derived again for the node */
	PHX_SET_LOOK,    /* touched since re/allocation.c looked at the node */
#define NODE_SET(name, predicate) PHX_SET_##name,
#include "state/node_sets.def"
#undef NODE_SET
	PHX_SET_COUNT_
};

/** Build the index if it is missing or lacks nodes; the calls below may be used then. -ENOMEM. */
int phx_index_ready(struct phx_state *s);
/** Nodes were removed, and others have other places: build the whole index anew. */
void phx_index_renew(struct phx_state *s);
/** The node is about to be named so by the caller. */
void phx_index_rename(struct phx_state *s, const struct phx_node *n, const char *name);
void phx_index_drop(struct phx_state *s);

/** The node was or will be changed in this event. Does nothing without an index. */
void phx_touch(struct phx_state *s, const struct phx_node *n);
/** A fact that all nodes depend on was changed. */
void phx_touch_all(struct phx_state *s);

/** The first node of `set` at or after `at`; NULL. Brings the sets up to date. */
struct phx_node *phx_index_next(struct phx_state *s, enum phx_node_set set, uint32_t at);
/** The same for the IDLE nodes of one RE. */
struct phx_node *phx_index_next_idle(struct phx_state *s, const char *re, uint32_t at);
/** The first node at or after `at` that may be in `set`; NULL. The caller checks the predicate
 * itself: touched nodes, and without an index all nodes, are candidates. Usable at any time. */
struct phx_node *phx_index_candidate(const struct phx_state *s, enum phx_node_set set, uint32_t at);
uint32_t phx_index_count(struct phx_state *s, enum phx_node_set set);
/** re/allocation.c looks at `n` now: it leaves the set LOOK. */
void phx_index_looked(struct phx_state *s, const struct phx_node *n);
static inline uint32_t phx_index_place(const struct phx_state *s, const struct phx_node *n)
{
	return (uint32_t)(n - PHX_LIST_AT(&s->nodes, struct phx_node, 0));
}

/** The first node at or after `at` whose time has come; NULL. Brings the times up to date. */
struct phx_node *phx_index_next_due(struct phx_state *s, uint32_t at);

/** When the next node, or job, wants a tick; INT64_MAX. True after phx_index_settle(); also usable
 * without an index. */
int64_t phx_index_nodes_due(const struct phx_state *s);
int64_t phx_index_jobs_due(const struct phx_state *s);
/** Numbers (uint64_t) of the jobs that want a tick by now, in their order. *ret is empty.
 * -ENOMEM. */
int phx_index_due_jobs(struct phx_state *s, struct phx_list *ret);
/** The job may want a tick sooner than it did. */
void phx_index_job_due(struct phx_state *s, const struct phx_job *j);

/** `n` runs a part of job `id` from now on; 0: `n` runs none any more. */
void phx_index_runs(struct phx_state *s, const struct phx_node *n, uint64_t id);
/** The job that has an open part on `n`; NULL. Also without an index. */
struct phx_job *phx_index_job_on(const struct phx_state *s, const struct phx_node *n);

/** The first job of the RE ("": of none) after number `after`; NULL. Also without an index. */
struct phx_job *phx_index_job_of(const struct phx_state *s, const char *re, uint64_t after);
/** Each job of an RE, in order; jobs may be changed meanwhile, but for their RE. */
#define PHX_INDEX_EACH_JOB_OF(j, s, re) \
	for (struct phx_job *j = phx_index_job_of((s), (re), 0); j; \
	     j = phx_index_job_of((s), (re), j->id))

/** Counts of jobs: queued or running; those of them that no person submitted here: of an external
 * engine, workers. */
struct phx_index_jobs {
	uint32_t n_open, n_external;
};
const struct phx_index_jobs *phx_index_jobs(const struct phx_state *s);
/** Count the job (`in`), or take it out of all counts: those above, its user's tally, the queue of
 * no RE. A change of a job is enclosed by both: out before it, in after it. */
void phx_index_job(struct phx_state *s, const struct phx_job *j, bool in);
/** The manager of the queued jobs of no RE: first-fit. It has no nodes but during a pass
 * (phx_jobs_start()); a job that runs has left it. */
struct phx_batch *phx_index_outside(struct phx_state *s);
/** The first job of no RE that waits for nodes; 0: there is none. Also without an index. */
uint64_t phx_index_first_outside(const struct phx_state *s);
struct phx_tally phx_index_tally_of(const struct phx_state *s, uint32_t uid);

/** Counter of nodes and jobs that were looked at one by one since the index was built; callers add
 * to it. Tests bound it. */
uint64_t *phx_index_visits(struct phx_state *s);

/** Bring the index up to date at the end of an event, for readers between events. */
void phx_index_settle(struct phx_state *s);
/** Is the index complete? If memory was lacking, the next event builds it anew. */
bool phx_index_is_whole(const struct phx_state *s);
/** Compare the index with that of `fresh`, the same state with an index just built. -EPROTO with
 * the first difference; 0 also without index. */
int phx_index_check(const struct phx_state *s, const struct phx_state *fresh, struct phx_err *err);

#endif
