/* Nodes of the IaaS model: numbers that are given again, who is idle longest, what a lease costs;
 * and a random walk against a plain list. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "iaas/fleet.h"

static struct phx_fleet f;

static int setup(void **state)
{
	(void)state;
	return phx_fleet_init(&f, 200, 1000);
}

static int teardown(void **state)
{
	(void)state;
	phx_fleet_fini(&f);
	return 0;
}

static void ready(uint32_t node, int64_t now_ms)
{
	assert_true(phx_fleet_ready(&f, node, f.node[node].lease, now_ms));
}

static void numbers_are_given_again(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 130; i++)
		assert_int_equal(phx_fleet_lease(&f, PHX_IAAS_SHORT, 0), i);
	ready(3, 10);
	ready(77, 11);
	assert_int_equal(phx_fleet_release_idle(&f, PHX_IAAS_SHORT, 20), 3);
	assert_int_equal(phx_fleet_release_idle(&f, PHX_IAAS_SHORT, 20), 77);
	assert_int_equal(phx_fleet_lease(&f, PHX_IAAS_LONG, 30), 3);
	assert_int_equal(phx_fleet_lease(&f, PHX_IAAS_LONG, 30), 77);
	assert_int_equal(phx_fleet_lease(&f, PHX_IAAS_LONG, 30), 130);
	assert_int_equal(f.pool[PHX_IAAS_LONG].booting, 3);
	assert_int_equal(f.peak, 131);
	assert_int_equal(f.n_leases, 133);
}

static void idle_nodes_are_in_order(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		phx_fleet_lease(&f, PHX_IAAS_SHORT, 0);
	assert_int_equal(phx_fleet_first_idle_ms(&f, PHX_IAAS_SHORT), INT64_MAX);
	ready(90, 5);
	ready(10, 6);
	ready(70, 7);
	/* work goes to the lowest number, release to who is idle longest */
	assert_int_equal(phx_fleet_first_idle_ms(&f, PHX_IAAS_SHORT), 5);
	assert_int_equal(phx_fleet_idle_since(&f, PHX_IAAS_SHORT, 4), 0);
	assert_int_equal(phx_fleet_idle_since(&f, PHX_IAAS_SHORT, 6), 2);
	assert_int_equal(phx_fleet_occupy(&f, PHX_IAAS_SHORT), 10);
	assert_int_equal(phx_fleet_occupy(&f, PHX_IAAS_SHORT), 70);
	phx_fleet_vacate(&f, 10, 50);
	phx_fleet_occupy_node(&f, 90);
	assert_int_equal(phx_fleet_first_idle_ms(&f, PHX_IAAS_SHORT), 50);
	phx_fleet_vacate(&f, 90, 60);
	assert_int_equal(phx_fleet_release_idle(&f, PHX_IAAS_SHORT, 60), 10);
	assert_int_equal(phx_fleet_idle_since(&f, PHX_IAAS_LONG, INT64_MAX), 0);
}

static void leases_cost_whole_units(void **state)
{
	(void)state;
	/* ready for 0 ms, 1 ms, 1000 ms, 1001 ms: 1 + 1 + 1 + 2 units; a cancelled boot: 1 */
	static const int64_t used[] = {0, 1, 1000, 1001};
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t node = phx_fleet_lease(&f, PHX_IAAS_SHORT, 0);
		ready(node, 500);
		phx_fleet_release_idle(&f, PHX_IAAS_SHORT, 500 + used[i]);
	}
	assert_int_equal(f.n_charged, 5);
	assert_int_equal(f.used_ms, 2002);
	phx_fleet_lease(&f, PHX_IAAS_SHORT, 0);
	phx_fleet_cancel(&f, PHX_IAAS_SHORT, 5000);
	assert_int_equal(f.n_charged, 6);
	assert_int_equal(f.used_ms, 2002);
	assert_int_equal(f.n_cancelled, 1);
	assert_int_equal(f.leased, 0);
}

/* The latest boot goes, and what it was to bring is not taken for the next lease of the same
 * node. */
