/* Reader of workflows in DAX XML (Pegasus; version 2 and 3): jobs with a run
 * time, and who waits for whom. Used by phx sim; reads text, never files, and
 * follows no reference out of it: entities are not replaced, a document type is
 * refused. */
#ifndef PHX_TRACE_DAX_H
#define PHX_TRACE_DAX_H

#include "trace/workload.h"

/** What is known of a workflow beyond its jobs. */
struct phx_dax_info {
	uint32_t n_types;  /* different names of jobs */
	uint32_t n_levels; /* jobs on the longest way from a root to a leaf */
	/* sum of the sizes of all files used, as often as they are used */
	uint64_t n_bytes;
	int64_t critical_path_ms; /* longest way by run time: no schedule is shorter */
};

/** Read all of `text`. Jobs stand as in the document, with the numbers 1, 2, …, submitted at 0;
 * `class` is the level (0: no parents); size is the profile `nodes` of the job, else 1. ret_info
 * may be NULL. -EINVAL "FILE:LINE: …" (not well-formed, run time absent or malformed, an unknown or
 * doubled id, a job that waits for itself), -ENOMEM; outputs untouched then. */
int phx_dax_read(const char *name, const char *text, size_t n, struct phx_trace_jobs *ret,
		 struct phx_dax_info *ret_info, struct phx_err *err);

#endif
