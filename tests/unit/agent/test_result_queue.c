/* The queue of results: their order, when one is sent, what is sent again and when. No message, no
 * clock: what the head answers is what the test says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/result_queue.h"

static struct result_queue q;
static int bodies[8];

static int setup(void **state)
{
	(void)state;
	result_queue_init(&q);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_list_fini(&q.items);
	return 0;
}

static void put(uint64_t id)
{
	assert_int_equal(result_queue_put(&q, (struct result_subject){.id = id}, &bodies[id]), 0);
}

static void assert_first(uint64_t id)
{
	struct result_item it = {0};
	assert_true(result_queue_first(&q, &it));
	assert_int_equal(it.about.id, id);
	assert_ptr_equal(it.body, &bodies[id]);
}

/* Only once the head knows of this start. */
static void test_closed_keeps(void **state)
{
	(void)state;
	put(1);
	assert_false(result_queue_begin(&q));
	result_queue_open(&q);
	result_queue_open(&q);
	assert_true(result_queue_begin(&q));
	assert_first(1);
}

static void test_nothing_is_not_sent(void **state)
{
	struct result_item it;
	(void)state;
	result_queue_open(&q);
	assert_false(result_queue_begin(&q));
	assert_false(result_queue_first(&q, &it));
}

/* One sends at a time; who is done is followed by another. */
static void test_one_sends(void **state)
{
	struct result_item it;
	(void)state;
	result_queue_open(&q);
	put(1);
	assert_true(result_queue_begin(&q));
	put(2);
	assert_false(result_queue_begin(&q));
	assert_first(1);
	assert_int_equal(result_queue_answered(&q, 0), 0);
	assert_true(result_queue_has_step(&q, 1)); /* until it is dropped */
	result_queue_drop(&q);
	assert_false(result_queue_has_step(&q, 1));
	assert_false(result_queue_begin(&q));
	assert_first(2);
	assert_int_equal(result_queue_answered(&q, 0), 0);
	result_queue_drop(&q);
	assert_false(result_queue_first(&q, &it));
	put(3);
	assert_true(result_queue_begin(&q));
	assert_first(3);
}

/* What the head did not answer stays the first, and all wait with it. */
static void test_unanswered_is_sent_again(void **state)
{
	(void)state;
	result_queue_open(&q);
	put(1);
	put(2);
	assert_true(result_queue_begin(&q));
	assert_first(1);
	assert_int_equal(result_queue_answered(&q, -ETIMEDOUT), RESULT_RETRY_MS);
	put(3);
	assert_false(result_queue_begin(&q)); /* it waits */
	result_queue_due(&q);
	assert_true(result_queue_begin(&q));
	assert_first(1);
	assert_int_equal(result_queue_answered(&q, 0), 0);
	result_queue_drop(&q);
	assert_first(2);
}

/* Twice as long each time, within the bound; and from the start again once something arrived. */
static void test_waits_grow(void **state)
{
	static const uint32_t wanted[] = {500, 1000, 2000, 4000, 4000};
	(void)state;
	result_queue_open(&q);
	put(1);
	put(2);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wanted); i++) {
		assert_true(result_queue_begin(&q));
		assert_first(1);
		assert_int_equal(result_queue_answered(&q, -ECONNREFUSED), wanted[i]);
		result_queue_due(&q);
	}
	assert_true(result_queue_begin(&q));
	assert_int_equal(result_queue_answered(&q, 0), 0);
	result_queue_drop(&q);
	assert_first(2);
	assert_int_equal(result_queue_answered(&q, -ECONNREFUSED), RESULT_RETRY_MS);
}

/* It is dropped: it would be refused for ever, and hold up all others. */
static void test_refused_for_good(void **state)
{
	(void)state;
	result_queue_open(&q);
	put(1);
	put(2);
	assert_true(result_queue_begin(&q));
	assert_first(1);
	assert_int_equal(result_queue_answered(&q, -ESTALE), 0);
	result_queue_drop(&q);
	assert_first(2);
}

static void test_nobody_to_send(void **state)
{
	(void)state;
	result_queue_open(&q);
	put(1);
	assert_true(result_queue_begin(&q));
	assert_int_equal(result_queue_put_off(&q), RESULT_RETRY_MS);
	assert_false(result_queue_begin(&q));
	result_queue_due(&q);
	assert_true(result_queue_begin(&q));
	assert_first(1);
}

static void test_what_is_under_way(void **state)
{
	struct result_subject found[2] = {0};
	(void)state;
	put(1);
	put(2);
	put(3);
	assert_int_equal(
		result_queue_put(&q, (struct result_subject){.is_job = true, .id = 4, .run = 9},
				 NULL),
		0);
	assert_int_equal(
		result_queue_put(&q, (struct result_subject){.is_tasks = true, .id = 5}, NULL), 0);
	assert_int_equal(result_queue_list(&q, false, found, 2), 3); /* and no more are written */
	assert_int_equal(found[0].id, 1);
	assert_int_equal(found[1].id, 2);
	assert_int_equal(result_queue_list(&q, true, found, 2), 1);
	assert_int_equal(found[0].id, 4);
	assert_int_equal(found[0].run, 9);
	assert_true(result_queue_has_step(&q, 3));
	assert_false(result_queue_has_step(&q, 4)); /* a job's number is no step's */
	assert_false(result_queue_has_step(&q, 5));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_closed_keeps),   TEST(test_nothing_is_not_sent),
		TEST(test_one_sends),      TEST(test_unanswered_is_sent_again),
		TEST(test_waits_grow),     TEST(test_refused_for_good),
		TEST(test_nobody_to_send), TEST(test_what_is_under_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
