/* What the commands of phx workflow share. */
#ifndef PHX_CLI_WORKFLOW_H
#define PHX_CLI_WORKFLOW_H

#include "phx/cli.h"
#include "trace/workflow.h"

/** Read a workflow from a file of any form; what is wrong was told. Owned: phx_flow_fini(). */
int cli_workflow(const char *path, struct phx_flow *ret, enum phx_workflow_form *ret_form);

#endif
