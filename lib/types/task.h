/* Tasks: the small runs of workflows, of which a node carries out many side by side. What the head
 * gives a node (an order of kind "tasks"), and what the node answers. Both ways are checked by who
 * reads: the head may be an older one, and what a node says is a claim. Pure.
 *
 * An order goes out with the answer to a beat, as the others do:
 *
 *	{"kind": "tasks", "id": ID, "tasks": {phx_task_order, without what is 0, "" or empty}}
 *
 * until the node says ["tasks", ID] among what is running there: it says so of each of the last
 * orders that it has taken (PHX_TASKS_TOLD of them), ["tasks", 0] while there is none, and nothing
 * at all of an agent of before this. Orders of one node are numbered upward; several may go out at
 * once, one for each user, at most PHX_TASKS_TOLD. A node takes an order of a number that is not
 * above the last for done, unless `since_ms` says that a head has begun to count anew.
 *
 * A run of a task is known by run, submitted_ms, task and attempt. It runs once, however often it
 * is ordered. An order of a newer attempt ends the one of before; one of an older attempt is of the
 * past, and not answered. Each run of a task that was ordered is answered by one row, which is said
 * until the head has taken it: POST /v1/agent/tasks with a phx_task_results, answered by {} when
 * the rows are committed. A row that comes twice is the same row. */
#ifndef PHX_TYPES_TASK_H
#define PHX_TYPES_TASK_H

#include "base/record.h"

#define PHX_TASKS_MAX 512                /* of one order; as many cancels */
#define PHX_TASKS_TOLD 16                /* orders that a node says it has taken */
#define PHX_TASKS_BYTES (64u << 10)      /* of one order as text */
#define PHX_TASK_PATHS_MAX 1024          /* outputs, and inputs, of one task */
#define PHX_TASK_ROWS_MAX 256            /* of one answer */
#define PHX_TASK_ROWS_BYTES (128u << 10) /* of one answer as text */

/** Which run of which task. submitted_ms is the workflow's: a head that lost its journal uses run
 * numbers again. */
#define PHX_TASK_KEY_FIELDS(F, S) \
	F(S, run, U64) /* number of the run of the workflow */ \
	F(S, submitted_ms, I64) \
	F(S, task, U32) /* its place in the workflow */ \
	F(S, attempt, U32)

#define PHX_TASK_FIELDS(F, S) \
	PHX_TASK_KEY_FIELDS(F, S) \
	F(S, argv, LIST(phx_text)) \
	F(S, env, LIST(phx_text)) /* "NAME=value" */ \
	/* where it starts, and all its paths: below the data directory */ \
	F(S, dir, STR(256)) \
	F(S, cores, U32)              /* 0: all that the order gives */ \
	F(S, memory_bytes, U64)       /* 0: not counted */ \
	F(S, limit_ms, I64)           /* then it is ended; 0: no limit */ \
	F(S, outputs, LIST(phx_text)) /* must be there when it has ended well */ \
	F(S, inputs, LIST(phx_text))  /* for people, and for where it is put */ \
	F(S, sums, BOOL)              /* the digest of what it prints is wanted */ \
	/* phx_task_result.outputs_sha256 of an earlier run: if its outputs are there and are \
	 * these, it does not run; "": it runs */ \
	F(S, had_sha256, STR(65))
PHX_RECORD_STRUCT(phx_task, PHX_TASK_FIELDS);

/** Tasks that are to end, or not to begin. */
#define PHX_TASK_CANCEL_FIELDS(F, S) \
	PHX_TASK_KEY_FIELDS(F, S) /* this attempt, and those before it */ \
	F(S, whole, BOOL)         /* all tasks of the run, whatever `task` and `attempt` say */
PHX_RECORD_STRUCT(phx_task_cancel, PHX_TASK_CANCEL_FIELDS);

#define PHX_TASK_ORDER_FIELDS(F, S) \
	F(S, since_ms, I64) /* when the head began to number the orders of this node */ \
	F(S, re, STR(PHX_NAME_MAX)) \
	F(S, user, STR(PHX_NAME_MAX)) /* as whom they run */ \
	F(S, uid, U32) \
	F(S, gid, U32) \
	/* the RE's data directory on the node, absolute: what all nodes see; "": a directory that \
	 * the agent makes for RE and user, which this node alone sees */ \
	F(S, data, STR(256)) \
	/* what of the node all tasks of the RE may use together; 0: all that it has */ \
	F(S, cores, U32) \
	F(S, memory_bytes, U64) \
	F(S, lease_ms, \
	  U32) /* tasks end when the head was not heard for so long; 0: they do not */ \
	F(S, grace_ms, U32)      /* from SIGTERM to SIGKILL */ \
	F(S, output_max_kb, U32) /* KiB of what a task prints that are kept; 0: 1 MiB */ \
	F(S, tasks, LIST(phx_task)) \
	F(S, cancels, LIST(phx_task_cancel))
