/* Parts of a run by themselves: the heap of what is due, leases and their cost, sums of several
 * REs. */
#include <math.h>

#include "sim/due.h"
#include "unit/sim/runs.h"

/* ---- the heap ---- */

static int by_order(const void *a, const void *b)
{
	const struct phx_sim_due *x = a, *y = b;
	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Pushed in any order, it comes out sorted: by time, then as at one instant, then by number. */
static void what_is_due_comes_in_order(void **state)
{
	enum { N = 3000 };
	static struct phx_sim_due all[N];
	struct phx_list d = {0};
	uint64_t seed = 7;
	(void)state;
	for (size_t i = 0; i < N; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		uint32_t r = (uint32_t)(seed >> 33);
		all[i] = (struct phx_sim_due){.at_ms = r % 50,
					      .kind = (uint8_t)(r >> 8 & 1),
					      .to = (int8_t)(r >> 10 & 3),
					      .job = (uint32_t)i};
		assert_int_equal(phx_sim_due_push(&d, all[i]), 0);
		if (r >> 12 & 1) { /* a pop between pushes puts nothing out of order */
			struct phx_sim_due top = phx_sim_due_pop(&d);
			assert_int_equal(phx_sim_due_push(&d, top), 0);
		}
	}
	qsort(all, N, sizeof(all[0]), by_order);
	for (size_t i = 0; i < N; i++) {
		assert_ptr_equal(phx_sim_due_top(&d), d.items);
		struct phx_sim_due due = phx_sim_due_pop(&d);
		assert_int_equal(by_order(&due, &all[i]), 0);
	}
	assert_null(phx_sim_due_top(&d));
	phx_list_fini(&d);
	phx_list_fini(&d);
}

/* ---- leases ---- */

#define HOUR (3600 * S)

static void leases_end_oldest_first(void **state)
{
	struct phx_sim_tally t = {0};
	(void)state;
	assert_int_equal(phx_sim_tally_obtain(&t, 3, 0), 0);
	assert_int_equal(phx_sim_tally_obtain(&t, 2, HOUR / 2), 0);
	/* two of the first three, after an hour and a quarter: 2.5 h, 4 h charged */
	phx_sim_tally_release(&t, 2, HOUR + HOUR / 4);
	assert_float_equal(t.actual_h, 2.5, 1e-12);
	assert_float_equal(t.charged_h, 4, 1e-12);
	/* the third after two hours exactly, and one of the two after one and a half */
	phx_sim_tally_release(&t, 2, 2 * HOUR);
	assert_float_equal(t.actual_h, 2.5 + 2 + 1.5, 1e-12);
	assert_float_equal(t.charged_h, 4 + 2 + 2, 1e-12);
	/* more than there is: what there is */
	phx_sim_tally_release(&t, 100, 2 * HOUR);
	assert_float_equal(t.actual_h, 2.5 + 2 + 1.5 + 1.5, 1e-12);
	assert_float_equal(t.charged_h, 4 + 2 + 2 + 2, 1e-12);
	phx_sim_tally_fini(&t);
}

static void a_lease_of_no_time_costs_an_hour(void **state)
{
	struct phx_sim_tally t = {0};
	(void)state;
	assert_int_equal(phx_sim_tally_obtain(&t, 4, 5), 0);
	phx_sim_tally_release(&t, 4, 5);
	assert_float_equal(t.actual_h, 0, 1e-12);
	assert_float_equal(t.charged_h, 4, 1e-12);
	phx_sim_tally_fini(&t);
}

/* Years of leases take no more room than those that are open. */
static void leases_that_are_over_are_forgotten(void **state)
{
	struct phx_sim_tally t = {0};
	(void)state;
	assert_int_equal(phx_sim_tally_obtain(&t, 1, 0), 0);
	for (int64_t i = 1; i <= 200000; i++) {
		assert_int_equal(phx_sim_tally_obtain(&t, 1, i * HOUR), 0);
		phx_sim_tally_release(&t, 1, i * HOUR);
	}
	assert_true(t.leases.cap < 10000);
	assert_float_equal(t.actual_h, 200000, 1e-6);
	assert_float_equal(t.charged_h, 200000, 1e-6);
	phx_sim_tally_fini(&t);
}

/* ---- sums ---- */

static void tallies_add_up(void **state)
{
	struct phx_sim_tally a = {0}, b = {0}, none = {0}, sum = {0};
	const struct phx_trace_job one = {.run_ms = 100 * S, .size = 2},
				   two = {.run_ms = 10 * S, .size = 1};
	struct phx_ledger_meter meter = {.held_node_ms = 7200000, .peak = 5};
	struct phx_sim_metrics m;
	(void)state;
	phx_sim_tally_submit(&a, 50 * S);
	phx_sim_tally_end(&a, &one, 50 * S, 60 * S, 160 * S);
	phx_sim_tally_submit(&b, 20 * S);
	phx_sim_tally_end(&b, &two, 20 * S, 20 * S, 30 * S);
	phx_sim_tally_add(&sum, &none);
	phx_sim_tally_add(&sum, &a);
	phx_sim_tally_add(&sum, &b);
	phx_sim_tally_add(&sum, &none);
	phx_sim_tally_finish(&sum, &meter, &m);
	assert_int_equal(m.jobs, 2);
	assert_int_equal(m.completed, 2);
	assert_float_equal(m.makespan_s, 140, 1e-9);
	assert_float_equal(m.mean_wait_s, 5, 1e-9);
	assert_float_equal(m.max_wait_s, 10, 1e-9);
	assert_float_equal(m.mean_exec_s, 55, 1e-9);
	assert_float_equal(m.mean_slowdown, (1.1 + 1) / 2, 1e-9);
	assert_float_equal(m.speedup, 210 / 140.0, 1e-9);
	assert_float_equal(m.speedup_inf, 130 / 140.0, 1e-9);
	assert_float_equal(m.node_hours, 2, 1e-12);
	assert_int_equal(m.peak_nodes, 5);
	assert_true(isnan(m.cost_efficiency)); /* no lease */
}

static void bounded_slowdown_has_its_bound(void **state)
{
	struct phx_sim_tally t = {0};
	struct phx_ledger_meter meter = {0};
	struct phx_sim_metrics m;
	const struct phx_trace_job short_one = {.run_ms = 2 * S, .size = 1},
				   none = {.run_ms = 0, .size = 1};
	(void)state;
	phx_sim_tally_submit(&t, 0);
	phx_sim_tally_submit(&t, 0);
	phx_sim_tally_end(&t, &short_one, 0, 28 * S, 30 * S); /* 30 / 10, not 30 / 2 */
	phx_sim_tally_end(&t, &none, 0, 4 * S, 4 * S);        /* 4 / 10: at least 1 */
	phx_sim_tally_finish(&t, &meter, &m);
	assert_float_equal(m.mean_bounded_slowdown, (3 + 1) / 2.0, 1e-12);
	assert_float_equal(m.mean_slowdown, 15, 1e-12); /* the job of no time has none */
}

static void values_are_written_for_people(void **state)
{
	struct phx_sim_metrics m = {.jobs = 12345, .mean_exec_s = NAN, .mean_wait_s = 1.0 / 3};
	char text[64];
	(void)state;
	assert_string_equal(
		phx_sim_metric_format(phx_sim_metric_find("jobs"), &m, 3, text, sizeof(text)),
		"12345");
	assert_string_equal(phx_sim_metric_format(phx_sim_metric_find("mean_exec_s"), &m, 3, text,
						  sizeof(text)),
			    "");
	assert_string_equal(phx_sim_metric_format(phx_sim_metric_find("mean_wait_s"), &m, 3, text,
						  sizeof(text)),
			    "0.333");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_due_comes_in_order),
		cmocka_unit_test(leases_end_oldest_first),
		cmocka_unit_test(a_lease_of_no_time_costs_an_hour),
		cmocka_unit_test(leases_that_are_over_are_forgotten),
		cmocka_unit_test(tallies_add_up),
		cmocka_unit_test(bounded_slowdown_has_its_bound),
		cmocka_unit_test(values_are_written_for_people),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
