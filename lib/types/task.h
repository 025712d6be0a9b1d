/* Tasks of workflows, many of which run side by side on a node: what the head sends to a node (an
 * order of kind "tasks"), and what the node answers. Each reader checks what it gets: the head may
 * be an older one, and what a node reports is only a claim. Pure.
 *
 * An order is sent with the answer to a beat, as the others are:
 *
 *	{"kind": "tasks", "id": ID, "tasks": {phx_task_order, without what is 0, "" or empty}}
 *
 * until the node reports ["tasks", ID] among what is running there. It reports each of the last
 * orders that it has taken (PHX_TASKS_TOLD of them), or ["tasks", 0] while there is none; an older
 * agent reports nothing. Orders of one node are numbered upward; several may be sent at once, one
 * for each user, at most PHX_TASKS_TOLD. A node ignores an order whose number is not above the last
 * one as done already, unless `since_ms` says that a head has begun to count anew.
 *
 * A run of a task is identified by run, submitted_ms, task and attempt. It runs once, however often
 * it is ordered. An order of a newer attempt ends the older attempt; one of an older attempt is
 * obsolete and not answered. Each ordered run of a task is answered by one row, which is repeated
 * until the head has taken it: POST /v1/agent/tasks with a phx_task_results, answered by {} when
 * the rows are committed. A row that comes twice is the same row. */
#ifndef PHX_TYPES_TASK_H
#define PHX_TYPES_TASK_H

#include "base/record.h"

#define PHX_TASKS_MAX 512                /* in one order; as many cancels */
#define PHX_TASKS_TOLD 16                /* orders that a node reports as taken */
#define PHX_TASKS_BYTES (64u << 10)      /* of one order as text */
#define PHX_TASK_PATHS_MAX 1024          /* outputs, and inputs, of one task */
#define PHX_TASK_ROWS_MAX 256            /* of one answer */
#define PHX_TASK_ROWS_BYTES (128u << 10) /* of one answer as text */

/** Identifies one run of a task. submitted_ms is the workflow's: a head that lost its journal uses
 * run numbers again. */
#define PHX_TASK_KEY_FIELDS(F, S) \
	F(S, run, U64) /* number of the run of the workflow */ \
	F(S, submitted_ms, I64) \
	F(S, task, U32) /* its place in the workflow */ \
	F(S, attempt, U32)

#define PHX_TASK_FIELDS(F, S) \
	PHX_TASK_KEY_FIELDS(F, S) \
	F(S, argv, LIST(phx_text)) \
	F(S, env, LIST(phx_text)) /* "NAME=value" */ \
	/* its working directory, and the base of all its paths; below the data directory */ \
	F(S, dir, STR(256)) \
	F(S, cores, U32) /* 0: all cores of the order */ \
	/* of a task of several nodes: all of them, folded ("n[1-4]"), and which this is, from 0; \
	 * NULL: it has one. It runs on each, and only the first looks at outputs */ \
	F(S, nodes, TEXT) \
	F(S, rank, U32) \
	F(S, memory_bytes, U64)       /* 0: not counted */ \
	F(S, limit_ms, I64)           /* it is ended after that; 0: no limit */ \
	F(S, outputs, LIST(phx_text)) /* must exist when it has ended well */ \
	F(S, inputs, LIST(phx_text))  /* for people, and for the choice of its node */ \
	F(S, sums, BOOL)              /* a digest of its output is wanted */ \
	/* phx_task_result.outputs_sha256 of an earlier run: if its outputs exist and match, the \
	 * task does not run again; "": it runs */ \
	F(S, had_sha256, STR(65))
PHX_RECORD_STRUCT(phx_task, PHX_TASK_FIELDS);

/** Tasks that must end, or not begin. */
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
	/* the RE's data directory on the node, an absolute path that all nodes share; "": a \
	 * directory that the agent makes for RE and user, local to this node */ \
	F(S, data, STR(256)) \
	/* the share of the node that all tasks of the RE may use together; 0: the whole node */ \
	F(S, cores, U32) \
	F(S, memory_bytes, U64) \
	/* tasks end when the head was not heard for so long; 0: they do not */ \
	F(S, heartbeat_timeout_ms, U32, AS(lease_ms)) \
	F(S, grace_ms, U32)      /* from SIGTERM to SIGKILL */ \
	F(S, output_max_kb, U32) /* KiB that are kept of a task's output; 0: 1 MiB */ \
	F(S, tasks, LIST(phx_task)) \
	F(S, cancels, LIST(phx_task_cancel))
