/* Workflows in DAX XML (Pegasus; version 2 and 3), read and written: jobs, who waits for whom, the
 * files that they use. Used by trace/workflow.h; reads text, never files, and follows no
 * reference out of it: entities are not replaced, a document type is refused. */
#ifndef PHX_TRACE_DAX_H
#define PHX_TRACE_DAX_H

#include "flow/flow.h"

/** Read all of `text`; the manual phoenix-workflow(5) says what of it counts. -EINVAL "FILE:LINE:
 * ..." (not well-formed, a number that is none, and what phx_flow_make() refuses), -E2BIG, -ENOMEM;
 * ret untouched then. */
int phx_dax_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
		 struct phx_err *err);
/** Append the workflow as DAX of version 3; read back it is the same but for its lines, for files
 * that no task uses, and for whether files of nobody were promised. -EINVAL: a text has what XML
 * cannot hold; -ENOMEM. What is in ret then is half of it. */
int phx_dax_write(const struct phx_flow *f, struct phx_buf *ret, struct phx_err *err);

#endif
