/* Fuzzing of the reader of workflows in WfFormat: any bytes as JSON. What holds of those that are
 * taken: workflow.h.
 * Parsers: lib/trace/wfformat.c lib/trace/decimal.c */
#include "fuzz/workflow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	return fuzz_workflow_form(data, n, phx_wfformat_read);
}
