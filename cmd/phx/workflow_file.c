/* Files of workflows, read for the commands of phx workflow. */
#include <errno.h>

#include "phx/workflow.h"
#include "trace/input.h"

int cli_workflow(const char *path, struct phx_flow *ret, enum phx_workflow_form *ret_form)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_err err = {0};
	int r = phx_trace_input_read(path, &in, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	*ret_form = phx_workflow_form_of(in.data, in.n);
	r = phx_workflow_read(path, in.data, in.n, ret, &err);
	if (r == 0)
		return CLI_OK;
	return r == -ENOMEM ? cli_fail_err(r, &err) : cli_fail(CLI_CONFIG, "%s", err.text);
}
