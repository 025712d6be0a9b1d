/* An event that was acknowledged is on the disk: the calls that bring it there are watched. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "store/store.h"
#include "unit/fake_disk.h"

static char dir[64], path[96], wal[112];
static struct phx_store *store;
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-durable.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	snprintf(wal, sizeof(wal), "%s-wal", path);
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
	return phx_store_append(store, seq, (int64_t)seq, "tick", "n", "{}", "[]", NULL, &err);
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
		assert_true(fake_disk_find(FAKE_WRITE, st.st_ino, 0) >= 0); /* the fake sees SQLite */
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
		assert_int_equal(phx_store_append(store, seq, 1, "tick", "n", event, "[]", NULL, &err), 0);
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
	assert_int_equal(r, -EIO);
	assert_int_equal(phx_store_last(store), 1);
	assert_int_equal(append(2), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_acknowledged_event_is_on_the_disk),
		T(a_snapshot_is_on_the_disk),
		T(the_log_is_not_given_up_early),
		T(an_event_that_is_not_on_the_disk_is_not_acknowledged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