PHX_RECORD_STRUCT(phx_task_order, PHX_TASK_ORDER_FIELDS);

/** How a run of a task ended. */
enum phx_task_outcome {
	PHX_TASK_EXITED,    /* `status` is its exit status; if that is 0, all outputs exist */
	PHX_TASK_KILLED,    /* by signal `status`, not sent by us */
	PHX_TASK_OVERDUE,   /* its time limit was reached */
	PHX_TASK_UNSTARTED, /* it could not be started, see `text` */
	PHX_TASK_MISSING,   /* it ended with 0, but an output is missing or no file, see `text` */
	PHX_TASK_CANCELLED, /* by the head; it may never have begun */
	PHX_TASK_LOST, /* the node restarted or gave it up (timeout, drain); it may run again */
	PHX_TASK_OUTCOMES,
};
extern const struct phx_enum phx_task_outcome_names;

#define PHX_TASK_RESULT_FIELDS(F, S) \
	PHX_TASK_KEY_FIELDS(F, S) \
	F(S, outcome, ENUM(phx_task_outcome)) \
	F(S, status, U32)     /* exit status or signal, 0 to 255 */ \
	F(S, was_there, BOOL) /* it did not run: its outputs existed (had_sha256) */ \
	F(S, begin_ms, I64)   /* by the node's clock; 0: it never began */ \
	F(S, end_ms, I64) \
	F(S, cpu_ms, U64) \
	F(S, memory_peak_bytes, U64) /* 0: not known */ \
	F(S, printed_bytes, U64)     /* of stdout and stderr, dropped bytes included */ \
	F(S, n_outputs, U32)         /* that exist */ \
	F(S, output_bytes, U64)      /* their total size */ \
	/* SHA-256 over the outputs in the task's order, each as PATH NUL SIZE NUL SHA-256 NUL, \
	 * the numbers in decimal and lower-case hexadecimal digits; "": it did not end well, or \
	 * has no outputs. A run whose outputs still match need not be repeated */ \
	F(S, outputs_sha256, STR(65)) \
	F(S, printed_sha256, STR(65)) /* of its whole output, if `sums` asked for it */ \
	F(S, text, STR(160))          /* why, if the outcome says too little */
PHX_RECORD_STRUCT(phx_task_result, PHX_TASK_RESULT_FIELDS);

#define PHX_TASK_RESULTS_FIELDS(F, S) F(S, rows, LIST(phx_task_result))
PHX_RECORD_STRUCT(phx_task_results, PHX_TASK_RESULTS_FIELDS);

/** A request of the head for a piece of a task's output: an order {"kind": "output", "id": ID,
 * "output": {phx_task_ask}}, answered by POST /v1/agent/output with a phx_task_output. An older
 * agent does not answer. */
#define PHX_TASK_ASK_FIELDS(F, S) \
	PHX_TASK_KEY_FIELDS(F, S) \
	F(S, from, U64) /* the first byte of the piece */
PHX_RECORD_STRUCT(phx_task_ask, PHX_TASK_ASK_FIELDS);

#define PHX_TASK_PIECE_MAX (PHX_TEXT_MAX / 2) /* bytes of one answer */

#define PHX_TASK_OUTPUT_FIELDS(F, S) \
	F(S, id, U64)         /* of the request */ \
	F(S, error, STR(200)) /* why there is no piece; "": there is one */ \
	F(S, size_bytes, U64) /* of all output that is kept so far */ \
	F(S, hex, TEXT)       /* the piece, two lower-case digits a byte; NULL: empty */
PHX_RECORD_STRUCT(phx_task_output, PHX_TASK_OUTPUT_FIELDS);

/** Checks the consistency of an answer by itself. -EINVAL, -E2BIG with a text. */
int phx_task_output_check(const struct phx_task_output *o, struct phx_err *err);

/** Checks what the tasks of an order share: number, RE, user, directory. -EINVAL, -EPERM, -E2BIG
 * with a text. */
int phx_task_order_check(const struct phx_task_order *o, struct phx_err *err);
/** Checks one task: program, environment, paths, limits. A bad one is not begun and does not hold
 * up the others. -EINVAL, -E2BIG with a text. */
int phx_task_check(const struct phx_task *t, struct phx_err *err);

/** Checks the consistency of results by themselves: at most PHX_TASK_ROWS_MAX rows, plausible
 * times, valid digests, printable texts. -EINVAL, -E2BIG with a text that names the row. Whether
 * the node was given these tasks is for the caller to check. */
int phx_task_results_check(const struct phx_task_results *r, struct phx_err *err);

#endif
