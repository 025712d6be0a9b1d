/* Workflows in our own form, read and written: libconfig, for people who write by hand. The keys,
 * from which the reader and phoenix-workflow(5) come. Used by trace/workflow.h; reads text,
 * never files. */
#ifndef PHX_TRACE_WORKFLOW_CONF_H
#define PHX_TRACE_WORKFLOW_CONF_H

#include "base/key.h"
#include "flow/flow.h"

#define PHX_WORKFLOW_FILE_FIELDS(F, S) \
	F(S, name, STR(PHX_FLOW_NAME_MAX), \
	  KEY(name, LINE, PHX_REQUIRED, "Its path, below the data directory.")) \
	F(S, size_bytes, U64, \
	  KEY(size, SIZE, "", "About how large it is: a task goes where most of its inputs are."))
PHX_RECORD_STRUCT(phx_workflow_file, PHX_WORKFLOW_FILE_FIELDS);

#define PHX_WORKFLOW_TASK_FIELDS(F, S) \
	F(S, id, STR(PHX_FLOW_NAME_MAX), \
	  KEY(id, LINE, PHX_REQUIRED, "What others call it by; there is no other such task.")) \
	F(S, name, STR(PHX_FLOW_NAME_MAX), \
	  KEY(name, LINE, "", \
	      "Its kind, where several tasks do the same with other files. Default: the id.")) \
	F(S, command, LIST(phx_word), \
	  KEY(command, OTHER, "", \
	      "What it runs: a list of a program and its arguments. No shell looks at them.")) \
	F(S, nodes, U32, \
	  KEY(nodes, NUMBER(1, PHX_FLOW_NODES_MAX), "1", \
	      "How many nodes it wants at once: if several, whole ones, with a program on each.")) \
	F(S, cores, U32, \
	  KEY(cores, NUMBER(0, PHX_FLOW_CORES_MAX), "0", \
	      "Cores of its one node; others may run beside it on what is left. 0: all.")) \
	F(S, memory_bytes, U64, KEY(memory, SIZE, "", "Memory of each of its nodes.")) \
	F(S, time_ms, I64, \
	  KEY(time, SPAN, "", "How long it may run: then it is ended, and has failed.")) \
	F(S, run_ms, I64, \
	  KEY(run, SPAN, "", \
	      "How long it is expected to run: for the longest way, and for phx sim.")) \
	F(S, inputs, LIST(phx_word), \
	  KEY(inputs, OTHER, "", \
	      "Files that it reads, as for the workflow. It waits for the task that writes one.")) \
	F(S, outputs, LIST(phx_word), \
	  KEY(outputs, OTHER, "", \
	      "Files that it writes. It has failed where one is missing when it has ended.")) \
	F(S, parents, LIST(phx_word), \
	  KEY(parents, OTHER, "", \
	      "A list of the ids of tasks that must be done before, though no file says so.")) \
	F(S, environment, LIST(phx_word), \
	  KEY(environment, OTHER, "", "A list of texts, each NAME=VALUE.")) \
	F(S, retries, U32, \
	  KEY(retries, NUMBER(0, PHX_FLOW_RETRIES_MAX), "0", \
	      "How often it is run again after it has failed.")) \
	F(S, when_failed, ENUM(phx_flow_when_failed), \
	  KEY(when_failed, CHOICE, "stop", \
	      "What becomes of the others when it has failed as often as it may. stop: what has " \
	      "not begun does not begin. go_on: all is done that does not need what it makes. " \
	      "hold: nothing begins until somebody has looked."))
PHX_RECORD_STRUCT(phx_workflow_task, PHX_WORKFLOW_TASK_FIELDS);

#define PHX_WORKFLOW_FIELDS(F, S) \
	F(S, name, STR(PHX_FLOW_NAME_MAX), KEY(name, LINE, "", "What people call it.")) \
	F(S, inputs, LIST(phx_word), \
	  KEY(inputs, OTHER, "", \
	      "Files that are there before the first task begins: a list of names, or of groups " \
	      "that say more of a file. What no task writes must be among them.")) \
	F(S, tasks, LIST(phx_word), \
	  KEY(tasks, OTHER, PHX_REQUIRED, "The tasks: a list of groups, in any order."))
PHX_RECORD_STRUCT(phx_workflow, PHX_WORKFLOW_FIELDS);

/** Read all of `text`, which ends with a NUL at n. -EINVAL "FILE:LINE: ..." (a key that there is
 * not, a value out of its bounds, what phx_flow_make() refuses), -EFBIG, -E2BIG, -ENOMEM; ret
 * untouched then. */
int phx_workflow_conf_read(const char *name, const char *text, size_t n, struct phx_flow *ret,
			   struct phx_err *err);
/** Append the workflow; read back it is the same but for its lines, and that who reads a file
 * waits for who writes it. -EINVAL: a text has several lines or a control character; -EFBIG;
 * -ENOMEM. What is in ret then is half of it. */
int phx_workflow_conf_write(const struct phx_flow *f, struct phx_buf *ret, struct phx_err *err);

#endif
