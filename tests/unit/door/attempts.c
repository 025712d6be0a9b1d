/* Who guesses passwords waits: by name and by address, longer each time, and not for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "door/door.h"

enum { NOW = 1000000 };

static struct phx_attempts *a;

static int setup(void **state)
{
	(void)state;
	return phx_attempts_new(&a);
}

static int teardown(void **state)
{
	(void)state;
	phx_attempts_free(a);
	return 0;
}

static unsigned attempt(const char *name, const char *address, int64_t now_ms)
{
	return phx_attempts_begin(a, name, address, now_ms);
}

/* Each from another address. */
static void guess_name(const char *name, int n, int64_t now_ms)
{
	char address[32];
	for (int i = 0; i < n; i++) {
		snprintf(address, sizeof(address), "192.0.2.%d", i);
		assert_int_equal(attempt(name, address, now_ms), 0);
	}
}

static void five_of_a_name_and_then_one_waits_wherever_he_is(void **state)
{
	(void)state;
	guess_name("alice", PHX_ATTEMPTS_FREE, NOW);
	assert_int_equal(attempt("alice", "198.51.100.1", NOW), 5);
	assert_int_equal(attempt("alice", "198.51.100.2", NOW + 1), 5); /* begun seconds count */
	assert_int_equal(attempt("bob", "198.51.100.1", NOW), 0);
	assert_int_equal(attempt("alice", "198.51.100.1", NOW + PHX_ATTEMPTS_WAIT_MS), 0);
}

static void five_from_an_address_and_then_one_waits_whoever_he_is(void **state)
{
	(void)state;
	char name[32];
	for (int i = 0; i < PHX_ATTEMPTS_FREE; i++) {
		snprintf(name, sizeof(name), "user%d", i);
		assert_int_equal(attempt(name, "192.0.2.1", NOW), 0);
	}
	assert_int_equal(attempt("alice", "192.0.2.1", NOW), 5);
	assert_int_equal(attempt("alice", "192.0.2.2", NOW), 0);
}

static void each_further_one_waits_twice_as_long_up_to_five_minutes(void **state)
{
	(void)state;
	int64_t now = NOW;
	static const unsigned waits[] = {5, 10, 20, 40, 80, 160, 300, 300};
	guess_name("alice", PHX_ATTEMPTS_FREE, now);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(waits); i++) {
		char address[32];
		snprintf(address, sizeof(address), "203.0.113.%zu", i);
		assert_int_equal(attempt("alice", "198.51.100.1", now), waits[i]);
		now += waits[i] * 1000;
		assert_int_equal(attempt("alice", address, now), 0);
	}
}

/* Else who is impatient would never come in. */
static void one_that_is_told_to_wait_is_no_attempt(void **state)
{
	(void)state;
	guess_name("alice", PHX_ATTEMPTS_FREE, NOW);
	for (int i = 0; i < 100; i++)
		assert_int_equal(attempt("alice", "198.51.100.1", NOW + 4000), 1);
	assert_int_equal(attempt("alice", "198.51.100.1", NOW + 5000), 0);
}

static void it_is_forgotten_after_a_while(void **state)
{
	(void)state;
	guess_name("alice", PHX_ATTEMPTS_FREE, NOW);
	guess_name("alice", PHX_ATTEMPTS_FREE, NOW + PHX_ATTEMPTS_FORGET_MS);
	assert_int_equal(attempt("alice", "198.51.100.1", NOW + PHX_ATTEMPTS_FORGET_MS), 5);
}

/* One who knows a password of his own does not get rid of what he guessed with it. */
static void a_right_one_takes_back_itself_alone(void **state)
{
	(void)state;
	for (int i = 0; i < PHX_ATTEMPTS_FREE - 1; i++)
		assert_int_equal(attempt("bob", "192.0.2.1", NOW), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(attempt("alice", "192.0.2.1", NOW), 0);
		phx_attempts_right(a, "alice", "192.0.2.1");
	}
	assert_int_equal(attempt("bob", "192.0.2.1", NOW), 0);
	assert_int_equal(attempt("bob", "192.0.2.1", NOW), 5);
	assert_int_equal(attempt("carol", "192.0.2.1", NOW), 5);
}

/* Before the first of them is known to be wrong. */
static void many_at_once_are_no_way_around(void **state)
{
	(void)state;
	unsigned n = 0;
	for (int i = 0; i < 1000; i++)
		n += attempt("alice", "192.0.2.1", NOW) == 0;
	assert_int_equal(n, PHX_ATTEMPTS_FREE);
}

/* However many others there are. */
static void a_count_is_not_pushed_out(void **state)
{
	(void)state;
	char name[32];
	guess_name("alice", PHX_ATTEMPTS_FREE, NOW);
	for (int i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		attempt(name, name, NOW + 1);
	}
	assert_true(attempt("alice", "198.51.100.1", NOW + 2) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(five_of_a_name_and_then_one_waits_wherever_he_is),
		TEST(five_from_an_address_and_then_one_waits_whoever_he_is),
		TEST(each_further_one_waits_twice_as_long_up_to_five_minutes),
		TEST(one_that_is_told_to_wait_is_no_attempt),
		TEST(it_is_forgotten_after_a_while),
		TEST(a_right_one_takes_back_itself_alone),
		TEST(many_at_once_are_no_way_around),
		TEST(a_count_is_not_pushed_out),
	};
	return cmocka_run_group_tests_name("attempts", tests, NULL, NULL);
}
