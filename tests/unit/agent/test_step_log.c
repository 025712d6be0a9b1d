/* The agent's memory: done twice is done once, the past is refused. */
#include "unit/agent/scratch.h"

#include "agent/step_book.h"
#include "agent/step_log.h"

static struct step_log_entry entry(uint64_t id, uint32_t attempt, int64_t result)
{
	struct step_log_entry e = {.id = id, .epoch = 3, .attempt = attempt, .result = result};
	PHX_STR_SET(e.kind, "stop");
	PHX_STR_SET(e.text, result ? "port 80 is still open" : "");
	return e;
}

static void open_log(void **state, struct step_log *l)
{
	const struct scratch *s = *state;
	struct phx_err err = {0};
	assert_int_equal(step_log_open(l, s->dir, &err), 0);
}

static void test_result_is_kept(void **state)
{
	struct step_log l;
	struct step_log_entry found, e = entry(7, 1, 0);
	open_log(state, &l);
	assert_int_equal(step_log_find(&l, 7, &found, NULL), -ENOENT);
	assert_int_equal(step_log_put(&l, &e, NULL), 0);
	open_log(state, &l); /* a new agent */
	assert_int_equal(step_log_find(&l, 7, &found, NULL), 0);
	assert_true(phx_record_equal(&step_log_entry_record, &e, &found));
}

static void test_wipe_result_is_kept(void **state)
{
	struct step_log l;
	struct step_log_entry found, e = entry(8, 1, 0);
	e.has_wipe = true;
	PHX_STR_SET(e.wipe.disk_id, "wwn-0x5000");
	e.wipe.method = PHX_WIPE_DISCARD;
	e.wipe.size_bytes = 1ull << 40;
	e.wipe.verified = true;
	open_log(state, &l);
	assert_int_equal(step_log_put(&l, &e, NULL), 0);
	assert_int_equal(step_log_find(&l, 8, &found, NULL), 0);
	assert_true(phx_record_equal(&step_log_entry_record, &e, &found));
}

static void test_damaged_result(void **state)
{
	struct step_log l;
	struct step_log_entry found;
	struct phx_err err = {0};
	open_log(state, &l);
	write_text(scratch_path(*state, "steps/9.json"), "{\"id\": 9, \"ep", 0600);
	assert_int_equal(step_log_find(&l, 9, &found, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "steps/9.json"));
	phx_err_clear(&err);
	write_text(scratch_path(*state, "steps/9.json"), "{\"id\": 10, \"kind\": \"stop\"}", 0600);
	assert_int_equal(step_log_find(&l, 9, &found, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "step 10"));
}

static void test_highest_epoch_is_kept(void **state)
{
	struct step_log l;
	open_log(state, &l);
	assert_int_equal(step_log_keep_epoch(&l, 5, NULL), 0);
	assert_int_equal(step_log_keep_epoch(&l, 4, NULL), 0);
	assert_int_equal(l.epoch, 5);
	open_log(state, &l); /* not forgotten by a new agent */
	assert_int_equal(l.epoch, 5);
	assert_int_equal(step_log_keep_epoch(&l, 6, NULL), 0);
	open_log(state, &l); /* nor is a later one */
	assert_int_equal(l.epoch, 6);
}

static void test_epoch_that_cannot_be_kept(void **state)
{
	struct step_log l;
	open_log(state, &l);
	/* a directory in its place: the new epoch cannot be written down, so the order must not be
	 * followed */
	assert_int_equal(mkdir(scratch_path(*state, "epoch"), 0700), 0);
	struct phx_err err = {0};
	assert_true(step_log_keep_epoch(&l, 1, &err) < 0);
	assert_non_null(strstr(err.text, "no step of epoch 1 begins, because"));
	assert_int_equal(l.epoch, 1);                      /* it was seen: nothing older begins */
	assert_true(step_log_keep_epoch(&l, 1, NULL) < 0); /* it is not written down yet */
	assert_int_equal(rmdir(scratch_path(*state, "epoch")), 0);
	assert_int_equal(step_log_keep_epoch(&l, 1, NULL), 0);
	open_log(state, &l);
	assert_int_equal(l.epoch, 1);
}

static void test_damaged_epoch(void **state)
{
	const struct scratch *s = *state;
	struct step_log l;
	struct phx_err err = {0};
	write_text(scratch_path(s, "epoch"), "12x\n", 0600);
	assert_int_equal(step_log_open(&l, s->dir, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "/epoch"));
}

static void test_old_results_go(void **state)
{
	struct step_log l;
	struct step_log_entry found;
	open_log(state, &l);
	for (uint64_t id = 1; id <= STEP_BOOK_KEEP + 5; id++) {
		struct step_log_entry e = entry(id, 1, 0);
		assert_int_equal(step_log_put(&l, &e, NULL), 0);
	}
	assert_int_equal(step_log_find(&l, 5, &found, NULL), -ENOENT);
	assert_int_equal(step_log_find(&l, 6, &found, NULL), 0);
	assert_int_equal(step_log_find(&l, STEP_BOOK_KEEP + 5, &found, NULL), 0);
}

static void test_copy_to_another_system(void **state)
{
	struct step_log l, to;
	struct step_log_entry found, e = entry(3, 1, 0);
	const char *dir = scratch_path(*state, "new-system");
	open_log(state, &l);
	assert_int_equal(step_log_keep_epoch(&l, 17, NULL), 0);
	assert_int_equal(step_log_put(&l, &e, NULL), 0);
	assert_int_equal(step_log_copy(&l, dir, NULL), 0);
	assert_int_equal(step_log_open(&to, dir, NULL), 0);
	assert_int_equal(to.epoch, 17);
	assert_int_equal(step_log_find(&to, 3, &found, NULL), 0);
	/* the bound holds after copies too, also of what an agent of before left there */
	for (uint64_t id = 1000; id < 1000 + STEP_BOOK_KEEP; id++) {
		struct step_log_entry more = entry(id, 1, 0);
		assert_int_equal(step_log_put(&l, &more, NULL), 0);
	}
	assert_int_equal(step_log_copy(&l, dir, NULL), 0);
	assert_int_equal(step_log_find(&to, 3, &found, NULL), -ENOENT);
	assert_int_equal(step_log_find(&to, 1000, &found, NULL), 0);
	/* an older memory never lowers the epoch */
	struct step_log old = {.epoch = 2};
	PHX_STR_SET(old.dir, l.dir);
	assert_int_equal(step_log_copy(&old, dir, NULL), 0);
	assert_int_equal(step_log_open(&to, dir, NULL), 0);
	assert_int_equal(to.epoch, 17);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_result_is_kept),
		TEST(test_wipe_result_is_kept),
		TEST(test_damaged_result),
		TEST(test_highest_epoch_is_kept),
		TEST(test_epoch_that_cannot_be_kept),
		TEST(test_damaged_epoch),
		TEST(test_old_results_go),
		TEST(test_copy_to_another_system),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
