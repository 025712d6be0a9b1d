/* Fuzzing of the reader of workflows that people write by hand: any bytes, told to be of a form by
 * how they begin. What holds of those that are taken: workflow.h.
 * Parsers: lib/trace/workflow_conf.c */
#include "fuzz/workflow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	return fuzz_workflow_form(data, n, phx_workflow_read);
}
