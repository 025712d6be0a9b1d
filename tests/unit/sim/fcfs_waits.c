/* FCFS against an independent simulator: it knows no events and no queue, only when each node is
 * free next. Every job's start must be the same to the millisecond, on drawn logs, on the sample
 * and on the archives'. */
#include "unit/sim/runs.h"

/* A job starts when it and the one before are there and as many nodes as it wants are free: the
 * (size)th earliest of the times at which nodes become free. `free_ms` is kept sorted. */
static void other_fcfs(const struct phx_trace_jobs *w, uint32_t nodes, int64_t *ret_start)
{
	int64_t *free_ms = calloc(nodes, sizeof(*free_ms)), before = 0;
	assert_non_null(free_ms);
	for (size_t i = 0; i < w->n; i++) {
		const struct phx_trace_job *j = &w->jobs[i];
		int64_t at = j->submit_ms > before ? j->submit_ms : before;
		if (free_ms[j->size - 1] > at)
			at = free_ms[j->size - 1];
		ret_start[i] = before = at;
		/* its nodes are those that are free first; they are free again at its end, sorted
		 * in by shifting */
		uint32_t k = j->size, to = 0;
		for (; k < nodes && free_ms[k] <= at + j->run_ms; k++)
			free_ms[to++] = free_ms[k];
		for (uint32_t m = 0; m < j->size; m++)
			free_ms[to++] = at + j->run_ms;
	}
	free(free_ms);
}

static void compare(const struct phx_trace_jobs *w, uint32_t nodes)
{
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, nodes);
	struct phx_sim_cluster cluster = {"c", {.nodes = nodes}};
	struct phx_sim_re re = {.agreement = &a, .jobs = w};
	int64_t *start = calloc(w->n, sizeof(*start)), *end = calloc(w->n, sizeof(*end)),
		*other = calloc(w->n, sizeof(*other));
	struct seen seen = {w, start, end};
	struct phx_sim_watch watch = {.arg = &seen, .end = see_end};
	struct phx_sim_result r;
	a.scheduler = PHX_SCHEDULER_fcfs;
	run_or_fail(&(struct phx_sim_config){.clusters = &cluster,
					     .n_clusters = 1,
					     .res = &re,
					     .n_res = 1,
					     .watch = &watch},
		    &r);
	other_fcfs(w, nodes, other);
	int64_t sum = 0;
	for (size_t i = 0; i < w->n; i++) {
		if (start[i] != other[i])
			fail_msg("job %zu of %zu: started at %lld ms, the other says %lld", i, w->n,
				 (long long)start[i], (long long)other[i]);
		sum += other[i] - w->jobs[i].submit_ms;
	}
	assert_int_equal(r.total.completed, w->n);
	assert_float_equal(r.total.mean_wait_s, (double)sum / 1000 / (double)w->n, 1e-6);
	phx_sim_result_fini(&r);
	free(start);
	free(end);
	free(other);
}

static void on_drawn_logs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct phx_trace_jobs w = {0};
		struct phx_err err = {0};
		struct phx_gen_jobs g = {
			.rate = {.form = (int)(seed % PHX_GEN_FORM_COUNT_), .length_ms = 86400 * S},
			.seed = seed,
			.n = 500,
			.law = PHX_GEN_EXPONENTIAL,
			.run_ms = 1500 * S,
			.nodes_max = 32};
		assert_int_equal(phx_gen_jobs(&g, &w, &err), 0);
		compare(&w, 32 + (uint32_t)seed * 3);
		phx_trace_jobs_fini(&w);
	}
}

static void on_the_sample(void **state)
{
	PHX_AUTO_TRACE_INPUT struct phx_trace_input in = {0};
	struct phx_trace_jobs w = {0};
	struct phx_err err = {0};
	struct phx_swf_options o = {.per_node = 4, .nodes = 32};
	(void)state;
	assert_int_equal(phx_trace_input_read(TEST_DIR "/../etc/sim/samples/jobs.swf", &in, &err),
			 0);
	assert_int_equal(phx_swf_read("jobs.swf", in.data, in.n, &o, &w, &err), 0);
	compare(&w, 32);
	phx_trace_jobs_fini(&w);
}

static void on_nasa_ipsc(void **state)
{
	struct phx_trace_jobs w = {0};
	struct phx_swf_options o = {.nodes = 100};
	(void)state;
	read_jobs("NASA-iPSC-1993-3.1-cln.swf", &o, &w); /* on 100 nodes jobs wait */
	compare(&w, 100);
	phx_trace_jobs_fini(&w);
}

static void on_sdsc_blue(void **state)
{
	struct phx_trace_jobs w = {0};
	struct phx_swf_options o = {.per_node = 8, .nodes = 144};
	(void)state;
	read_jobs("SDSC-BLUE-2000-4.2-cln.swf", &o, &w);
	compare(&w, 144);
	phx_trace_jobs_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_drawn_logs),
		cmocka_unit_test(on_the_sample),
		cmocka_unit_test(on_nasa_ipsc),
		cmocka_unit_test(on_sdsc_blue),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
