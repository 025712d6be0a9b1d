/* Instance adjustment: the rule at its edges, windows, and where a load settles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <cmocka.h>

#include "web/web.h"

static const struct phx_web_params params = {20000, 800, 1, UINT32_MAX};

/* 000 6.4: above T one more; below T (n - 1) / n one less; comparisons are strict */
static void the_rule_at_its_edges(void **state)
{
	static const struct {
		uint32_t n, use_ppm, want;
	} rows[] = {
		{1, 800000, 1},    {1, 800001, 2}, {1, 0, 1},        {2, 400000, 2},
		{2, 399999, 1},    {2, 800001, 3}, {3, 533333, 2},   {3, 533334, 3},
		{4, 600000, 4},    {4, 599999, 3}, {64, 787500, 64}, {64, 787499, 63},
		{64, 1000000, 65}, {0, 0, 1},      {0, 900000, 1},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_int_equal(phx_web_adjust(&params, rows[i].n, rows[i].use_ppm), rows[i].want);
}

static void bounds_hold(void **state)
{
	struct phx_web_params p = {20000, 800, 3, 5};
	(void)state;
	assert_int_equal(phx_web_adjust(&p, 3, 0), 3);
	assert_int_equal(phx_web_adjust(&p, 5, 1000000), 5);
	assert_int_equal(phx_web_adjust(&p, 9, 790000), 5);
	assert_int_equal(phx_web_adjust(&p, 1, 500000), 3);
	p.lower = 0; /* at least 1 all the same */
	assert_int_equal(phx_web_adjust(&p, 1, 0), 1);
	p.upper = UINT32_MAX;
	assert_int_equal(phx_web_adjust(&p, UINT32_MAX, 1000000), UINT32_MAX);
}

static void windows_do_not_overlap(void **state)
{
	struct phx_web_window w = {.began_ms = 1000};
	uint32_t use = 7;
	(void)state;
	assert_int_equal(phx_web_window_end(&w, &params, 20999, &use), 0);
	phx_web_sample(&w, 100000);
	phx_web_sample(&w, 200001);
	phx_web_sample(&w, 2000000); /* nobody uses more than all */
	assert_int_equal(phx_web_window_end(&w, &params, 20999, &use), 0);
	assert_int_equal(use, 7);
	assert_int_equal(phx_web_window_end(&w, &params, 21000, &use), 1);
	assert_int_equal(use, 433333);
	assert_int_equal(w.began_ms, 21000);
	/* late, and without samples: none, and the grid stays */
	use = 7;
	assert_int_equal(phx_web_window_end(&w, &params, 87654, &use), 0);
	assert_int_equal(use, 7);
	assert_int_equal(w.began_ms, 81000);
	assert_int_equal(w.n_samples, 0);
}

static void use_is_load_over_capacity(void **state)
{
	(void)state;
	assert_int_equal(phx_web_use(0, 0, 0), 0);
	assert_int_equal(phx_web_use(1, 0, 5), 1000000);
	assert_int_equal(phx_web_use(1, 10, 0), 1000000);
	assert_int_equal(phx_web_use(150, 100, 2), 750000);
	assert_int_equal(phx_web_use(200, 100, 2), 1000000);
	assert_int_equal(phx_web_use(201, 100, 2), 1000000);
	assert_int_equal(phx_web_use(1, 3, 1), 333334);
	/* huge ones do not overflow */
	assert_int_equal(phx_web_use(UINT64_MAX / 2, UINT64_MAX, 1), 500000);
	assert_int_equal(phx_web_use(UINT64_MAX, UINT64_MAX, UINT32_MAX), 1000000);
	assert_in_range(phx_web_use(UINT64_MAX / 4, UINT64_MAX / 8, 4), 499999, 500001);
}

/* The rule ends with as few instances as serve the load at T, from above and from below; where the
 * load is a multiple of what an instance serves at T, coming from above ends one higher, as the
 * comparisons are strict. */
static void the_rule_settles(void **state)
{
	(void)state;
	for (uint64_t load = 0; load < 3000; load += 7) {
		uint32_t want = load ? (uint32_t)(load + 79) / 80 : 1, up = 1, down = 60;
		for (int i = 0; i < 80; i++) {
			up = phx_web_adjust(&params, up, phx_web_use(load, 100, up));
			down = phx_web_adjust(&params, down, phx_web_use(load, 100, down));
		}
		assert_int_equal(up, want);
		assert_int_equal(down, want + (load && load % 80 == 0));
	}
}

/* What is told of the rule is the rule. */
static void limits_are_those_of_the_rule(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < 70; n++) {
		uint32_t above, below;
		phx_web_limits(params.threshold_milli, n, &above, &below);
		assert_int_equal(phx_web_adjust(&params, n, above), n);
		assert_int_equal(phx_web_adjust(&params, n, above + 1), n + 1);
		assert_int_equal(phx_web_adjust(&params, n, below), n);
		if (n > 1)
			assert_int_equal(phx_web_adjust(&params, n, below - 1), n - 1);
	}
}

static void the_last_decisions_are_kept(void **state)
{
	struct phx_list last = {0};
	(void)state;
	assert_int_equal(phx_web_decided(&last, &(struct phx_web_decision){1, 1, 900000, 2}), 0);
	assert_int_equal(phx_web_decided(&last, &(struct phx_web_decision){2, 2, 500000, 2}), 0);
	assert_int_equal(phx_web_decided(&last, &(struct phx_web_decision){3, 2, 600000, 2}),
			 0); /* the same again */
	assert_int_equal(last.n, 2);
	assert_int_equal(PHX_LIST_AT(&last, struct phx_web_decision, 0)->use_ppm, 900000);
	assert_int_equal(PHX_LIST_AT(&last, struct phx_web_decision, 1)->use_ppm, 600000);
	for (uint32_t i = 3; i < 90; i++)
		assert_int_equal(
			phx_web_decided(&last, &(struct phx_web_decision){i, i, 900000, i + 1}), 0);
	assert_int_equal(last.n, PHX_WEB_DECISIONS_MAX);
	assert_int_equal(PHX_LIST_AT(&last, struct phx_web_decision, 0)->at_ms, 70);
	phx_list_fini(&last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rule_at_its_edges),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(windows_do_not_overlap),
		cmocka_unit_test(use_is_load_over_capacity),
		cmocka_unit_test(the_rule_settles),
		cmocka_unit_test(limits_are_those_of_the_rule),
		cmocka_unit_test(the_last_decisions_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
