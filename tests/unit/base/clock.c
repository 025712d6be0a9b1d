/* Clocks go on, sleeping takes its time, and a timed wait ends by the clock that never goes
 * back. */
#include <errno.h>

#include "base/clock.h"
#include "unit/base/test_base.h"

static void test_units(void **state)
{
	(void)state;
	int64_t us = phx_clock_us(), ms = phx_clock_ms(), boot = phx_clock_boot_ms(),
		wall = phx_wall_ms();
	assert_true(ms >= us / 1000);
	assert_true(boot >= ms); /* it has counted suspended time as well */
	assert_in_range(wall, 1600000000000, 4000000000000);
	/* time() is as old as the last tick of the kernel */
	assert_true((int64_t)time(NULL) >= wall / 1000 - 1);
}

static void test_sleep(void **state)
{
	(void)state;
	int64_t from = phx_clock_us();
	phx_sleep_ms(20);
	assert_true(phx_clock_us() - from >= 20000);
	from = phx_clock_us();
	phx_sleep_ms(0);
	assert_true(phx_clock_us() - from < 10000000);
}

static void test_again(void **state)
{
	(void)state;
	static const uint32_t want[] = {10, 16, 25, 38, 50, 50};
	struct phx_again a = {10, 50, 0};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(want); i++)
		assert_int_equal(phx_again_ms(&a), want[i]);
	a = (struct phx_again){20, 5000, 0};
	int64_t from = phx_clock_ms();
	assert_true(phx_again(&a, INT64_MAX));
	assert_in_range(phx_clock_ms() - from, 19, 4000);
	/* never beyond the end, and after it not at all */
	a.last_ms = 4000;
	from = phx_clock_ms();
	assert_true(phx_again(&a, from + 30));
	assert_false(phx_again(&a, from + 30));
	assert_in_range(phx_clock_ms() - from, 29, 4000);
}

static void test_instants(void **state)
{
	(void)state;
	struct timespec at = phx_clock_in(1999);
	int64_t from = phx_clock_us(), us = at.tv_sec * 1000000 + at.tv_nsec / 1000;
	assert_in_range(at.tv_nsec, 0, 999999999);
	assert_in_range(us - from, 0, 1999000);
	at = phx_clock_in(-1500);
	assert_in_range(at.tv_nsec, 0, 999999999);
	assert_true(at.tv_sec * 1000000 + at.tv_nsec / 1000 <= phx_clock_us() - 1500000);
}

static void test_timed_wait(void **state)
{
	(void)state;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond;
	phx_cond_init(&cond);
	pthread_mutex_lock(&lock);
	int64_t from = phx_clock_us();
	struct timespec until = phx_clock_in(30);
	int r = 0;
	while (r == 0)
		r = pthread_cond_timedwait(&cond, &lock, &until);
	pthread_mutex_unlock(&lock);
	assert_int_equal(r, ETIMEDOUT);
	/* by the wall clock it would have been over at once: that one is decades ahead of the one
	 * since the start */
	assert_in_range(phx_clock_us() - from, 29000, 20000000);
	from = phx_clock_ms();
	pthread_mutex_lock(&lock);
	while (phx_cond_until(&cond, &lock, from + 30))
		;
	pthread_mutex_unlock(&lock);
	assert_in_range(phx_clock_ms() - from, 30, 20000);
	pthread_cond_destroy(&cond);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),      cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_again),      cmocka_unit_test(test_instants),
		cmocka_unit_test(test_timed_wait),
	};
	return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
