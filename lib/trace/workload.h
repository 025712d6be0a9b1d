/* Workloads as the simulator runs them: jobs of a batch trace, a series of web
 * load or demand, a workflow. Made by the readers (swf, series, dax) and the
 * generators (gen); owned by the caller. */
#ifndef PHX_TRACE_WORKLOAD_H
#define PHX_TRACE_WORKLOAD_H

#include "base/util.h"

/** A job of a trace. */
struct phx_trace_job {
	uint64_t id;
	int64_t submit_ms; /* from the workload's start */
	int64_t run_ms;
	int64_t estimate_ms;              /* -1 unknown */
	uint32_t size;                    /* nodes */
	uint32_t user, class;             /* class: workflow level or task class of a study */
	uint32_t first_child, n_children; /* into children of the workload */
	uint32_t n_parents;
};

struct phx_trace_jobs {
	struct phx_trace_job *jobs; /* by (submit_ms, id) */
	size_t n;
	uint32_t *children; /* indexes into jobs, of workflows */
	size_t n_children;
	uint32_t max_nodes;   /* of the log's header after scaling; 0 unknown */
	int64_t unix_start_s; /* 0 unknown */
	/* what was done to rows that are odd: the manual's table */
	size_t n_rows, n_skipped_size, n_negative_run, n_zero_run, n_unsorted, n_malformed,
		n_too_wide;
};
void phx_trace_jobs_fini(struct phx_trace_jobs *w);
/** In the order of submission, of one instant by number. Not for workflows: their children are
 * named by place. */
void phx_trace_jobs_sort(struct phx_trace_jobs *w);

/** `one` submitted n times, at at_ms[0], at_ms[1], … (rising): numbers go on from copy to copy.
 * -EOVERFLOW more jobs than 32 bits count, -ENOMEM. */
int phx_trace_jobs_repeat(const struct phx_trace_jobs *one, const int64_t *at_ms, size_t n,
			  struct phx_trace_jobs *ret);

/** A piecewise-constant series: value[i] holds from at_ms[i] until the next. */
struct phx_trace_series {
	int64_t *at_ms; /* strictly rising, the first is 0 */
	/* instances for a demand series; thousandths of requests a second for a load series */
	uint64_t *value;
	size_t n;
	int64_t end_ms; /* where it ends */
};
void phx_trace_series_fini(struct phx_trace_series *s);

#endif
