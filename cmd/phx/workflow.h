/* What the commands of phx workflow share. */
#ifndef PHX_CLI_WORKFLOW_H
#define PHX_CLI_WORKFLOW_H

#include "phx/cli.h"
#include "trace/workflow.h"

/** Read a workflow from a file of any form; what is wrong was told. Owned: phx_flow_fini(). */
int cli_workflow(const char *path, struct phx_flow *ret, enum phx_workflow_form *ret_form);

/** The number of a run, where that is what the word is and no file has that name; else 0. */
uint64_t cli_workflow_number(const char *word);
/** The workflow of a run of the head; what is wrong was told. Owned: phx_flow_fini(). */
int cli_workflow_of_run(struct cli *cli, uint64_t id, struct phx_flow *ret);
/** Prints a run: itself and its levels, in JSON and YAML its tasks, too. */
int cli_workflow_run(struct cli *cli, uint64_t id);

/** Submits a workflow by the options --re, --hold and --user; *ret is the answer (new reference).
 * An exit status. */
int cli_workflow_send(struct cli *cli, const struct phx_flow *f, json_t **ret);
/** Prints what a task of a run printed when it began last, if it printed anything. An exit
 * status. */
int cli_workflow_print_output(struct cli *cli, const char *run, const char *task);

/** PUT a text, a `what` for messages, at `url`; *ret is the answer (new reference). An exit
 * status. */
int cli_upload_text(struct cli *cli, const char *url, const char *what, const struct phx_buf *text,
		    json_t **ret);
/** Print what `path` lists under `member`, of one RE where --re names it. An exit status. */
int cli_list_of_re(struct cli *cli, const char *path, const char *member,
		   const struct cli_column *of, size_t n_columns);

#endif
