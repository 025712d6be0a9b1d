/* The clocks of the head (cmd/phxd/clock.c): which of them is which, and that a clock is believed
 * to be right only where kernel and launcher both say so. The kernel and the launcher are fakes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#define adjtimex fake_adjtimex
#include "phxd/clock.c" /* a part of a program, not of the library */

static int fake_result, fake_status;
static bool fake_kept;
static int launcher;

int fake_adjtimex(struct timex *t)
{
	assert_int_equal(t->modes, 0); /* it is never set */
	t->status = fake_status;
	return fake_result;
}
bool launch_clock_is_kept(struct launch *l)
{
	assert_ptr_equal(l, &launcher);
	return fake_kept;
}

static void a_clock_is_kept_if_the_kernel_says_so_in_both_words(void **state)
{
	static const int results[] = {TIME_OK, TIME_INS, TIME_DEL, TIME_OOP, TIME_WAIT};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(results); i++) {
		fake_result = results[i];
		fake_status = STA_PLL | STA_NANO;
		assert_true(clock_is_kept());
		fake_status |= STA_UNSYNC;
		assert_false(clock_is_kept());
	}
	fake_status = STA_PLL;
	fake_result = TIME_ERROR;
	assert_false(clock_is_kept());
	fake_result = -1; /* a container may not ask */
	assert_false(clock_is_kept());
}

static int64_t ms_of(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A step of the wall clock must not look like silence of nodes, nor a start of the machine like
 * time that has passed. */
static void the_journal_is_given_both_clocks(void **state)
{
	struct phx_clock_source c = clock_source((struct launch *)&launcher);
	(void)state;
	int64_t wall = ms_of(CLOCK_REALTIME), mono = ms_of(CLOCK_MONOTONIC);
	int64_t is_wall = c.wall_ms(c.arg), is_mono = c.mono_ms(c.arg);
	assert_true(is_wall >= wall && is_wall < wall + 60000);
	assert_true(is_mono >= mono && is_mono < mono + 60000);
	fake_kept = true;
	assert_true(c.synchronised(c.arg));
	fake_kept = false;
	assert_false(c.synchronised(c.arg));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_is_kept_if_the_kernel_says_so_in_both_words),
		cmocka_unit_test(the_journal_is_given_both_clocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
