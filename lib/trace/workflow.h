/* Workflows from files, in whichever of three forms: WfFormat (JSON), DAX (XML), or our own
 * (libconfig, for people who write by hand: phoenix-workflow(5)). Used by `phx workflow`, by the
 * simulator and by its scenarios; reads and makes text, never files. */
#ifndef PHX_TRACE_WORKFLOW_H
#define PHX_TRACE_WORKFLOW_H

#include "flow/flow.h"
#include "trace/workload.h"

enum phx_workflow_form {
	PHX_WORKFLOW_CONF,
	PHX_WORKFLOW_WFFORMAT,
	PHX_WORKFLOW_DAX,
};
extern const struct phx_enum phx_workflow_form_names;

/** What the text is, by what it begins with: '<' is DAX, '{' WfFormat. */
enum phx_workflow_form phx_workflow_form_of(const char *text, size_t n);
/** Read all of `text`, which ends with a NUL at n. -EINVAL "FILE:LINE: ...", -EFBIG, -E2BIG,
 * -ENOMEM; ret untouched then. */
int phx_workflow_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
		      struct phx_err *err);
/** Append the workflow in that form. -EINVAL and -EFBIG with a text: the form cannot hold it;
 * -ENOMEM. What is in ret then is half of it. */
int phx_workflow_write(const struct phx_flow *f, enum phx_workflow_form form, struct phx_buf *ret,
		       struct phx_err *err);
/** As a workload: jobs as the tasks stand, with the numbers 1, 2, ..., submitted at 0; `class` is
 * the level, size the nodes. -EINVAL when it is not said how long a task runs ("WHAT:LINE: ..."),
 * -ENOMEM; ret untouched then. */
int phx_workflow_jobs(const struct phx_flow *f, const char *what, struct phx_trace_jobs *ret,
		      struct phx_err *err);

#endif