static void a_cancelled_boot_is_not_ready(void **state)
{
	(void)state;
	uint32_t a = phx_fleet_lease(&f, PHX_IAAS_SHORT, 0),
		 b = phx_fleet_lease(&f, PHX_IAAS_SHORT, 0);
	uint32_t other = phx_fleet_lease(&f, PHX_IAAS_LONG, 0), lease = f.node[b].lease;
	phx_fleet_cancel(&f, PHX_IAAS_SHORT, 1);
	assert_int_equal(f.node[a].state, PHX_FLEET_BOOTING);
	assert_int_equal(f.node[b].state, PHX_FLEET_GONE);
	assert_int_equal(f.node[other].state, PHX_FLEET_BOOTING);
	assert_int_equal(phx_fleet_lease(&f, PHX_IAAS_SHORT, 2), b);
	assert_false(phx_fleet_ready(&f, b, lease, 10));
	assert_int_equal(f.node[b].state, PHX_FLEET_BOOTING);
	ready(b, 12);
	assert_false(phx_fleet_ready(&f, b, f.node[b].lease, 13));
}

static void the_end_releases_all(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		phx_fleet_lease(&f, i % 2, 0);
	ready(0, 100);
	ready(1, 100);
	phx_fleet_occupy(&f, PHX_IAAS_SHORT);
	phx_fleet_release_all(&f, 1600);
	assert_int_equal(f.leased, 0);
	assert_int_equal(f.used_ms, 3000);
	assert_int_equal(f.n_charged, 2 + 2 + 1);
	assert_int_equal(f.n_cancelled, 1);
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++)
		assert_int_equal(f.pool[c].idle + f.pool[c].busy + f.pool[c].booting, 0);
}

/* Counts and the two choices, from the nodes themselves. */
static void check(void)
{
	for (int c = 0; c < PHX_IAAS_CLASS_COUNT_; c++) {
		uint32_t n[PHX_FLEET_BUSY + 1] = {0};
		int64_t first = INT64_MAX;
		for (uint32_t i = 0; i < f.max; i++) {
			if (f.node[i].state == PHX_FLEET_GONE || f.node[i].class != c)
				continue;
			n[f.node[i].state]++;
			if (f.node[i].state == PHX_FLEET_IDLE && f.node[i].idle_ms < first)
				first = f.node[i].idle_ms;
		}
		assert_int_equal(f.pool[c].booting, n[PHX_FLEET_BOOTING]);
		assert_int_equal(f.pool[c].idle, n[PHX_FLEET_IDLE]);
		assert_int_equal(f.pool[c].busy, n[PHX_FLEET_BUSY]);
		assert_true(phx_fleet_first_idle_ms(&f, c) == first);
	}
}

static uint32_t lowest(int class, int state)
{
	for (uint32_t i = 0; i < f.max; i++)
		if (f.node[i].state == state &&
		    (state == PHX_FLEET_GONE || f.node[i].class == class))
			return i;
	return UINT32_MAX;
}

static void a_long_walk_keeps_the_books(void **state)
{
	struct phx_rng rng = {3};
	(void)state;
	for (int64_t now = 1; now < 20000; now++) {
		int class = (int)phx_rng_below(&rng, 2);
		uint32_t node = (uint32_t)phx_rng_below(&rng, f.max);
		switch (phx_rng_below(&rng, 6)) {
		case 0:
		case 1:
			if (f.leased < f.max) {
				uint32_t want = lowest(class, PHX_FLEET_GONE);
				assert_int_equal(phx_fleet_lease(&f, class, now), want);
			}
			break;
		case 2:
			phx_fleet_ready(&f, node, f.node[node].lease, now);
			break;
		case 3:
			if (f.pool[class].idle) {
				uint32_t want = lowest(class, PHX_FLEET_IDLE);
				assert_int_equal(phx_fleet_occupy(&f, class), want);
			}
			break;
		case 4:
			if (f.node[node].state == PHX_FLEET_BUSY)
				phx_fleet_vacate(&f, node, now);
			break;
		case 5:
			if (f.pool[class].idle)
				phx_fleet_release_idle(&f, class, now);
			break;
		}
		if (now % 16 == 0)
			check();
	}
	assert_true(f.n_leases > 1000);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(numbers_are_given_again), TEST(idle_nodes_are_in_order),
		TEST(leases_cost_whole_units), TEST(a_cancelled_boot_is_not_ready),
		TEST(the_end_releases_all),    TEST(a_long_walk_keeps_the_books),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
