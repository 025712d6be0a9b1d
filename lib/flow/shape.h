/* The shape of a workflow: what who carries it out must know of it (what each task wants of a node,
 * how often it is tried, for whom it waits), and nothing of what it runs. As text it goes into the
 * journal, so that a replay needs no file. Used by flow/live.h, and by phxd, which makes the shape
 * of a workflow that was submitted. Pure.
 *
 * The text has a line for each task: "=CORES,MEMORY,TIME_MS,RETRIES,WHEN_FAILED" where that differs
 * from the line before, then how many places before it each of its parents stands (negative:
 * behind it), "9:3" for 9, 8, ... 3. "*N": N more tasks as the line before. */
#ifndef PHX_FLOW_SHAPE_H
#define PHX_FLOW_SHAPE_H

#include "base/record.h"
#include "flow/flow.h"

/** Of the text, and of the waitings of all tasks together: a line says many of them. */
#define PHX_FLOW_SHAPE_BYTES_MAX (64u << 20)
#define PHX_FLOW_SHAPE_WAITS_MAX 8000000

/** The same workflow gives the same text, appended to ret_text (struct phx_text, in pieces that
 * JSON takes). -E2BIG, -ENOMEM: ret_text may have more than before. */
int phx_flow_shape_write(const struct phx_flow *f, struct phx_list *ret_text);

/** The workflow of n_tasks that the text tells of: its names are "", it has no files. -EINVAL with
 * a text, -E2BIG, -ENOMEM; ret untouched then. */
int phx_flow_shape_read(const struct phx_list *text, uint32_t n_tasks, struct phx_flow *ret,
			struct phx_err *err);

/** The decimal number at *at, which goes behind it, at most `max` (less than 2^60); false: there is
 * none, or a greater one. */
bool phx_flow_number(const char **at, uint64_t max, uint64_t *ret);
/** Cut `b` into pieces of a list of struct phx_text, and put them together. -ENOMEM. */
int phx_flow_pieces(const struct phx_buf *b, struct phx_list *ret_text);
int phx_flow_join(const struct phx_list *text, struct phx_buf *ret);

#endif
