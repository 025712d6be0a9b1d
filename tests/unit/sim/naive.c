/* Every scheduler against a naive simulator: arrays, no heap, no tree, everything looked at again
 * at every instant. Job for job the starts must be the same, on logs full of ties, jobs of no time,
 * and estimates that are wrong both ways.
 */
#include "unit/sim/runs.h"

enum { JOBS = 120, NODES = 12, WAITING = 0, RUNNING = 1, GONE = 2 };

struct naive {
	const struct phx_trace_jobs *w;
	int scheduler;
	int state[JOBS];
	int64_t start[JOBS], now;
	uint32_t idle;
};

static int64_t said_end(const struct naive *n, size_t i)
{
	return n->start[i] + n->w->jobs[i].estimate_ms;
}

static bool waits(const struct naive *n, size_t i)
{
	return n->state[i] == WAITING && n->w->jobs[i].submit_ms <= n->now;
}

static void start(struct naive *n, size_t i)
{
	n->state[i] = RUNNING;
	n->start[i] = n->now;
	n->idle -= n->w->jobs[i].size;
}

/* The waiting job that the scheduler would take first; JOBS when none waits. */
static size_t head(const struct naive *n)
{
	size_t best = JOBS;
	for (size_t i = 0; i < n->w->n; i++)
		if (waits(n, i) &&
		    (best == JOBS ||
		     (n->scheduler == PHX_SCHEDULER_sjf &&
		      n->w->jobs[i].estimate_ms < n->w->jobs[best].estimate_ms)))
			best = i;
	return best;
}

/* When by the estimates the head has its nodes, and how many are left over then. */
static int64_t shadow(const struct naive *n, size_t of, uint32_t *ret_extra)
{
	int64_t at = INT64_MIN;
	for (;;) {
		uint32_t free = n->idle;
		int64_t next = INT64_MAX;
		for (size_t i = 0; i < n->w->n; i++) {
			if (n->state[i] != RUNNING)
				continue;
			if (said_end(n, i) <= at)
				free += n->w->jobs[i].size;
			else if (said_end(n, i) < next)
				next = said_end(n, i);
		}
		if (free >= n->w->jobs[of].size) {
			*ret_extra = free - n->w->jobs[of].size;
			return at;
		}
		at = next;
	}
}

static void backfill(struct naive *n, size_t of)
{
	uint32_t extra;
	int64_t at = shadow(n, of, &extra);
	for (size_t i = 0; i < n->w->n; i++) {
		const struct phx_trace_job *j = &n->w->jobs[i];
		if (i == of || !waits(n, i) || j->size > n->idle)
			continue;
		bool by_then = n->now + j->estimate_ms <= at;
		if (!by_then && j->size > extra)
			continue;
		extra -= by_then ? 0 : j->size;
		start(n, i);
	}
}

static void pass(struct naive *n)
{
	size_t i;
	if (n->scheduler == PHX_SCHEDULER_first_fit) {
		for (i = 0; i < n->w->n; i++)
			if (waits(n, i) && n->w->jobs[i].size <= n->idle)
				start(n, i);
		return;
	}
	while ((i = head(n)) != JOBS && n->w->jobs[i].size <= n->idle)
		start(n, i);
	if (i != JOBS && n->scheduler == PHX_SCHEDULER_easy)
		backfill(n, i);
}

static void naive_run(struct naive *n)
{
	n->idle = NODES;
	for (;;) {
		int64_t next = INT64_MAX;
		for (size_t i = 0; i < n->w->n; i++) {
			const struct phx_trace_job *j = &n->w->jobs[i];
			int64_t at =
				n->state[i] == RUNNING ? n->start[i] + j->run_ms : j->submit_ms;
			if (n->state[i] != GONE && (n->state[i] == RUNNING || at > n->now) &&
			    at < next)
				next = at;
		}
		if (next == INT64_MAX)
			return;
		n->now = next;
		for (size_t i = 0; i < n->w->n; i++)
			if (n->state[i] == RUNNING && n->start[i] + n->w->jobs[i].run_ms == next) {
				n->state[i] = GONE;
				n->idle += n->w->jobs[i].size;
			}
		pass(n);
	}
}

/* Few different times, so that much happens at one instant. */
static void draw_log(uint64_t seed, struct phx_trace_job *jobs)
{
	int64_t at = 0;
	for (size_t i = 0; i < JOBS; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		uint32_t r = (uint32_t)(seed >> 33);
		at += r % 4 * 10 * S;
		jobs[i] = (struct phx_trace_job){.id = i + 1,
						 .submit_ms = at,
						 .run_ms = (r >> 3) % 12 * 10 * S,
						 .size = 1 + (r >> 8) % 4 * ((r >> 12) % 3)};
		jobs[i].estimate_ms = (r >> 16) % 12 * 10 * S;
	}
}

static void compare(uint64_t seed, int scheduler)
{
	struct phx_trace_job list[JOBS];
	struct phx_trace_jobs w = {.jobs = list, .n = JOBS};
	struct phx_agreement a = agreement("batch", PHX_RE_BATCH, PHX_POLICY_dcs, NODES);
	struct phx_sim_cluster cluster = {"c", {.nodes = NODES}};
	struct phx_sim_re re = {.agreement = &a, .jobs = &w};
	int64_t start_ms[JOBS], end_ms[JOBS];
	struct seen seen = {&w, start_ms, end_ms};
	struct phx_sim_watch watch = {.arg = &seen, .end = see_end};
	struct phx_sim_result r;
	struct naive n = {.w = &w, .scheduler = scheduler, .now = -1};
	draw_log(seed, list);
	a.scheduler = scheduler;
	run_or_fail(&(struct phx_sim_config){.clusters = &cluster,
					     .n_clusters = 1,
					     .res = &re,
					     .n_res = 1,
					     .estimates = PHX_SIM_ESTIMATE_STRICT,
					     .watch = &watch,
					     .check = true},
		    &r);
	assert_int_equal(r.total.completed, JOBS);
	naive_run(&n);
	for (size_t i = 0; i < JOBS; i++)
		if (n.start[i] != start_ms[i])
			fail_msg("%s, seed %llu, job %zu: started at %lld s, the naive one says "
				 "%lld s",
				 phx_enum_name(&phx_scheduler_names, scheduler),
				 (unsigned long long)seed, i, (long long)(start_ms[i] / S),
				 (long long)(n.start[i] / S));
	phx_sim_result_fini(&r);
}

static void check_scheduler(int scheduler)
{
	for (uint64_t seed = 1; seed <= 100; seed++)
		compare(seed, scheduler);
}

static void first_fit(void **state)
{
	(void)state;
	check_scheduler(PHX_SCHEDULER_first_fit);
}

static void fcfs(void **state)
{
	(void)state;
	check_scheduler(PHX_SCHEDULER_fcfs);
}

static void sjf(void **state)
{
	(void)state;
	check_scheduler(PHX_SCHEDULER_sjf);
}

static void easy(void **state)
{
	(void)state;
	check_scheduler(PHX_SCHEDULER_easy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_fit),
		cmocka_unit_test(fcfs),
		cmocka_unit_test(sjf),
		cmocka_unit_test(easy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
