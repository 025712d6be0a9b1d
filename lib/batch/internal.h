/* What the files of lib/batch share. */
#ifndef PHX_BATCH_INTERNAL_H
#define PHX_BATCH_INTERNAL_H

#include "batch/batch.h"
#include "batch/tree.h"

#define PHX_BATCH_CLASSES 64u /* of sizes */

/** A row of scheduler.def, as code. */
struct phx_batch_scheduler {
	/** Key of a waiting job: the order in which a pass looks at them. */
	void (*order)(const struct phx_batch_job *j, struct phx_batch_node *ret_key);
	/** One pass: phx_batch_start() for each job chosen. */
	void (*pass)(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);
};

struct phx_batch {
	struct phx_batch_config config;
	struct phx_batch_scheduler scheduler;
	struct phx_batch_counts counts; /* but waiting_biggest, which the tree knows */
	bool due;

	/* Slot i (from 1) of each array is one job; slots of jobs that are gone are used again. */
	struct phx_batch_job *jobs;
	struct phx_batch_node *nodes;     /* of waiting, or of running */
	struct phx_batch_node *end_nodes; /* of ends */
	uint32_t *chain;                  /* next slot with the same hash; next free slot */
	uint32_t cap, used, free, n_jobs;
	uint32_t *buckets;  /* hash of the id to slot */
	uint32_t n_buckets; /* a power of two, or 0 */

	/* Waiting jobs in the scheduler's order. EASY looks for jobs that are small and short at
	 * once, and has one tree a class of sizes: where the whole class fits, the shortest of a
	 * subtree says all. The others have all jobs in class 0. */
	struct phx_batch_tree waiting[PHX_BATCH_CLASSES];
	uint64_t classes;              /* bit k: there are jobs in class k */
	struct phx_batch_tree running; /* in the kill order; without killing jobs */
	/* the same by expected end, sizes are nodes held; empty unless EASY */
	struct phx_batch_tree ends;
};

/** Slot of a job, 0 when there is none. */
uint32_t phx_batch_find(const struct phx_batch *b, uint64_t id);
/** Take a slot for a new id, with a zeroed job that has it; 0 on ENOMEM. */
uint32_t phx_batch_slot_take(struct phx_batch *b, uint64_t id);
/** The job of a slot is gone. */
void phx_batch_slot_drop(struct phx_batch *b, uint32_t i);
/** Free the slots of all. */
void phx_batch_slots_fini(struct phx_batch *b);

/** Nodes that a running or killing job has. */
static inline uint32_t phx_batch_held(const struct phx_batch_job *j)
{
	return j->size - j->lost;
}
/** The estimate as trees know it: INT64_MAX when unknown. */
static inline int64_t phx_batch_estimate(const struct phx_batch_job *j)
{
	if (j->estimate_ms < 0)
		return INT64_MAX;
	return j->estimate_ms < INT64_MAX ? j->estimate_ms : INT64_MAX - 1;
}
/** Class of a size: 1 to 8 nodes one each, then four to the octave, the larger the higher; above
 * 2^17 all in the last.
 */
static inline uint32_t phx_batch_class(const struct phx_batch *b, uint32_t size)
{
	uint32_t n = size - 1;
	if (b->config.scheduler != PHX_SCHEDULER_easy)
		return 0;
	if (n < 4)
		return n;
	uint32_t octave = 31 - (uint32_t)__builtin_clz(n),
		 class = 4 * (octave - 1) + (n >> (octave - 2) & 3);
	return class < PHX_BATCH_CLASSES ? class : PHX_BATCH_CLASSES - 1;
}

/** The job of slot i is in `state` from now on: counts and trees know it. Before it is another, it
 * leaves the one it is in; what trees and counts know it by (size, lost, start) changes between the
 * two. */
void phx_batch_enter(struct phx_batch *b, uint32_t i, enum phx_batch_job_state state);
void phx_batch_leave(struct phx_batch *b, uint32_t i);
/** The waiting job of slot i, which fits, runs from now on. ret_ids has room for it. */
void phx_batch_start(struct phx_batch *b, uint32_t i, int64_t now_ms, struct phx_list *ret_ids);

/** Order of submission: (submit, id). */
void phx_batch_order_submit(const struct phx_batch_job *j, struct phx_batch_node *ret_key);
/** (estimate, submit, id). */
void phx_batch_order_estimate(const struct phx_batch_job *j, struct phx_batch_node *ret_key);
/** Key of a running job under a kill order. */
void phx_batch_order_kill(enum phx_kill_order order, const struct phx_batch_job *j,
			  struct phx_batch_node *ret_key);

/** Whatever fits. */
void phx_batch_pass_first_fit(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);
/** Until one does not fit. */
void phx_batch_pass_heads(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);
/** EASY backfill. */
void phx_batch_pass_easy(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);

#endif
