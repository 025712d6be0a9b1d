/* The shape of a workflow: what is needed to carry it out (each task's requirements, its retries,
 * its parents), without what the tasks run. It goes into the journal as text, so that a replay
 * needs no file. Used by flow/progress.h, and by phxd, which makes the shape of a submitted
 * workflow. Pure.
 *
 * The text has a line for each task: "=CORES,MEMORY,TIME_MS,RETRIES,WHEN_FAILED" if that differs
 * from the line before, with ",NODES" behind it where those are not 1; then for each parent how
 * many places before the task it stands (negative: behind it), "9:3" for 9, 8, ... 3. "*N": N more
 * tasks like the line before. */
#ifndef PHX_FLOW_SHAPE_H
#define PHX_FLOW_SHAPE_H

#include "base/record.h"
#include "flow/flow.h"

/** Limits of the text, and of all dependencies together, many of which one line can state. */
#define PHX_FLOW_SHAPE_BYTES_MAX (64u << 20)
#define PHX_FLOW_SHAPE_WAITS_MAX 8000000

/** Appends the text to ret_text (struct phx_text, in pieces that JSON takes); the same workflow
 * gives the same text. -E2BIG, -ENOMEM: ret_text may have more than before. */
int phx_flow_shape_write(const struct phx_flow *f, struct phx_list *ret_text);

/** Reads the workflow of n_tasks tasks from the text: its names are "", it has no files. -EINVAL
 * with a text, -E2BIG, -ENOMEM; ret is untouched then. */
int phx_flow_shape_read(const struct phx_list *text, uint32_t n_tasks, struct phx_flow *ret,
			struct phx_err *err);

/** Reads the decimal number at *at, at most `max` (less than 2^60), and moves *at behind it; false:
 * there is none, or a greater one. */
bool phx_flow_number(const char **at, uint64_t max, uint64_t *ret);
/** Cuts `b` into pieces of a list of struct phx_text, and joins such pieces again. -ENOMEM. */
int phx_flow_pieces(const struct phx_buf *b, struct phx_list *ret_text);
int phx_flow_join(const struct phx_list *text, struct phx_buf *ret);

#endif
