/* Records of tasks: see task.h. Pure. */
#include "types/task.h"

static const char *const outcomes[] = {"exited",  "killed",    "overdue", "unstarted",
				       "missing", "cancelled", "lost"};
const struct phx_enum phx_task_outcome_names = {"outcome of a task", outcomes,
						PHX_ARRAY_SIZE(outcomes)};

PHX_RECORD_TABLE(phx_task, PHX_TASK_FIELDS);
PHX_RECORD_TABLE(phx_task_cancel, PHX_TASK_CANCEL_FIELDS);
PHX_RECORD_TABLE(phx_task_order, PHX_TASK_ORDER_FIELDS);
PHX_RECORD_TABLE(phx_task_result, PHX_TASK_RESULT_FIELDS);
PHX_RECORD_TABLE(phx_task_results, PHX_TASK_RESULTS_FIELDS);