PHX_RECORD_STRUCT(phx_task_order, PHX_TASK_ORDER_FIELDS);

/** How a run of a task ended. */
enum phx_task_outcome {
	PHX_TASK_EXITED,    /* `status`: its exit status; 0: and all outputs are there */
	PHX_TASK_KILLED,    /* by signal `status`, which nobody here sent */
	PHX_TASK_OVERDUE,   /* its time was over */
	PHX_TASK_UNSTARTED, /* it could not be started: `text` */
	PHX_TASK_MISSING,   /* it ended with 0, but an output is not there or no file: `text` */
	PHX_TASK_CANCELLED, /* the head said so; it may never have begun */
	PHX_TASK_LOST, /* the node started anew, or gave it up: lease, drain; it may run again */
	PHX_TASK_OUTCOMES,
};
extern const struct phx_enum phx_task_outcome_names;

#define PHX_TASK_RESULT_FIELDS(F, S) \
	PHX_TASK_KEY_FIELDS(F, S) \
	F(S, outcome, ENUM(phx_task_outcome)) \
	F(S, status, U32)     /* exit status or signal, 0 to 255 */ \
	F(S, was_there, BOOL) /* it did not run: its outputs were there (had_sha256) */ \
	F(S, begin_ms, I64)   /* by the node's clock; 0: it never began */ \
	F(S, end_ms, I64) \
	F(S, cpu_ms, U64) \
	F(S, memory_peak_bytes, U64) /* 0: not known */ \
	F(S, printed_bytes, U64)     /* of stdout and stderr, what was cut included */ \
	F(S, n_outputs, U32)         /* that were there */ \
	F(S, output_bytes, U64)      /* of them all */ \
	/* of the outputs in the order of the task, each as PATH NUL SIZE NUL SHA-256 NUL, the \
	 * numbers as decimal and lower-case hexadecimal digits; "": it did not end well, or has \
	 * none. A run that has the same again need not be repeated */ \
	F(S, outputs_sha256, STR(65)) \
	F(S, printed_sha256, STR(65)) /* of all that it printed, where `sums` asked for it */ \
	F(S, text, STR(160))          /* why, where the outcome says too little */
PHX_RECORD_STRUCT(phx_task_result, PHX_TASK_RESULT_FIELDS);

#define PHX_TASK_RESULTS_FIELDS(F, S) F(S, rows, LIST(phx_task_result))
PHX_RECORD_STRUCT(phx_task_results, PHX_TASK_RESULTS_FIELDS);

/** Which piece of what a task printed the head asks a node for: an order {"kind": "output", "id":
 * ID, "output": {phx_task_ask}}, answered by POST /v1/agent/output with a phx_task_output. An agent
 * of before this does not answer. */
#define PHX_TASK_ASK_FIELDS(F, S) \
	PHX_TASK_KEY_FIELDS(F, S) \
	F(S, from, U64) /* the first byte of the piece */
PHX_RECORD_STRUCT(phx_task_ask, PHX_TASK_ASK_FIELDS);

#define PHX_TASK_PIECE_MAX (PHX_TEXT_MAX / 2) /* bytes of one answer */

#define PHX_TASK_OUTPUT_FIELDS(F, S) \
	F(S, id, U64)         /* of the question */ \
	F(S, error, STR(200)) /* why there is none; "": there is */ \
	F(S, size_bytes, U64) /* of all that is kept of it by now */ \
	F(S, hex, TEXT)       /* the piece, two lower-case digits a byte; NULL: it is empty */
PHX_RECORD_STRUCT(phx_task_output, PHX_TASK_OUTPUT_FIELDS);

/** Is it an answer that makes sense by itself? -EINVAL, -E2BIG with a text. */
int phx_task_output_check(const struct phx_task_output *o, struct phx_err *err);

/** Is what its tasks share something that a node may follow: number, RE, user, directory? -EINVAL,
 * -EPERM, -E2BIG with a text. */
int phx_task_order_check(const struct phx_task_order *o, struct phx_err *err);
/** Is one of them something that a node can begin: program, environment, paths, limits? One that is
 * not is not begun, and holds up no other. -EINVAL, -E2BIG with a text. */
int phx_task_check(const struct phx_task *t, struct phx_err *err);

/** Is it an answer that makes sense by itself: at most PHX_TASK_ROWS_MAX rows, no times that cannot
 * be, digests that are some, texts that may be printed? -EINVAL, -E2BIG with a text that names the
 * row. Whether the node was given these tasks is for the caller to say. */
int phx_task_results_check(const struct phx_task_results *r, struct phx_err *err);

#endif
