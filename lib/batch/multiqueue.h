/* FCFS with several queues (002 3.2): jobs are sorted into ranges by their
 * estimates, and each range has its own queue and nodes. Two ranges make FCFS-2Q;
 * one range is the scheduler alone. Each range is a batch manager (batch.h) of its
 * own. Pure. */
#ifndef PHX_BATCH_MULTIQUEUE_H
#define PHX_BATCH_MULTIQUEUE_H

#include "batch/batch.h"

enum { PHX_MULTIQUEUE_MAX = 8 };

struct phx_multiqueue_config {
	int scheduler; /* enum phx_scheduler, of every range */
	uint32_t n;    /* ranges, 1 to PHX_MULTIQUEUE_MAX */
	int64_t cut_ms[PHX_MULTIQUEUE_MAX -
		       /* rising: range i holds jobs of at most cut_ms[i], the last all others */
		       1];
};

struct phx_multiqueue;

/** New queues without jobs and nodes, owned by the caller. -EINVAL with a text: wrong number of
 * ranges, cuts that do not rise. -ENOMEM. */
int phx_multiqueue_new(const struct phx_multiqueue_config *config, struct phx_multiqueue **ret,
		       struct phx_err *err);
void phx_multiqueue_free(struct phx_multiqueue *q);

/** Range of a job by its estimate. Jobs of unknown estimate (-1) are in the last range, where they
 * delay only long jobs. */
uint32_t phx_multiqueue_range(const struct phx_multiqueue *q, int64_t estimate_ms);
/** Manager of one range, borrowed: for its nodes and counts. */
struct phx_batch *phx_multiqueue_part(const struct phx_multiqueue *q, uint32_t range);

/** As phx_batch_submit(), into the job's range. -EEXIST: a job of this id is in some range. */
int phx_multiqueue_submit(struct phx_multiqueue *q, const struct phx_batch_job *job);
/** As phx_batch_ended(). */
int phx_multiqueue_ended(struct phx_multiqueue *q, uint64_t id);
/** One pass of each range, the range of the shortest jobs first; appends the ids of started jobs
 * (uint64_t). -ENOMEM: the jobs whose ids were appended run. */
int phx_multiqueue_pass(struct phx_multiqueue *q, int64_t now_ms, struct phx_list *ret_ids);

#endif
