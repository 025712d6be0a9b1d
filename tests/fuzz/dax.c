/* Fuzzing of the reader of workflows in DAX: any bytes as XML. What holds of those that are taken:
 * workflow.h; as a workload their dependencies lie within the jobs.
 * Parsers: lib/trace/dax.c lib/flow/make.c */
#include "fuzz/workflow.h"
#include "trace/dax.h"

static int read_dax(const char *name, const char *text, size_t n, struct phx_flow *ret,
		    struct phx_err *err)
{
	PHX_AUTO(phx_trace_jobs_fini) struct phx_trace_jobs w = {0};
	struct phx_err why = {0};
	int r = phx_dax_read(name, text, n, ret, err);
	if (r == 0 && phx_workflow_jobs(ret, name, &w, &why) == 0)
		fuzz_never(w.n != ret->n_tasks);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	return fuzz_workflow_form(data, n, read_dax);
}
