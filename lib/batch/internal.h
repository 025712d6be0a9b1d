/* Declarations that the files of lib/batch share. */
#ifndef PHX_BATCH_INTERNAL_H
#define PHX_BATCH_INTERNAL_H

#include "batch/batch.h"
#include "batch/treap.h"

#define PHX_BATCH_CLASSES 64u /* number of size classes */

/** A row of scheduler.def, as code. */
struct phx_batch_scheduler {
	/** Sets the key of a waiting job: a pass looks at jobs in the order of their keys. */
	void (*order)(const struct phx_batch_job *j, struct phx_batch_node *ret_key);
	/** One pass: calls phx_batch_start() for each job it chooses. */
	void (*pass)(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);
};

struct phx_batch {
	struct phx_batch_config config;
	struct phx_batch_scheduler scheduler;
	struct phx_batch_counts counts; /* without waiting_biggest, which the tree knows */
	bool due;

	/* Slot i (from 1) of each array is one job; slots of jobs that are gone are used again. */
	struct phx_batch_job *jobs;
	struct phx_batch_node *nodes;     /* of the trees `waiting` and `running` */
	struct phx_batch_node *end_nodes; /* of the tree `ends` */
	uint32_t *chain;                  /* next slot with the same hash; next free slot */
	uint32_t cap, used, free, n_jobs;
	uint32_t *buckets;  /* hash table from id to slot */
	uint32_t n_buckets; /* a power of two, or 0 */

	/* Waiting jobs in the scheduler's order. EASY looks for jobs that are both small and short,
	 * and has one tree a class of sizes: when all jobs of a class fit, the shortest estimate of
	 * a subtree decides. Other schedulers have all jobs in class 0. */
	struct phx_batch_tree waiting[PHX_BATCH_CLASSES];
	uint64_t classes;              /* bit k: there are jobs in class k */
	struct phx_batch_tree running; /* in the kill order; without killing jobs */
	/* running jobs by expected end; their sizes are the nodes they hold; empty unless EASY */
	struct phx_batch_tree ends;
};

/** Slot of a job, 0 when there is none. */
uint32_t phx_batch_find(const struct phx_batch *b, uint64_t id);
/** Take a slot for a new id; its job has the id and is zero otherwise. 0: out of memory. */
uint32_t phx_batch_slot_take(struct phx_batch *b, uint64_t id);
/** Free the slot of a job that is gone. */
void phx_batch_slot_drop(struct phx_batch *b, uint32_t i);
/** Free the arrays of all slots. */
void phx_batch_slots_fini(struct phx_batch *b);

/** Nodes that a running or killing job has. */
static inline uint32_t phx_batch_held(const struct phx_batch_job *j)
{
	return j->size - j->lost;
}
/** The estimate as trees keep it: INT64_MAX when unknown. */
static inline int64_t phx_batch_estimate(const struct phx_batch_job *j)
{
	if (j->estimate_ms < 0)
		return INT64_MAX;
	return j->estimate_ms < INT64_MAX ? j->estimate_ms : INT64_MAX - 1;
}
/** Class of a size: each size from 1 to 8 nodes has a class, then each octave has four; sizes above
 * 2^17 are in the last class. Schedulers other than EASY have only class 0. */
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

/** enter: the job of slot i is in `state` from now on; counts and trees include it. leave: counts
 * and trees drop it from its present state. Fields that they depend on (size, lost, start) may
 * change only between leave and enter. */
void phx_batch_enter(struct phx_batch *b, uint32_t i, enum phx_batch_job_state state);
void phx_batch_leave(struct phx_batch *b, uint32_t i);
/** The waiting job of slot i, which fits, runs from now on. ret_ids has room for its id. */
void phx_batch_start(struct phx_batch *b, uint32_t i, int64_t now_ms, struct phx_list *ret_ids);

/** Key (submit, id): order of submission. */
void phx_batch_order_submit(const struct phx_batch_job *j, struct phx_batch_node *ret_key);
/** Key (estimate, submit, id): shortest job first. */
void phx_batch_order_estimate(const struct phx_batch_job *j, struct phx_batch_node *ret_key);
/** Key of a running job under a kill order. */
void phx_batch_order_kill(enum phx_kill_order order, const struct phx_batch_job *j,
			  struct phx_batch_node *ret_key);

/** Starts every job that fits. */
void phx_batch_pass_first_fit(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);
/** Starts jobs in their order, until one does not fit. */
void phx_batch_pass_heads(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);
/** EASY backfill. */
void phx_batch_pass_easy(struct phx_batch *b, int64_t now_ms, struct phx_list *ret_ids);

#endif
