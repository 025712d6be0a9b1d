/* What a task printed, as far as it is kept: a piece of it for the head (types/task.h). Called by
 * logs.c in a worker; the keeper of tasks writes these files, nobody else can. */
#ifndef PHX_AGENT_TASK_OUTPUT_H
#define PHX_AGENT_TASK_OUTPUT_H

#include "types/task.h"

/** The piece from `ask->from` on; its `id` is left to the caller. -ENOENT: nothing is kept of that
 * attempt. Owned: phx_record_fini(&phx_task_output_record, ret), which is all zero on failure. */
int task_output_read(const char *cache_dir, const struct phx_task_ask *ask,
		     struct phx_task_output *ret, struct phx_err *err);

#endif
