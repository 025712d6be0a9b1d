/* Fuzzing of the reader of workflows: any bytes as XML. Whatever comes: dependencies lie within the
 * jobs, and every job is on a level above its parents.
 * Parsers: lib/trace/dax.c */
#include <string.h>

#include "fuzz/fuzz.h"
#include "trace/dax.h"

static void check(const struct phx_trace_jobs *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct phx_trace_job *j = &w->jobs[i];
		if (!j->size || j->run_ms < 0 ||
		    (size_t)j->first_child + j->n_children > w->n_children)
			abort();
		for (uint32_t k = 0; k < j->n_children; k++) {
			uint32_t child = w->children[j->first_child + k];
			if (child >= w->n || w->jobs[child].class <= j->class)
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct phx_trace_jobs w = {0};
	struct phx_dax_info info;
	struct phx_err err = {0};
	char *text = malloc(n + 1);
	memcpy(text, data, n);
	text[n] = 0;
	int r = phx_dax_read("fuzz", text, n, &w, &info, &err);
	if (r == 0)
		check(&w);
	else if (w.jobs || !*err.text)
		abort();
	phx_trace_jobs_fini(&w);
	free(text);
	return 0;
}
