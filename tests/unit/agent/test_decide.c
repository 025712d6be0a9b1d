/* What the agent makes of orders: every case by its table, no file, no thread. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/decide.h"

struct memory {
	uint64_t pending, kept;
	int keeps, finds;
	struct decide_done done;
	int n_finds;
};

static bool pending(void *arg, uint64_t id)
{
	return ((struct memory *)arg)->pending == id;
}

static int keep_epoch(void *arg, uint64_t epoch, struct phx_err *err)
{
	struct memory *m = arg;
	if (m->keeps == 0)
		m->kept = epoch;
	return m->keeps < 0 ? phx_err_set(err, m->keeps, "not kept") : 0;
}

static int find(void *arg, uint64_t id, struct decide_done *ret, struct phx_err *err)
{
	struct memory *m = arg;
	(void)id;
	m->n_finds++;
	if (m->finds == 0)
		*ret = m->done;
	return m->finds < 0 && m->finds != -ENOENT ? phx_err_set(err, m->finds, "damaged")
						   : m->finds;
}

static int decide(struct memory *m, uint64_t epoch, uint32_t n_steps, struct decide_order o,
		  struct phx_err *err)
{
	const struct decide_memory asked = {m, epoch, n_steps, pending, keep_epoch, find};
	return decide_order(&asked, &o, err);
}

static void test_new_step(void **state)
{
	struct memory m = {.finds = -ENOENT};
	(void)state;
	assert_int_equal(decide(&m, 3, 0, (struct decide_order){7, 3, 1, 0}, NULL), DECIDE_RUN);
	assert_int_equal(m.kept, 3); /* in case that it could not be kept when it was new */
	assert_int_equal(decide(&m, 3, 0, (struct decide_order){7, 4, 1, 0}, NULL), DECIDE_RUN);
	assert_int_equal(m.kept, 4);
	assert_int_equal(
		decide(&m, 4, DECIDE_STEPS_MAX - 1, (struct decide_order){8, 4, 1, 0}, NULL),
		DECIDE_RUN);
	assert_int_equal(decide(&m, 4, DECIDE_STEPS_MAX, (struct decide_order){8, 4, 1, 0}, NULL),
			 DECIDE_BUSY);
}

static void test_step_that_is_known(void **state)
{
	struct memory m = {.pending = 7, .finds = 0, .done = {3, 1, 0, 0}};
	(void)state;
	assert_int_equal(decide(&m, 3, 1, (struct decide_order){7, 3, 1, 0}, NULL), DECIDE_KNOWN);
	assert_int_equal(m.n_finds, 0);
	m.pending = 0;
	assert_int_equal(decide(&m, 3, 0, (struct decide_order){7, 3, 1, 0}, NULL), DECIDE_REPEAT);
	/* even where no other would be taken */
	assert_int_equal(decide(&m, 3, DECIDE_STEPS_MAX, (struct decide_order){7, 3, 1, 0}, NULL),
			 DECIDE_REPEAT);
}

/* Nothing is read, kept or begun. */
static void test_order_of_the_past(void **state)
{
	struct memory m = {.finds = 0, .done = {2, 1, 0, 0}};
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(decide(&m, 3, 0, (struct decide_order){7, 2, 1, 0}, &err), -ESTALE);
	assert_non_null(strstr(err.text, "epoch 2, but 3 was seen"));
	assert_int_equal(m.n_finds, 0);
	assert_int_equal(m.kept, 0);
}

/* On any doubt: do nothing. */
static void test_memory_that_fails(void **state)
{
	struct memory m = {.keeps = -ENOSPC, .finds = -ENOENT};
	struct phx_err err = {0};
	(void)state;
	assert_int_equal(decide(&m, 3, 0, (struct decide_order){7, 4, 1, 0}, &err), -ENOSPC);
	assert_string_equal(err.text, "not kept");
	phx_err_clear(&err);
	/* nor later, as long as it is not kept */
	assert_int_equal(decide(&m, 4, 0, (struct decide_order){7, 4, 1, 0}, &err), -ENOSPC);
	phx_err_clear(&err);
	m = (struct memory){.finds = -EBADMSG};
	assert_int_equal(decide(&m, 3, 0, (struct decide_order){7, 3, 1, 0}, &err), -EBADMSG);
	assert_string_equal(err.text, "damaged");
	assert_int_equal(decide_result(0, 0), 0);
	assert_int_equal(decide_result(0, -ENOSPC), -EIO);
	assert_int_equal(decide_result(-EBUSY, -ENOSPC), -EBUSY);
	assert_int_equal(decide_result(-EBUSY, 0), -EBUSY);
}

