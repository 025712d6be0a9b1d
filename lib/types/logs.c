/* The records of questions for logs and of their answers: see logs.h. Pure. */
#include "types/logs.h"

const struct phx_enum phx_logs_of_names = {"log",
					   (const char *const[]){"service", "agent", "kernel"}, 3};

PHX_RECORD_TABLE(phx_logs_ask, PHX_LOGS_ASK_FIELDS);
PHX_RECORD_TABLE(phx_logs_told, PHX_LOGS_TOLD_FIELDS);
