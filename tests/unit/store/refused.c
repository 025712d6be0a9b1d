/* What the journal cannot write is not acknowledged, leaves nothing behind, and keeps nothing that
 * follows from being written: somebody else takes away what it needs, one thing at a time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "fake/append_one.h"
#include "store/internal.h"

enum { MANY = 10050, FILE_MAX = 1 << 24 };

static char dir[64], path[96], mark[112];
static struct phx_store *store;
static struct phx_store_findings found;
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-refused.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	snprintf(mark, sizeof(mark), "%s.mark", path);
	phx_err_clear(&err);
	return phx_store_open(path, &store, &err);
}

static int teardown(void **state)
{
	(void)state;
	phx_store_close(PHX_TAKE(store));
	return phx_dir_remove(dir, NULL);
}

static int append_with(uint64_t seq, const struct phx_store_erasure *e)
{
	phx_err_clear(&err);
	return append_one(store, seq, (int64_t)seq * 1000, "tick", "n1",
			  "{\"secret\":\"abracadabra\"}", "[]", e, &err);
}

static int append(uint64_t seq)
{
	return append_with(seq, NULL);
}

static int reopen(void)
{
	phx_store_close(PHX_TAKE(store));
	phx_err_clear(&err);
	int r = phx_store_open(path, &store, &err);
	return r ? r : phx_store_verify(store, &found, &err);
}

/* While the journal is open, too. */
static void meddle(const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int number(const char *query)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* ---- events ---- */

static void an_event_that_is_refused_leaves_nothing(void **state)
{
	const struct phx_store_erasure e = {7, "n1", "{}", "aabb"};
	(void)state;
	assert_int_equal(append(1), 0);
	meddle("INSERT INTO events VALUES(2,2,'foreign','','{}','[]',NULL)");
	assert_int_equal(append_with(2, &e), -EIO);
	assert_true(err.text[0]);
	assert_int_equal(phx_store_last(store), 1);
	assert_int_equal(number("SELECT COUNT(*) FROM erasures"), 0);
	meddle("DELETE FROM events WHERE kind='foreign'");
	assert_int_equal(append(2), 0);
	assert_int_equal(reopen(), 0);
	assert_int_equal(phx_store_last(store), 2);
}

static void an_event_without_its_erase_record_is_refused(void **state)
{
	const struct phx_store_erasure e = {7, "n1", "{}", "aabb"};
	(void)state;
	assert_int_equal(append(1), 0);
	meddle("ALTER TABLE erasures RENAME TO away");
	assert_true(append_with(2, &e) < 0);
	assert_true(err.text[0]);
	assert_int_equal(phx_store_last(store), 1);
	assert_int_equal(number("SELECT MAX(seq) FROM events"), 1);
	meddle("ALTER TABLE away RENAME TO erasures");
	assert_int_equal(append_with(2, &e), 0);
	assert_int_equal(number("SELECT COUNT(*) FROM erasures"), 1);
	assert_int_equal(reopen(), 0);
}

/* ---- forgetting ---- */

static void snapshots_at(uint64_t older, uint64_t newer)
{
	assert_int_equal(phx_store_snapshot(store, older, "{}", &err), 0);
	assert_int_equal(phx_store_snapshot(store, newer, "{}", &err), 0);
}

static void what_cannot_be_forgotten_stays(void **state)
{
	(void)state;
	for (uint64_t seq = 1; seq <= 10; seq++)
		assert_int_equal(append(seq), 0);
	snapshots_at(5, 10);
	meddle("ALTER TABLE chain RENAME TO away");
	assert_true(phx_store_prune(store, INT64_MAX, &err) < 0);
	assert_int_equal(number("SELECT MIN(seq) FROM events"), 1);
	meddle("ALTER TABLE away RENAME TO chain");
	assert_int_equal(append(11), 0);
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 5);
	assert_int_equal(reopen(), 0);
	assert_int_equal(found.uncovered, 5);
}

