/* Fuzzing of scenario files: any bytes as text, the last line as an override. What is accepted has
 * names that are names, clusters of one kind, and REs that pass their own check; what is refused
 * has a text.
 * Parsers: lib/sim/scenario.c lib/sim/scenario_set.c lib/sim/scenario_trace.c */
#include <string.h>

#include "fuzz/fuzz.h"
#include "sim/scenario.h"

static void check(const struct phx_sim_scenario *s)
{
	PHX_LIST_EACH(const struct phx_sim_scenario_cluster, c, &s->clusters) {
		if (!phx_name_valid(c->name) || !c->nodes == !c->unlimited)
			abort();
	}
	PHX_LIST_EACH(const struct phx_sim_scenario_re, re, &s->res) {
		if (!re->takes_rest && phx_agreement_check(&re->agreement, NULL, NULL))
			abort();
	}
	if (!s->res.n || !s->clusters.n || !s->traces.n)
		abort();
}

/* Its traces are files that are not there: it gets as far as these. */
static void run(const struct phx_sim_scenario *s)
{
	struct phx_trace_store *store;
	struct phx_sim_result result = {0};
	struct phx_err err = {0};
	PHX_LIST_EACH(const struct phx_trace, t, &s->traces)
		if (!t->file[0] || t->file[0] == '/' || strstr(t->file, ".."))
			return;
	PHX_LIST_EACH(const struct phx_sim_scenario_re, re, &s->res)
		if (!re->jobs[0] && !re->demand[0])
			return;
	fuzz_never(phx_trace_store_new("/nonexistent", &store) < 0);
	fuzz_never(phx_sim_scenario_run(s, store, NULL, &result, &err) == 0 || !err.text[0]);
	phx_trace_store_free(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);
	struct phx_sim_scenario s;
	struct phx_err err = {0};
	memcpy(text, data, n);
	text[n] = 0;
	char *last = strrchr(text, '\n');
	const char *set = last ? last + 1 : "";
	size_t end = last ? (size_t)(last - text) : n;
	if (phx_sim_scenario_parse(text, end, "fuzz", &set, *set != 0, &s, &err) == 0) {
		check(&s);
		run(&s);
		phx_sim_scenario_fini(&s);
	} else if (!err.text[0]) {
		abort();
	}
	free(text);
	return 0;
}
