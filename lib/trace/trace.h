/* Traces of a scenario: what a group of `traces` says, and the workload that
 * comes of it. A store keeps what was read, so that the points of a sweep read
 * each file once. Used by sim/scenario.c and by the quick forms of phx sim. */
#ifndef PHX_TRACE_TRACE_H
#define PHX_TRACE_TRACE_H

#include "trace/gen.h"
#include "trace/series.h"
#include "trace/swf.h"
#include "trace/workflow.h"

#define PHX_TRACE_PATH_MAX 1024

enum phx_trace_kind {
	PHX_TRACE_SWF,
	PHX_TRACE_REQUESTS, /* a count a period, made a demand by the WS manager's rule */
	PHX_TRACE_DEMAND,   /* instances, ready */
	PHX_TRACE_DAX,      /* any form of a workflow; the key that there was before its name */
	PHX_TRACE_WORKFLOW,
	PHX_TRACE_JOBS, /* drawn */
	PHX_TRACE_LOAD, /* drawn requests, made a demand */
};

/** A trace by its definition. Zero is a sound default of every member but name, kind and file. */
struct phx_trace {
	char name[PHX_NAME_MAX];
	int kind;
	char file[PHX_TRACE_PATH_MAX];
	char dir[PHX_TRACE_PATH_MAX]; /* looked at before the traces directory: the scenario's */
	struct phx_swf_options swf;
	struct phx_series_options series;
	struct phx_series_rule rule;
	/** REQUESTS, LOAD: find the capacity that gives this peak (policies.md 2); 0 =
	 * rule.capacity_milli counts. */
	uint32_t peak;
	uint32_t copies;  /* workflows: how often the workflow is submitted; 0 = once */
	int64_t every_ms; /* workflows: distance of two submissions */
	struct phx_gen_jobs gen_jobs;
	struct phx_gen_load gen_load;
	uint32_t scale_to; /* demand scaled from `peak`, or its own, to this peak; 0 = as it is */
};

/** What a trace became; one of the two has something in it. */
struct phx_trace_workload {
	struct phx_trace_jobs jobs;
	struct phx_trace_series demand;
	uint64_t capacity_milli; /* REQUESTS, LOAD: with which the demand was made */
};
void phx_trace_workload_fini(struct phx_trace_workload *w);

/** Read the files of a trace and make its workload. `traces`: where else to look (NULL = nowhere).
 * -ENOENT, -EINVAL with file and line, other -errno; ret untouched then. */
int phx_trace_load(const struct phx_trace *t, const char *traces, struct phx_trace_workload *ret,
		   struct phx_err *err);

struct phx_trace_store; /* may be used by several threads at once */
int phx_trace_store_new(const char *traces, struct phx_trace_store **ret);
void phx_trace_store_free(struct phx_trace_store *s);
/** The workload of a trace with the same definition (names aside), read the first time. Borrowed
 * until the store is freed. Errors as phx_trace_load(). */
int phx_trace_store_get(struct phx_trace_store *s, const struct phx_trace *t,
			const struct phx_trace_workload **ret, struct phx_err *err);

#endif
