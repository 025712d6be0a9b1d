/* Fuzzing of the readers of job logs and of web series: any bytes as text. Whatever comes: jobs in
 * order, sizes of at least one node, times not negative, series that rise. The first byte chooses
 * the options.
 * Parsers: lib/trace/swf.c lib/trace/series.c */
#include <string.h>

#include "fuzz/fuzz.h"
#include "trace/series.h"
#include "trace/swf.h"

static void log_of(uint8_t how, const char *text, size_t n)
{
	struct phx_swf_options o = {.per_node = how & 1 ? 8 : 0,
				    .size_milli = how & 2 ? 1500 : 0,
				    .gap_milli = how & 4 ? 1000000 : 0,
				    .nodes = how & 8 ? 100 : 0,
				    .wide = how >> 4 & 1,
				    .sizes = how >> 5 & 1,
				    .from_first = how & 64,
				    .length_ms = how & 8 ? 100000 : 0,
				    .lenient = how & 128};
	struct phx_trace_jobs w = {0};
	struct phx_err err = {0};
	if (phx_swf_read("fuzz", text, n, &o, &w, &err) < 0) {
		if (w.jobs || !*err.text)
			abort();
		return;
	}
	for (size_t i = 0; i < w.n; i++) {
		const struct phx_trace_job *j = &w.jobs[i];
		if (!j->size || j->submit_ms < 0 || j->run_ms < 0 ||
		    (i && j->submit_ms < j[-1].submit_ms))
			abort();
	}
	phx_trace_jobs_fini(&w);
}

static void series_of(uint8_t how, const char *text, size_t n)
{
	struct phx_series_options o = {.kind = how & 1,
				       .begin_s = how & 2 ? 1000 : INT64_MIN,
				       .length_ms = how & 4 ? 100000 : 0,
				       .period_ms = how & 8 ? 60000 : 0,
				       .lenient = how & 128};
	struct phx_trace_series s = {0};
	struct phx_err err = {0};
	if (phx_series_read("fuzz", text, n, &o, &s, NULL, &err) < 0) {
		if (s.at_ms || !*err.text)
			abort();
		return;
	}
	for (size_t i = 0; i < s.n; i++)
		if ((i ? s.at_ms[i] <= s.at_ms[i - 1] : s.at_ms[0] != 0) || s.at_ms[i] >= s.end_ms)
			abort();
	phx_trace_series_fini(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n == 0)
		return 0;
	char *text = malloc(n); /* exactly as long as it is: what reads beyond is seen */
	memcpy(text, data + 1, n - 1);
	text[n - 1] = 0;
	log_of(data[0], text, n - 1);
	series_of(data[0], text, n - 1);
	free(text);
	return 0;
}