/* Nobody is answered meanwhile. */
static void no_more_than_so_many_are_forgotten_at_once(void **state)
{
	uint64_t missing;
	(void)state;
	meddle("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<10050)"
	       "INSERT INTO events SELECT i,i,'tick','','{}','[]',NULL FROM n");
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_store_open(path, &store, &err), 0);
	assert_int_equal(phx_store_accept(store, &missing, &err), 0);
	snapshots_at(MANY - 1, MANY);
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 10000);
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 49);
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 0);
}

/* It may be what a user was promised to be forgotten. */
static void what_was_forgotten_cannot_be_read_in_the_file(void **state)
{
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	(void)state;
	for (uint64_t seq = 1; seq <= 200; seq++)
		assert_int_equal(append(seq), 0);
	snapshots_at(200, 201);
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 200);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_file_read(path, FILE_MAX, &data, &n, &err), 0);
	assert_null(memmem(data, n, "abracadabra", 11));
}

/* ---- the file itself ---- */

static void a_rebuild_that_fails_leaves_a_journal_that_writes(void **state)
{
	(void)state;
	assert_int_equal(append(1), 0);
	assert_int_equal(phx_store_snapshot(store, 1, "{\"at\":1}", &err), 0);
	meddle("ALTER TABLE erasures RENAME TO away"); /* its index cannot be made */
	assert_true(phx_store_rebuild(store, 1, "{\"again\":1}", &err) < 0);
	meddle("ALTER TABLE away RENAME TO erasures");
	assert_int_equal(append(2), 0);
	assert_int_equal(phx_store_snapshot(store, 2, "{\"at\":2}", &err), 0);
	assert_int_equal(reopen(), 0);
	assert_int_equal(number("SELECT COUNT(*) FROM snapshots"), 2);
}

/* A journal of the time before chains. */
static void make_old(void)
{
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_dir_remove(dir, NULL), 0);
	assert_int_equal(phx_dir_make(dir, 0700, NULL), 0);
	meddle("CREATE TABLE events(seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, kind TEXT "
	       "NOT NULL, node TEXT NOT NULL,"
	       " event TEXT NOT NULL, actions TEXT NOT NULL);"
	       "CREATE TABLE snapshots(seq INTEGER PRIMARY KEY, state TEXT NOT NULL);"
	       "CREATE TABLE erasures(step_id INTEGER PRIMARY KEY, node TEXT NOT NULL, record TEXT "
	       "NOT NULL,"
	       " signature TEXT NOT NULL); PRAGMA user_version=1;");
}

static void an_upgrade_is_whole_or_none(void **state)
{
	(void)state;
	make_old();
	meddle("CREATE TABLE chain(x)");
	assert_true(phx_store_open(path, &store, &err) < 0);
	assert_int_equal(number("PRAGMA user_version"), 1);
	assert_int_equal(
		number("SELECT COUNT(*) FROM pragma_table_info('events') WHERE name='hash'"), 0);
	meddle("DROP TABLE chain");
	assert_int_equal(reopen(), 0);
	assert_int_equal(append(1), 0);
	assert_int_equal(reopen(), 0); /* and once is enough */
}

/* Who looks at a journal with a newer program does not take it away from the older one that
 * runs. */
static void who_only_reads_leaves_the_schema(void **state)
{
	(void)state;
	make_old();
	assert_int_equal(phx_store_open_read(path, &store, &err), 0);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(number("PRAGMA user_version"), 1);
	assert_int_equal(
		number("SELECT COUNT(*) FROM pragma_table_info('events') WHERE name='hash'"), 0);
}

static int no_more(void *arg, const struct phx_store_event *ev)
{
	(void)ev;
	++*(uint64_t *)arg;
	return 0;
}

