/* The index by which the core finds nodes and jobs without looking at all of them: names, free
 * nodes, idle nodes, deadlines. All of it follows from the state: it is in no record and is built
 * anew where it is missing. It decides nothing. Used only by the pure rooms above.
 *
 * The rule: code that changes a node in a way that another file may search for must touch the node,
 * before or after the change, within the same event. A query updates touched nodes first. */
#ifndef PHX_STATE_INDEX_H
#define PHX_STATE_INDEX_H

#include "state/state.h"
#include "state/user_tally.h"

/** Sets of nodes, by place in the list: the rows of node_sets.def, each with a predicate of
 * node_sets.h. */
enum phx_node_set {
	PHX_SET_TOUCHED, /* the sets below must be derived again for this node */
	PHX_SET_LOOK,    /* touched since re/allocation.c looked at the node */
#define NODE_SET(name, predicate) PHX_SET_##name,
#include "state/node_sets.def"
#undef NODE_SET
	PHX_SET_COUNT_
};

/** Build the index if it is missing or lacks nodes; needed before the calls below. -ENOMEM. */
int phx_index_ready(struct phx_state *s);
/** Build the index of nodes anew, after nodes were removed and others changed their places. */
void phx_index_renew(struct phx_state *s);
/** Called before the node is removed, whose place stays. */
void phx_index_forget(struct phx_state *s, const struct phx_node *n);
/** Called before the node gets the name `name`. */
void phx_index_rename(struct phx_state *s, const struct phx_node *n, const char *name);
void phx_index_drop(struct phx_state *s);

/** Mark the node as changed in this event. Does nothing without an index. */
void phx_touch(struct phx_state *s, const struct phx_node *n);
/** Touch all nodes: a fact that they depend on has changed. */
void phx_touch_all(struct phx_state *s);
/** Touch the nodes that depend on the RE of this name: those of its pool, and those that it holds,
 * expects or misses. No other node's place in a set depends on it (node_sets.h). */
void phx_touch_re(struct phx_state *s, const char *re);

/** The first node of `set` at or after place `at`; NULL: none. Brings the sets up to date. */
struct phx_node *phx_index_next(struct phx_state *s, enum phx_node_set set, uint32_t at);
/** The same for the IDLE nodes of one RE. */
struct phx_node *phx_index_next_idle(struct phx_state *s, const char *re, uint32_t at);
/** The first node at or after `at` that may be in `set`; NULL: none. The caller checks the
 * predicate itself: touched nodes and, without an index, all nodes are candidates. Usable at any
 * time. */
struct phx_node *phx_index_candidate(const struct phx_state *s, enum phx_node_set set, uint32_t at);
/** The first node at or after `at` that may depend on the RE, as in phx_touch_re(); NULL: none. The
 * caller checks it: touched nodes and, without an index, all nodes are candidates. Usable at any
 * time. */
struct phx_node *phx_index_candidate_of_re(const struct phx_state *s, const char *re, uint32_t at);
/** Each of those nodes; the loop may change them. */
#define PHX_INDEX_EACH_OF_RE(n, s, re) \
	for (struct phx_node *n = phx_index_candidate_of_re((s), (re), 0); n; \
	     n = phx_index_candidate_of_re((s), (re), phx_index_place((s), n) + 1))
uint32_t phx_index_count(struct phx_state *s, enum phx_node_set set);
/** Take `n` out of the set LOOK: re/allocation.c looks at it now. */
void phx_index_looked(struct phx_state *s, const struct phx_node *n);
static inline uint32_t phx_index_place(const struct phx_state *s, const struct phx_node *n)
{
	return (uint32_t)(n - PHX_LIST_AT(&s->nodes, struct phx_node, 0));
}

/** The first node at or after `at` whose time for a tick has come; NULL: none. Brings the times up
 * to date. */
struct phx_node *phx_index_next_due(struct phx_state *s, uint32_t at);

/** The most cores and the most memory of any node, not necessarily of the same one; 0: no node
 * tells. */
struct phx_index_largest {
	uint32_t cores;
	uint64_t memory_bytes;
};
struct phx_index_largest phx_index_largest(struct phx_state *s);

/** When the next node, or job, wants a tick; INT64_MAX: never. Correct after phx_index_settle();
 * also usable without an index. */
int64_t phx_index_nodes_due(const struct phx_state *s);
int64_t phx_index_jobs_due(const struct phx_state *s);
/** Numbers (uint64_t) of the jobs whose tick is due, in ascending order, into the empty list *ret.
 * -ENOMEM. */
int phx_index_due_jobs(struct phx_state *s, struct phx_list *ret);
/** Note the time at which the job wants a tick: it may be sooner than before. */
void phx_index_job_due(struct phx_state *s, const struct phx_job *j);

/** `n` runs a part of job `id` from now on; 0: `n` runs none any more. */
void phx_index_runs(struct phx_state *s, const struct phx_node *n, uint64_t id);
/** The job that has an open part on `n`; NULL: none. Usable without an index. */
struct phx_job *phx_index_job_on(const struct phx_state *s, const struct phx_node *n);

/** The first job of the RE ("": of no RE) after number `after`; NULL: none. Usable without an
 * index. */
struct phx_job *phx_index_job_of(const struct phx_state *s, const char *re, uint64_t after);
/** Each job of an RE, by number; the loop may change jobs, but not their RE. */
#define PHX_INDEX_EACH_JOB_OF(j, s, re) \
	for (struct phx_job *j = phx_index_job_of((s), (re), 0); j; \
	     j = phx_index_job_of((s), (re), j->id))

/** Counts of jobs: queued or running; and those among them that no person submitted to Phoenix:
 * jobs of an external engine, and workers. */
struct phx_index_jobs {
	uint32_t n_open, n_external;
};
const struct phx_index_jobs *phx_index_jobs(const struct phx_state *s);
/** Count the job (`in`), or take it out of all counts: those above, its user's tally, and the queue
 * for jobs of no RE. Enclose every change of a job by both: out before, in after. */
void phx_index_job(struct phx_state *s, const struct phx_job *j, bool in);
/** The queue for jobs of no RE, borrowed: first-fit. It has nodes only during a pass
 * (phx_jobs_start()), and a job that runs has left it. */
struct phx_batch *phx_index_outside(struct phx_state *s);
/** The first job of no RE that waits for nodes; 0: none. Usable without an index. */
uint64_t phx_index_first_outside(const struct phx_state *s);
struct phx_tally phx_index_tally_of(const struct phx_state *s, uint32_t uid);

/** Counter of nodes and jobs that were looked at one by one since the index was built; callers add
 * to it, and tests bound it. */
uint64_t *phx_index_visits(struct phx_state *s);

/** Bring the index up to date at the end of an event, for readers between events. */
void phx_index_settle(struct phx_state *s);
/** Is the index complete? If not, memory ran out, and the next event builds it anew. */
bool phx_index_is_whole(const struct phx_state *s);
/** Compare the index with that of `fresh`: the same state with an index just built. -EPROTO with
 * the first difference; 0 also without an index. */
int phx_index_check(const struct phx_state *s, const struct phx_state *fresh, struct phx_err *err);

#endif
