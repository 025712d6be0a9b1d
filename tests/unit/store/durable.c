/* An event that was acknowledged is on the disk: the calls that bring it there are watched. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <time.h>

#include "base/file.h"
#include "base/tree.h"
#include "fake/append_one.h"
#include "store/store.h"
#include "fake/disk.h"

static char dir[64], path[96], wal[112], mark[112];
static int64_t fake_now_s; /* 0: as it is */
static struct phx_store *store;
static struct phx_err err;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);
	/* whole seconds: a true fraction could make one second too short */
	if (fake_now_s && id == CLOCK_MONOTONIC)
		*ts = (struct timespec){.tv_sec = fake_now_s};
	return r;
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-durable.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	snprintf(mark, sizeof(mark), "%s.mark", path);
	fake_now_s = 0;
	phx_err_clear(&err);
	return phx_store_open(path, &store, &err);
}

static int teardown(void **state)
{
	(void)state;
	phx_store_close(PHX_TAKE(store));
	return phx_dir_remove(dir, NULL);
}

static int append(uint64_t seq)
{
	phx_err_clear(&err);
	return append_one(store, seq, (int64_t)seq, "tick", "n", "{}", "[]", NULL, &err);
}

/* Nothing is written to the log or the database that is not brought to the disk. */
static void is_on_the_disk(const char *file)
{
	struct stat st;
	assert_int_equal(stat(file, &st), 0);
	int at = -1;
	for (int next; (next = fake_disk_find(FAKE_WRITE, st.st_ino, at + 1)) >= 0;)
		at = next;
	if (at >= 0 && fake_disk_find(FAKE_SYNC, st.st_ino, at) < 0)
		fail_msg("%s: what was written last is not on the disk", file);
}

static void an_acknowledged_event_is_on_the_disk(void **state)
{
	struct stat st;
	(void)state;
	for (uint64_t seq = 1; seq <= 20; seq++) {
		fake_disk_begin();
		assert_int_equal(append(seq), 0);
		assert_int_equal(stat(wal, &st), 0);
		/* the fake sees SQLite */
		assert_true(fake_disk_find(FAKE_WRITE, st.st_ino, 0) >= 0);
		is_on_the_disk(wal);
	}
}

static void a_snapshot_is_on_the_disk(void **state)
{
	(void)state;
	assert_int_equal(append(1), 0);
	fake_disk_begin();
	assert_int_equal(phx_store_snapshot(store, 1, "{}", &err), 0);
	is_on_the_disk(wal);
}

/* what is copied from the log into the database is there before the log is used again */
static void the_log_is_not_given_up_early(void **state)
{
	static char event[8192];
	(void)state;
	memset(event, 'x', sizeof(event) - 1);
	fake_disk_begin();
	for (uint64_t seq = 1; seq <= 700; seq++) {
		if (seq % 100 == 0)
			is_on_the_disk(path);
		if (seq % 100 == 0)
			fake_disk_begin();
		assert_int_equal(append_one(store, seq, 1, "tick", "n", event, "[]", NULL, &err),
				 0);
		is_on_the_disk(wal);
	}
}

static void an_event_that_is_not_on_the_disk_is_not_acknowledged(void **state)
{
	(void)state;
	assert_int_equal(append(1), 0);
	fake_disk_fails = true;
	int r = append(2);
	fake_disk_fails = false;
	assert_int_equal(r, PHX_STORE_DOUBT);
	assert_int_equal(phx_store_last(store), 1);
	assert_int_equal(append(2), 0);
}

static void move_away(void)
{
	char away[128];
	snprintf(away, sizeof(away), "%s.away", path);
	rename(path, away);
}

/* between the last look at it and the end of the commit */
static void an_event_that_went_to_a_removed_file_is_not_acknowledged(void **state)
{
	(void)state;
	assert_int_equal(append(1), 0);
	fake_disk_on_sync = move_away;
	assert_int_equal(append(2), -ESTALE);
	assert_non_null(strstr(err.text, "was removed while it was open"));
}

/* ---- the mark ---- */

static bool is_synced(const char *file)
{
	struct stat st;
	assert_int_equal(stat(file, &st), 0);
	return fake_disk_find(FAKE_SYNC, st.st_ino, 0) >= 0;
}

static void the_mark_comes_to_the_disk_once_a_second(void **state)
{
	(void)state;
	fake_now_s = 1000000;
	fake_disk_begin();
	assert_int_equal(append(1), 0);
	is_on_the_disk(mark);
	assert_true(is_synced(mark) && is_synced(dir)); /* with its name */
	fake_disk_begin();
	assert_int_equal(append(2), 0);
	assert_false(is_synced(mark)); /* it costs a commit nothing */
	fake_now_s++;
	fake_disk_begin();
	assert_int_equal(append(3), 0);
	is_on_the_disk(mark);
	assert_true(is_synced(mark));
}

static void the_mark_of_a_start_and_of_an_end_is_on_the_disk(void **state)
{
	struct phx_store_findings found;
	(void)state;
	fake_now_s = 1000000;
	assert_int_equal(append(1), 0);
	fake_disk_begin();
	assert_int_equal(phx_store_verify(store, &found, &err), 0);
	is_on_the_disk(mark);
	assert_true(is_synced(mark));
	assert_int_equal(append(2), 0);
	fake_disk_begin();
	phx_store_close(PHX_TAKE(store));
	assert_true(is_synced(mark));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_acknowledged_event_is_on_the_disk),
		T(a_snapshot_is_on_the_disk),
		T(the_log_is_not_given_up_early),
		T(an_event_that_is_not_on_the_disk_is_not_acknowledged),
		T(an_event_that_went_to_a_removed_file_is_not_acknowledged),
		T(the_mark_comes_to_the_disk_once_a_second),
		T(the_mark_of_a_start_and_of_an_end_is_on_the_disk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
