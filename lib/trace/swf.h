/* Reader of the Standard Workload Format 2.2 (Parallel Workloads Archive):
 * header lines that begin with ';', then 18 blank-separated fields a job, -1
 * for what is unknown. Used by phx sim; reads text, never files.
 *
 * What is done with odd rows, and counted (struct phx_trace_jobs):
 *
 *   processors allocated (field 5) unknown or 0   the processors requested (field 8) where the job
 *                                                 ran; else skipped
 *                                                 (n_skipped_size); with sizes = ALLOCATED always
 *                                                 skipped
 *   run time (field 4) negative                   it never ran: skipped, whatever else it lacks
 *                                                 (n_negative_run)
 *   run time 0                                    kept: it takes its nodes and gives them back at
 *                                                 once (n_zero_run)
 *   requested time (field 9) unknown              no estimate; EASY never backfills it before a
 *                                                 reservation
 *   submitted before the row above                sorted to its place (n_unsorted)
 *   wider than the cluster                        as `wide` says: skipped, kept (waits for ever) or
 *                                                 cut (n_too_wide)
 *   malformed                                     an error with file, line and field; `lenient`:
 *                                                 skipped (n_malformed)
 *
 * Counts are of the whole file, before the window is cut out. */
#ifndef PHX_TRACE_SWF_H
#define PHX_TRACE_SWF_H

#include "trace/workload.h"

enum phx_swf_field {
#define FIELD(name, ...) PHX_SWF_##name,
#include "trace/swf.def"
#undef FIELD
	PHX_SWF_FIELDS
};

/** A row as it stands, by field: times in ms, all else as written, -1 unknown. */
struct phx_swf_row {
	int64_t field[PHX_SWF_FIELDS];
};

/** What the header says; 0 when it does not. */
struct phx_swf_header {
	int64_t max_nodes, max_procs, unix_start_s;
};

/** A text being read; set up by phx_swf_open(). */
struct phx_swf {
	const char *name; /* for messages; borrowed */
	const char *at, *end;
	uint64_t line;                /* of the row read last */
	struct phx_swf_header header; /* of the header lines passed so far */
};
/** Begin to read `text`, borrowed, of `n` bytes with a NUL behind them. */
void phx_swf_open(struct phx_swf *swf, const char *name, const char *text, size_t n);
/** The next row: 1, 0 at the end, -EINVAL for a malformed one (FILE:LINE: field: what was
 * expected); the call after that goes on with the row behind it. */
int phx_swf_next(struct phx_swf *swf, struct phx_swf_row *ret, struct phx_err *err);

enum phx_swf_sizes { PHX_SWF_EITHER, PHX_SWF_ALLOCATED };
enum phx_swf_wide { PHX_SWF_WIDE_SKIP, PHX_SWF_WIDE_KEEP, PHX_SWF_WIDE_CUT };
extern const struct phx_enum phx_swf_sizes_names; /* "either", "allocated" */
extern const struct phx_enum phx_swf_wide_names;  /* "skip", "keep", "cut" */

/** How rows become jobs; all zero is a sound default. */
struct phx_swf_options {
	/* processors a node; 0 = 1. A job gets as many nodes as hold its processors */
	uint32_t per_node;
	/* sizes are multiplied by it / 1000 and rounded, at least one node; 0 = 1000 */
	uint32_t size_milli;
	uint32_t gap_milli; /* submit times likewise: 500 is twice the load; 0 = 1000 */
	uint32_t nodes;     /* of the cluster, for jobs that are wider; 0 = any width fits */
	int sizes, wide;
	int64_t from_ms;   /* the window's begin, after the log's start or the first job's */
	int64_t length_ms; /* 0 = to the end */
	/* times count from the first job that is kept, not from the log's start */
	bool from_first;
	bool lenient;
};

/** Read all of `text` (as phx_swf_open). Jobs are sorted by (submit, number); times count from the
 * window's begin. -EINVAL (also: a job number that comes twice), -ENOMEM;
 * outputs untouched then. */
int phx_swf_read(const char *name, const char *text, size_t n,
		 const struct phx_swf_options *options, struct phx_trace_jobs *ret,
		 struct phx_err *err);

#endif
