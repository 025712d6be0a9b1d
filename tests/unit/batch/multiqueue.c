/* Several queues: ranges, nodes that stay with their range, ids that are unique over all, what is
 * refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "batch/multiqueue.h"

static const struct phx_multiqueue_config two = {
	.scheduler = PHX_SCHEDULER_fcfs, .n = 2, .cut_ms = {60000}};
static struct phx_multiqueue *q;
static struct phx_list ids;

static int setup(void **state)
{
	(void)state;
	return phx_multiqueue_new(&two, &q, NULL);
}

static int teardown(void **state)
{
	(void)state;
	phx_multiqueue_free(q);
	phx_list_fini(&ids);
	return 0;
}

static int submit(uint64_t id, int64_t estimate_ms)
{
	const struct phx_batch_job job = {.id = id,
					  .submit_ms = (int64_t)id,
					  .estimate_ms = estimate_ms,
					  .size = 1,
					  .state = PHX_BATCH_WAITING};
	return phx_multiqueue_submit(q, &job);
}

/* A pass starts exactly these. */
static void expect_started(uint32_t n, const uint64_t *want)
{
	ids.n = 0;
	assert_int_equal(phx_multiqueue_pass(q, 1000, &ids), 0);
	assert_int_equal(ids.n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(*PHX_LIST_AT(&ids, uint64_t, i), want[i]);
}
#define STARTED(...) \
	expect_started(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), \
		       (uint64_t[]){__VA_ARGS__})

static void ranges_are_those_of_the_cuts(void **state)
{
	struct phx_multiqueue *five;
	const struct phx_multiqueue_config config = {.n = 4, .cut_ms = {10, 20, 40}};
	(void)state;
	assert_int_equal(phx_multiqueue_range(q, 10000), 0);
	assert_int_equal(phx_multiqueue_range(q, 60000), 0);
	assert_int_equal(phx_multiqueue_range(q, 60001), 1);
	assert_int_equal(phx_multiqueue_range(q, 3600000), 1);
	assert_int_equal(phx_multiqueue_range(q, -1), 1);
	assert_int_equal(phx_multiqueue_new(&config, &five, NULL), 0);
	assert_int_equal(phx_multiqueue_range(five, 0), 0);
	assert_int_equal(phx_multiqueue_range(five, 11), 1);
	assert_int_equal(phx_multiqueue_range(five, 40), 2);
	assert_int_equal(phx_multiqueue_range(five, 41), 3);
	assert_int_equal(phx_multiqueue_range(five, -1), 3);
	phx_multiqueue_free(five);
	phx_multiqueue_free(NULL);
}

/* The point of it: a short job does not wait behind a long one, and takes no node of the long. */
static void each_range_has_its_own_nodes(void **state)
{
	(void)state;
	assert_int_equal(submit(1, 3600000), 0);
	assert_int_equal(submit(2, 3600000), 0);
	assert_int_equal(submit(3, 10000), 0);
	assert_int_equal(submit(4, 10000), 0);
	expect_started(0, NULL);
	phx_batch_give(phx_multiqueue_part(q, 1), 1);
	STARTED(1);
	phx_batch_give(phx_multiqueue_part(q, 0), 1);
	STARTED(3);
	assert_int_equal(phx_multiqueue_ended(q, 1), 0);
	STARTED(2);
	assert_int_equal(phx_multiqueue_ended(q, 3), 0);
	STARTED(4);
	assert_int_equal(phx_multiqueue_ended(q, 2), 0);
	assert_int_equal(phx_batch_take(phx_multiqueue_part(q, 1), 1), 0);
	assert_int_equal(phx_batch_take(phx_multiqueue_part(q, 0), 1), -ENOSPC);
}

static void a_job_is_known_once(void **state)
{
	(void)state;
	assert_int_equal(submit(1, 10000), 0);
	assert_int_equal(submit(1, 10000), -EEXIST);
	assert_int_equal(submit(1, 3600000), -EEXIST);
	assert_int_equal(phx_multiqueue_ended(q, 1), -EINVAL);
	assert_int_equal(phx_multiqueue_ended(q, 2), -ENOENT);
	phx_batch_give(phx_multiqueue_part(q, 0), 1);
	STARTED(1);
	assert_int_equal(phx_multiqueue_ended(q, 1), 0);
	assert_int_equal(phx_multiqueue_ended(q, 1), -ENOENT);
	/* gone for all ranges */
	assert_int_equal(submit(1, 3600000), 0);
}

static void one_range_is_the_scheduler_alone(void **state)
{
	const struct phx_multiqueue_config config = {.scheduler = PHX_SCHEDULER_sjf, .n = 1};
	(void)state;
	phx_multiqueue_free(q);
	assert_int_equal(phx_multiqueue_new(&config, &q, NULL), 0);
	assert_int_equal(submit(1, 3600000), 0);
	assert_int_equal(submit(2, 10000), 0);
	assert_int_equal(submit(3, 47000), 0);
	phx_batch_give(phx_multiqueue_part(q, 0), 2);
	STARTED(2, 3);
}

static void odd_ranges_are_refused(void **state)
{
	struct phx_multiqueue *none = NULL;
	struct phx_err err = {0};
	struct phx_multiqueue_config config = {.n = 0};
	(void)state;
	assert_int_equal(phx_multiqueue_new(&config, &none, &err), -EINVAL);
	assert_non_null(strstr(err.text, "0 queues"));
	config.n = PHX_MULTIQUEUE_MAX + 1;
	assert_int_equal(phx_multiqueue_new(&config, &none, NULL), -EINVAL);
	config = (struct phx_multiqueue_config){.n = 3, .cut_ms = {20, 20}};
	phx_err_clear(&err);
	assert_int_equal(phx_multiqueue_new(&config, &none, &err), -EINVAL);
	assert_non_null(strstr(err.text, "cut 2"));
	config = (struct phx_multiqueue_config){.n = 2, .cut_ms = {-1}};
	assert_int_equal(phx_multiqueue_new(&config, &none, NULL), -EINVAL);
	assert_null(none);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(ranges_are_those_of_the_cuts), TEST(each_range_has_its_own_nodes),
		TEST(a_job_is_known_once),          TEST(one_range_is_the_scheduler_alone),
		TEST(odd_ranges_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
