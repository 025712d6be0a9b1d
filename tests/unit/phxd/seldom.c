/* Notices of what somebody did (cmd/phxd/seldom.c): each once a minute, and none is lost from the
 * count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "phxd/seldom.c" /* a part of a program, not of the library */
#include "fake/submitted.h"

static struct daemon d;
static struct seldom *s;

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	return seldom_new(&d, &s);
}

static int teardown(void **state)
{
	(void)state;
	seldom_free(s);
	return 0;
}

static void does(const char *who, const char *kind, const char *re)
{
	const struct seldom_fact f = {.who = who, .kind = kind, .re = re, .text = "he did it"};
	seldom_tell(s, &f);
}

static void the_first_time_is_told(void **state)
{
	(void)state;
	does("uid:1", "refused", "hpc");
	assert_int_equal(fake_events.n, 1);
	assert_int_equal(fake_event(0)->kind, PHX_EV_notice);
	assert_string_equal(fake_event(0)->by, "uid:1");
	assert_string_equal(fake_event(0)->re, "hpc");
	assert_string_equal(fake_event(0)->text, "he did it");
}

static void within_a_minute_the_same_is_counted_and_then_told(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		does("uid:1", "refused", NULL);
	fake_now_ms += TELL_AGAIN_MS - 1;
	does("uid:1", "refused", NULL);
	assert_int_equal(fake_events.n, 1);
	fake_now_ms += 1;
	does("uid:1", "refused", NULL);
	assert_int_equal(fake_events.n, 2);
	assert_string_equal(fake_event(1)->text, "he did it, and 4 times before");
	/* each is told of once */
	fake_now_ms += TELL_AGAIN_MS;
	does("uid:1", "refused", NULL);
	assert_string_equal(fake_event(2)->text, "he did it");
}

static void others_and_other_things_are_told_of_apart(void **state)
{
	(void)state;
	does("uid:1", "refused", NULL);
	does("uid:2", "refused", NULL);
	does("uid:1", "password", NULL);
	assert_int_equal(fake_events.n, 3);
	does("uid:2", "refused", NULL);
	assert_int_equal(fake_events.n, 3);
}

/* Many who do something take no more room: whoever was told of longest ago is forgotten. */
static void so_many_are_remembered(void **state)
{
	char who[32];
	(void)state;
	for (int i = 0; i < ROWS_MAX; i++) {
		snprintf(who, sizeof(who), "uid:%d", i);
		does(who, "refused", NULL);
	}
	fake_now_ms += TELL_AGAIN_MS;
	does("uid:0", "refused", NULL); /* told again: it is the newest now */
	does("uid:new", "refused", NULL);
	assert_int_equal(s->rows.n, ROWS_MAX);
	uint32_t n = fake_events.n;
	does("uid:0", "refused", NULL);
	assert_int_equal(fake_events.n, n);
	fake_now_ms -= TELL_AGAIN_MS; /* as if all that happened at one moment */
	does("uid:1", "refused", NULL);
	assert_int_equal(fake_events.n, n + 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_first_time_is_told),
		TEST(within_a_minute_the_same_is_counted_and_then_told),
		TEST(others_and_other_things_are_told_of_apart),
		TEST(so_many_are_remembered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