static void test_which_attempt_is_answered(void **state)
{
	static const struct decide_done good = {3, 1, 0, 0}, bad = {3, 2, -EBUSY, 0};
	(void)state;
	assert_true(decide_answers(&good, &(struct decide_order){1, 3, 1, 0}));
	assert_true(decide_answers(&good, &(struct decide_order){1, 3, 9, 0})); /* done is done */
	assert_true(decide_answers(&bad, &(struct decide_order){1, 3, 1, 0}));
	/* a repeated order repeats the answer */
	assert_true(decide_answers(&bad, &(struct decide_order){1, 3, 2, 0}));
	/* a new attempt is made */
	assert_false(decide_answers(&bad, &(struct decide_order){1, 3, 3, 0}));
	/* the same id from a head that has lost its journal */
	assert_false(decide_answers(&good, &(struct decide_order){1, 4, 1, 0}));
	assert_false(decide_answers(&good, &(struct decide_order){1, 2, 1, 0}));
	/* what was written down before the attempt had its number is no answer to it */
	const struct decide_done known = {3, 1, 0, 77};
	assert_true(decide_answers(&known, &(struct decide_order){1, 3, 1, 77}));
	assert_true(decide_answers(&known, &(struct decide_order){1, 3, 2, 77}));
	assert_false(decide_answers(&known, &(struct decide_order){1, 3, 1, 78}));
	assert_false(decide_answers(&good, &(struct decide_order){1, 3, 1, 77}));
	/* the copy of an earlier attempt's order that comes late begins nothing: seeds 9 and 33 of
	 * the fault simulation erased nodes that were ready already */
	const struct decide_done second = {3, 2, 0, 78}, failed = {3, 2, -EIO, 78};
	assert_true(decide_answers(&second, &(struct decide_order){1, 3, 1, 77}));
	assert_true(decide_answers(&failed, &(struct decide_order){1, 3, 1, 77}));
	assert_false(decide_answers(&second, &(struct decide_order){1, 3, 3, 79}));
}

static void test_step_that_waits(void **state)
{
	(void)state;
	assert_true(decide_given_up(4, 3));
	assert_false(decide_given_up(3, 3));
	assert_false(decide_given_up(2, 3));
	assert_true(decide_here(PHX_NEEDS_NOWHERE, PHX_ENV_OS));
	assert_true(decide_here(PHX_NEEDS_OS, PHX_ENV_OS));
	assert_false(decide_here(PHX_NEEDS_OS, PHX_ENV_DEPLOY));
	assert_true(decide_here(PHX_NEEDS_DEPLOY, PHX_ENV_DEPLOY));
	/* a disk is never erased below its system */
	assert_false(decide_here(PHX_NEEDS_DEPLOY, PHX_ENV_OS));
}

/* A result is told once it is written down, and its step is dropped once it is told. */
static void test_end_of_a_step(void **state)
{
	(void)state;
	enum decide_end act = decide_end_first(false);
	assert_int_equal(act, DECIDE_END_WRITE);
	assert_int_equal(act = decide_end_next(act), DECIDE_END_TELL);
	assert_int_equal(act = decide_end_next(act), DECIDE_END_DROP);
	assert_int_equal(act = decide_end_next(act), DECIDE_END_OVER);
	assert_int_equal(decide_end_next(act), DECIDE_END_OVER);
	/* the other system's registration is the answer */
	assert_int_equal(decide_end_first(true), DECIDE_END_DROP);
}

