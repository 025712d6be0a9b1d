/* When the loop turns next (cmd/phxd/wake.c): the earliest moment that anybody asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <cmocka.h>

#include "phxd/wake.c" /* a part of a program, not of the library */

enum { HOUR_MS = 3600 * 1000 };

static struct wake *w;

static int setup(void **state)
{
	(void)state;
	return wake_new(&w);
}

static int teardown(void **state)
{
	(void)state;
	wake_free(w);
	return 0;
}

static bool turns(int ms)
{
	struct pollfd p = {.fd = wake_fd(w), .events = POLLIN};
	return poll(&p, 1, ms) == 1;
}

/* When the timer itself is due, from now. */
static int64_t timer_ms(void)
{
	struct itimerspec t;
	assert_int_equal(timerfd_gettime(w->fd, &t), 0);
	return (int64_t)t.it_value.tv_sec * 1000 + t.it_value.tv_nsec / 1000000;
}

static void nobody_asks_and_the_loop_sleeps(void **state)
{
	(void)state;
	wake_in(w, WAKE_NEVER);
	assert_int_equal(timer_ms(), 0); /* it is not set */
	assert_true(wake_begin(w) == INT64_MAX);
}

static void at_once_is_at_once(void **state)
{
	(void)state;
	int64_t now = phx_clock_ms();
	wake_in(w, 0);
	assert_true(turns(-1));
	assert_true(wake_begin(w) >= now);
	wake_in(w, -5);
	assert_true(turns(-1));
}

static void a_later_wish_does_not_delay_an_earlier_one(void **state)
{
	(void)state;
	wake_in(w, HOUR_MS);
	wake_in(w, 2 * HOUR_MS);
	wake_in(w, WAKE_NEVER);
	assert_in_range(timer_ms(), HOUR_MS / 2, HOUR_MS);
	wake_in(w, 1);
	assert_true(turns(-1));
}

static void a_turn_meets_all_wishes_so_far(void **state)
{
	(void)state;
	int64_t now = phx_clock_ms();
	wake_in(w, HOUR_MS);
	wake_in(w, 1);
	assert_true(turns(-1));
	assert_true(wake_begin(w) < now + HOUR_MS);
	assert_false(turns(0)); /* it is not readable any more, or the loop would spin */
	assert_true(wake_begin(w) == INT64_MAX);
	/* and the next wish counts, though it is later than the one before */
	wake_in(w, 2 * HOUR_MS);
	assert_in_range(timer_ms(), HOUR_MS, 2 * HOUR_MS);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nobody_asks_and_the_loop_sleeps),
		TEST(at_once_is_at_once),
		TEST(a_later_wish_does_not_delay_an_earlier_one),
		TEST(a_turn_meets_all_wishes_so_far),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
