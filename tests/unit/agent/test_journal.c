/* The agent's memory: done twice is done once, the past is refused. */
#include "unit/agent/scratch.h"

#include "agent/journal.h"

static struct journal_entry entry(uint64_t id, uint32_t attempt, int64_t result)
{
	struct journal_entry e = {.id = id, .epoch = 3, .attempt = attempt, .result = result};
	PHX_STR_SET(e.kind, "stop");
	PHX_STR_SET(e.text, result ? "port 80 is still open" : "");
	return e;
}

static void open_journal(void **state, struct journal *j)
{
	const struct scratch *s = *state;
	struct phx_err err = {0};
	assert_int_equal(journal_open(j, s->dir, &err), 0);
}

static void test_result_is_kept(void **state)
{
	struct journal j;
	struct journal_entry found, e = entry(7, 1, 0);
	open_journal(state, &j);
	assert_int_equal(journal_find(&j, 7, &found, NULL), -ENOENT);
	assert_int_equal(journal_put(&j, &e, NULL), 0);
	open_journal(state, &j); /* a new agent */
	assert_int_equal(journal_find(&j, 7, &found, NULL), 0);
	assert_true(phx_record_equal(&journal_entry_record, &e, &found));
}

static void test_wipe_result_is_kept(void **state)
{
	struct journal j;
	struct journal_entry found, e = entry(8, 1, 0);
	e.has_wipe = true;
	PHX_STR_SET(e.wipe.disk_id, "wwn-0x5000");
	e.wipe.method = PHX_WIPE_DISCARD;
	e.wipe.size_bytes = 1ull << 40;
	e.wipe.verified = true;
	open_journal(state, &j);
	assert_int_equal(journal_put(&j, &e, NULL), 0);
	assert_int_equal(journal_find(&j, 8, &found, NULL), 0);
	assert_true(phx_record_equal(&journal_entry_record, &e, &found));
}

static void test_damaged_result(void **state)
{
	struct journal j;
	struct journal_entry found;
	struct phx_err err = {0};
	open_journal(state, &j);
	write_text(scratch_path(*state, "steps/9.json"), "{\"id\": 9, \"ep", 0600);
	assert_int_equal(journal_find(&j, 9, &found, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "steps/9.json"));
	phx_err_clear(&err);
	write_text(scratch_path(*state, "steps/9.json"), "{\"id\": 10, \"kind\": \"stop\"}", 0600);
	assert_int_equal(journal_find(&j, 9, &found, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "step 10"));
}

static void test_highest_epoch_is_kept(void **state)
{
	struct journal j;
	open_journal(state, &j);
	assert_int_equal(journal_keep_epoch(&j, 5, NULL), 0);
	assert_int_equal(journal_keep_epoch(&j, 4, NULL), 0);
	assert_int_equal(j.epoch, 5);
	open_journal(state, &j); /* not forgotten by a new agent */
	assert_int_equal(j.epoch, 5);
	assert_int_equal(journal_keep_epoch(&j, 6, NULL), 0);
	open_journal(state, &j); /* nor is a later one */
	assert_int_equal(j.epoch, 6);
}

static void test_epoch_that_cannot_be_kept(void **state)
{
	struct journal j;
	open_journal(state, &j);
	/* a directory in its place: the new epoch cannot be written down, so the order must not be
	 * followed */
	assert_int_equal(mkdir(scratch_path(*state, "epoch"), 0700), 0);
	assert_true(journal_keep_epoch(&j, 1, NULL) < 0);
	assert_int_equal(j.epoch, 0);
}

static void test_damaged_epoch(void **state)
{
	const struct scratch *s = *state;
	struct journal j;
	struct phx_err err = {0};
	write_text(scratch_path(s, "epoch"), "12x\n", 0600);
	assert_int_equal(journal_open(&j, s->dir, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "/epoch"));
}

static void test_old_results_go(void **state)
{
	struct journal j;
	struct journal_entry found;
	open_journal(state, &j);
	for (uint64_t id = 1; id <= JOURNAL_KEEP + 5; id++) {
		struct journal_entry e = entry(id, 1, 0);
		assert_int_equal(journal_put(&j, &e, NULL), 0);
	}
	assert_int_equal(journal_find(&j, 5, &found, NULL), -ENOENT);
	assert_int_equal(journal_find(&j, 6, &found, NULL), 0);
	assert_int_equal(journal_find(&j, JOURNAL_KEEP + 5, &found, NULL), 0);
}

static void test_copy_to_another_system(void **state)
{
	struct journal j, to;
	struct journal_entry found, e = entry(3, 1, 0);
	const char *dir = scratch_path(*state, "new-system");
	open_journal(state, &j);
	assert_int_equal(journal_keep_epoch(&j, 17, NULL), 0);
	assert_int_equal(journal_put(&j, &e, NULL), 0);
	assert_int_equal(journal_copy(&j, dir, NULL), 0);
	assert_int_equal(journal_open(&to, dir, NULL), 0);
	assert_int_equal(to.epoch, 17);
	assert_int_equal(journal_find(&to, 3, &found, NULL), 0);
	/* an older memory never lowers the epoch */
	struct journal old = {.epoch = 2};
	PHX_STR_SET(old.dir, j.dir);
	assert_int_equal(journal_copy(&old, dir, NULL), 0);
	assert_int_equal(journal_open(&to, dir, NULL), 0);
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
