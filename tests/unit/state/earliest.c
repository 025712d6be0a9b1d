/* The earliest of many times, beside a walk over all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "state/earliest.h"

enum { CAP = 64, CHANGES = 4000, LATEST_MS = 40 };

static int64_t plain[CAP];

static int64_t plain_first(void)
{
	int64_t first = INT64_MAX;
	for (uint32_t i = 0; i < CAP; i++)
		first = plain[i] < first ? plain[i] : first;
	return first;
}

static uint32_t plain_next(uint32_t at, int64_t now_ms)
{
	while (at < CAP && plain[at] > now_ms)
		at++;
	return at;
}

static void put(struct phx_earliest *e, uint32_t i, int64_t ms)
{
	plain[i] = ms;
	phx_earliest_set(e, i, ms);
}

static void test_nothing_has_a_time(void **state)
{
	struct phx_earliest e;
	(void)state;
	assert_int_equal(phx_earliest_init(&e, CAP), 0);
	assert_true(phx_earliest_first(&e) == INT64_MAX);
	assert_int_equal(phx_earliest_next(&e, 0, INT64_MAX - 1), CAP);
	phx_earliest_fini(&e);
}

static void test_the_ends_of_the_list(void **state)
{
	struct phx_earliest e;
	(void)state;
	assert_int_equal(phx_earliest_init(&e, CAP), 0);
	phx_earliest_set(&e, CAP - 1, 5);
	assert_int_equal(phx_earliest_next(&e, 0, 5), CAP - 1);
	assert_int_equal(phx_earliest_next(&e, 0, 4), CAP);
	assert_int_equal(phx_earliest_next(&e, CAP, 5), CAP);
	phx_earliest_set(&e, 0, 5);
	assert_int_equal(phx_earliest_next(&e, 0, 5), 0);
	assert_int_equal(phx_earliest_next(&e, 1, 5), CAP - 1);
	phx_earliest_clear(&e);
	assert_true(phx_earliest_first(&e) == INT64_MAX);
	assert_int_equal(phx_earliest_next(&e, 0, 5), CAP);
	phx_earliest_fini(&e);
}

/* Times come, go, and come again: few different ones, so that several places have the same. */
static void test_as_a_walk_finds_it(void **state)
{
	struct phx_earliest e;
	struct phx_rng rng = {.state = 20};
	(void)state;
	assert_int_equal(phx_earliest_init(&e, CAP), 0);
	for (uint32_t i = 0; i < CAP; i++)
		put(&e, i, INT64_MAX);
	for (int k = 0; k < CHANGES; k++) {
		uint32_t i = (uint32_t)phx_rng_below(&rng, CAP);
		bool none = phx_rng_below(&rng, 3) == 0;
		put(&e, i, none ? INT64_MAX : (int64_t)phx_rng_below(&rng, LATEST_MS));
		assert_true(phx_earliest_get(&e, i) == plain[i]);
		assert_true(phx_earliest_first(&e) == plain_first());
		for (int64_t now = -1; now <= LATEST_MS; now += 7)
			for (uint32_t at = 0; at <= CAP; at += 3)
				assert_int_equal(phx_earliest_next(&e, at, now),
						 plain_next(at, now));
	}
	phx_earliest_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_has_a_time),
		cmocka_unit_test(test_the_ends_of_the_list),
		cmocka_unit_test(test_as_a_walk_finds_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