/* A run starts once at most, and not beside another of its job. */
static void test_orders_of_jobs(void **state)
{
	static const struct {
		enum decide_job judged;
		bool runs, ends;
		enum decide_job_act act;
	} rows[] = {
		{DECIDE_JOB_NEW, false, false, DECIDE_JOB_START},
		{DECIDE_JOB_NEW, false, true, DECIDE_JOB_BAR},
		{DECIDE_JOB_SAME, false, false, DECIDE_JOB_TELL},
		{DECIDE_JOB_SAME, false, true, DECIDE_JOB_TELL},
		{DECIDE_JOB_SAME, true, false, DECIDE_JOB_TELL},
		{DECIDE_JOB_SAME, true, true, DECIDE_JOB_END},
		{DECIDE_JOB_NEWER, false, false, DECIDE_JOB_START},
		{DECIDE_JOB_NEWER, false, true, DECIDE_JOB_BAR},
		{DECIDE_JOB_NEWER, true, false, DECIDE_JOB_MAKE_WAY},
		{DECIDE_JOB_NEWER, true, true, DECIDE_JOB_AWAIT},
		{DECIDE_JOB_OF_PAST, false, false, DECIDE_JOB_REFUSE},
		{DECIDE_JOB_OF_PAST, false, true, DECIDE_JOB_REFUSE},
		{DECIDE_JOB_OF_PAST, true, false, DECIDE_JOB_REFUSE},
		{DECIDE_JOB_OF_PAST, true, true, DECIDE_JOB_REFUSE},
	};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		assert_int_equal(decide_job_order(rows[i].judged, rows[i].runs, rows[i].ends),
				 rows[i].act);
}

static void test_runs_of_jobs(void **state)
{
	static const struct decide_run second = {2, 1000};
	(void)state;
	assert_int_equal(decide_job(NULL, &second), DECIDE_JOB_NEW);
	assert_int_equal(decide_job(&second, &(struct decide_run){2, 1000}), DECIDE_JOB_SAME);
	assert_int_equal(decide_job(&second, &(struct decide_run){2, 0}), DECIDE_JOB_SAME);
	assert_int_equal(decide_job(&second, &(struct decide_run){3, 1000}), DECIDE_JOB_NEWER);
	assert_int_equal(decide_job(&second, &(struct decide_run){1, 1000}), DECIDE_JOB_OF_PAST);
	/* another job of its number: the head has lost its journal */
	assert_int_equal(decide_job(&second, &(struct decide_run){0, 5000}), DECIDE_JOB_NEWER);
	assert_int_equal(decide_job(&(struct decide_run){2, 0}, &(struct decide_run){0, 5000}),
			 DECIDE_JOB_OF_PAST);
}

static void test_messages(void **state)
{
	(void)state;
	assert_true(decide_again(-ECONNREFUSED));
	assert_true(decide_again(-EPROTO));
	assert_true(decide_again(-EROFS));
	assert_false(decide_again(-ESTALE));
	assert_false(decide_again(-EINVAL));
	assert_false(decide_again(-ENODATA));
	assert_false(decide_again(0));
}

static void test_renews(void **state)
{
	const int64_t day = 86400, now = 20000 * day;
	(void)state;
	assert_false(decide_renews(now, now + 30 * day, 0));
	assert_false(decide_renews(now, now + 10 * day, 20 * day * 1000));
	assert_true(decide_renews(now, now + 10 * day - 1, 0));
	assert_true(decide_renews(now, now - day, 0));        /* it has ended */
	assert_true(decide_renews(now, now + 3650 * day, 0)); /* of before there was an end */
	assert_true(decide_renews(0, now + 30 * day, 0));     /* no time was set yet */
	assert_true(decide_renews(now + 400 * day, now, 0));  /* set forward */
	assert_true(decide_renews(now, now + 30 * day, 20 * day * 1000 + 1000)); /* set back */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_step),
		cmocka_unit_test(test_renews),
		cmocka_unit_test(test_step_that_is_known),
		cmocka_unit_test(test_order_of_the_past),
		cmocka_unit_test(test_memory_that_fails),
		cmocka_unit_test(test_which_attempt_is_answered),
		cmocka_unit_test(test_step_that_waits),
		cmocka_unit_test(test_end_of_a_step),
		cmocka_unit_test(test_runs_of_jobs),
		cmocka_unit_test(test_orders_of_jobs),
		cmocka_unit_test(test_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