/* It went bad while the journal was open. */
static void a_damaged_page_does_not_end_the_events(void **state)
{
	struct stat st;
	char junk[4096];
	uint64_t n = 0;
	(void)state;
	for (uint64_t seq = 1; seq <= 1000; seq++)
		assert_int_equal(append(seq), 0);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_store_open(path, &store, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size >= 24 * 4096);
	memset(junk, 0xa5, sizeof(junk));
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	for (off_t at = st.st_size / 4096 / 3; at < st.st_size / 4096 / 2; at++)
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at * 4096), sizeof(junk));
	close(fd);
	assert_int_equal(phx_store_events(store, 0, 0, NULL, no_more, &n, &err), -EBADMSG);
	assert_true(err.text[0] && n < 1000);
}

/* Events hold what users may not see. */
static void nobody_else_reads_it(void **state)
{
	struct stat st;
	char other[128];
	(void)state;
	umask(0);
	snprintf(other, sizeof(other), "%s/other.db", dir);
	assert_int_equal(phx_file_write(other, "", 0, 0666, &err), 0);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_store_open(other, &store, &err), 0);
	assert_int_equal(append(1), 0);
	static const char *const suffixes[] = {"", "-wal", ".mark", ".lock"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(suffixes); i++) {
		PHX_AUTO_FREE char *file = phx_path("%s%s", other, suffixes[i]);
		assert_int_equal(stat(file, &st), 0);
		assert_int_equal(st.st_mode & 07, 0);
	}
	umask(022);
}

/* ---- the mark ---- */

/* A mark that is there and cannot be read is not one that was never made. */
static void a_mark_that_cannot_be_opened_is_told(void **state)
{
	struct phx_mark m;
	(void)state;
	assert_int_equal(append(1), 0);
	assert_int_equal(phx_mark_read(path, &m, &err), 0);
	assert_int_equal(m.chain.seq, 1);
	unlink(mark);
	assert_int_equal(phx_mark_read(path, &m, &err), -ENOENT);
	assert_int_equal(symlink("elsewhere", mark), 0);
	assert_int_equal(phx_mark_read(path, &m, &err), -ELOOP);
}

static void copy(const char *from, const char *to)
{
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	assert_int_equal(phx_file_read(from, FILE_MAX, &data, &n, &err), 0);
	assert_int_equal(phx_file_write(to, data, n, 0640, &err), 0);
}

/* As long as the one that was acknowledged, of the same journal, and sound in itself. */
static void another_history_is_told(void **state)
{
	char older[128], acknowledged[128];
	(void)state;
	snprintf(older, sizeof(older), "%s/older", dir);
	snprintf(acknowledged, sizeof(acknowledged), "%s/acknowledged", dir);
	assert_int_equal(append(1), 0);
	phx_store_close(PHX_TAKE(store));
	copy(path, older);
	assert_int_equal(reopen(), 0);
	assert_int_equal(append(2), 0);
	phx_store_close(PHX_TAKE(store));
	copy(mark, acknowledged);
	copy(older, path);
	unlink(mark);
	assert_int_equal(reopen(), 0);
	assert_int_equal(append_one(store, 2, 2000, "tick", "n2", "{}", "[]", NULL, &err), 0);
	phx_store_close(PHX_TAKE(store));
	copy(acknowledged, mark);
	assert_int_equal(reopen(), -ENODATA);
	assert_non_null(strstr(err.text, "event 2 is not the one that was acknowledged"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_event_that_is_refused_leaves_nothing),
		T(an_event_without_its_erase_record_is_refused),
		T(what_cannot_be_forgotten_stays),
		T(no_more_than_so_many_are_forgotten_at_once),
		T(what_was_forgotten_cannot_be_read_in_the_file),
		T(a_rebuild_that_fails_leaves_a_journal_that_writes),
		T(an_upgrade_is_whole_or_none),
		T(who_only_reads_leaves_the_schema),
		T(a_damaged_page_does_not_end_the_events),
		T(nobody_else_reads_it),
		T(a_mark_that_cannot_be_opened_is_told),
		T(another_history_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
