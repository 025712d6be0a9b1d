/* Workflows in WfFormat, the JSON of WfCommons (schema version 1.5), read and written. Used by
 * trace/workflow.h; reads and makes text, never files. What WfFormat has no word for (nodes,
 * retries, when_failed, time, environment) stands in a member "phoenix" of a task's execution. */
#ifndef PHX_TRACE_WFFORMAT_H
#define PHX_TRACE_WFFORMAT_H

#include "flow/flow.h"

/** Read all of `text`, which ends with a NUL at n. -EINVAL "FILE:LINE: PATH: ..." (no JSON, a
 * member of the wrong type, another version), what phx_flow_make() refuses, -E2BIG, -ENOMEM; ret
 * untouched then. */
int phx_wfformat_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
		      struct phx_err *err);
/** Append the workflow as WfFormat 1.5; read back it is the same but for its lines. Lack of memory:
 * ret->failed. */
void phx_wfformat_write(const struct phx_flow *f, struct phx_buf *ret);

#endif
