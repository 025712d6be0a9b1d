/* Reader of workflows in DAX XML (Pegasus; version 2 and 3): jobs, who waits for whom, the files
 * that they use. Used by trace/workflow.h; reads text, never files, and follows no reference out of
 * it: entities are not replaced, a document type is refused. */
#ifndef PHX_TRACE_DAX_H
#define PHX_TRACE_DAX_H

#include "flow/flow.h"

/** Read all of `text`; the manual phoenix-workflow(5) says what of it counts. -EINVAL "FILE:LINE:
 * ..." (not well-formed, a number that is none, and what phx_flow_make() refuses), -E2BIG, -ENOMEM;
 * ret untouched then. */
int phx_dax_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
		 struct phx_err *err);

#endif
