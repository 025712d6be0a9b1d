/* Reads a piece of a task's kept output for the head (types/task.h). Called by logs.c in a worker;
 * only the keeper of tasks writes these files. */
#ifndef PHX_AGENT_TASK_OUTPUT_H
#define PHX_AGENT_TASK_OUTPUT_H

#include "types/task.h"

/** Read the piece from `ask->from` on; its `id` is left to the caller. -ENOENT: no output of that
 * attempt is kept. The caller frees *ret by phx_record_fini(&phx_task_output_record, ret); on
 * failure it is all zero. */
int task_output_read(const char *cache_dir, const struct phx_task_ask *ask,
		     struct phx_task_output *ret, struct phx_err *err);

#endif
