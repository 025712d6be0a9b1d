/* Reading the journal beside its writer: what was committed is seen, at any time, and neither waits
 * for the other. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/key.h"
#include "base/tree.h"
#include "fake/append_one.h"
#include "store/internal.h"

static char dir[64], path[96];
static struct phx_store *store;

static void append(uint64_t seq, const char *node)
{
	struct phx_err err = {0};
	if (append_one(store, seq, (int64_t)seq * 1000, "kind", node, "{\"a\":1}", "[]", NULL,
		       &err) < 0)
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-test-reader-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	assert_int_equal(phx_store_open(path, &store, NULL), 0);
	for (uint64_t seq = 1; seq <= 9; seq++)
		append(seq, seq % 2 ? "odd" : "even");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_store_close(store);
	store = NULL;
	phx_dir_remove(dir, NULL);
	return 0;
}

static int note(void *arg, const struct phx_store_event *ev)
{
	snprintf((char *)arg + strlen(arg), 100 - strlen(arg), "%llu ",
		 (unsigned long long)ev->seq);
	assert_string_equal(ev->event, "{\"a\":1}");
	assert_string_equal(ev->actions, "[]");
	return strlen(arg) > 80 ? 7 : 0;
}

static void reads(struct phx_store_reader *r, uint64_t after, uint32_t limit, const char *node,
		  const char *want)
{
	char text[100] = "";
	struct phx_err err = {0};
	assert_int_equal(phx_store_reader_events(r, after, limit, node, note, text, &err), 0);
	assert_string_equal(text, want);
}

static void test_events(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	struct phx_err err = {0};
	assert_int_equal(phx_store_reader_open(path, &r, &err), 0);
	reads(r, 0, 0, NULL, "1 2 3 4 5 6 7 8 9 ");
	reads(r, 4, 3, NULL, "5 6 7 ");
	reads(r, 0, 0, "even", "2 4 6 8 ");
	reads(r, 3, 2, "odd", "5 7 ");
	reads(r, 0, 0, "nobody", "");
	reads(r, UINT64_MAX, 0, NULL, "");
	reads(r, 0, 2, NULL, "1 2 ");
	append(10, "even"); /* seen by who was there before */
	reads(r, 8, 0, NULL, "9 10 ");
	reads(r, 8, 0, "even", "10 ");
	phx_store_reader_close(r);
}

static void append_about(uint64_t seq, const char *node, const char *first, const char *second)
{
	struct phx_word names[2] = {0};
	struct phx_err err = {0};
	struct phx_store_row row = {
		.event = {seq, (int64_t)seq * 1000, "kind", node, "{\"a\":1}", "[]"},
		.about = {.items = names, .n = second ? 2 : 1}};
	PHX_STR_SET(names[0].text, first);
	PHX_STR_SET(names[1].text, second ? second : "");
	if (phx_store_append(store, &row, 1, &err) < 0)
		fail_msg("%s", err.text);
}

static void reads_about(struct phx_store_reader *r, uint64_t after, uint32_t limit,
			const char *name, const char *want)
{
	char text[100] = "";
	struct phx_err err = {0};
	assert_int_equal(phx_store_reader_about(r, after, limit, name, note, text, &err), 0);
	assert_string_equal(text, want);
}

/* Its own events and those that were said to be about it, each once, in order; the same when older
 * ones were forgotten. */
static void test_events_about_a_name(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	append_about(10, "even", "odd", "queue");
	append_about(11, "odd", "odd", "odd"); /* said twice, and its own */
	append_about(12, "", "queue", NULL);
	append(13, "even");
	assert_int_equal(phx_store_reader_open(path, &r, NULL), 0);
	assert_int_equal(phx_store_reader_unsaid(r), 0);
	reads_about(r, 0, 0, "odd", "1 3 5 7 9 10 11 ");
	reads_about(r, 5, 3, "odd", "7 9 10 ");
	reads_about(r, 10, 0, "odd", "11 ");
	reads_about(r, 0, 0, "queue", "10 12 ");
	reads_about(r, 0, 1, "queue", "10 ");
	reads_about(r, 12, 0, "even", "13 ");
	reads_about(r, 0, 0, "nobody", "");
	assert_int_equal(phx_store_snapshot(store, 10, "{}", NULL), 0);
	assert_int_equal(phx_store_snapshot(store, 13, "{}", NULL), 0);
	assert_int_equal(phx_store_prune(store, 12000, NULL), 10);
	reads_about(r, 0, 1, "queue", "12 "); /* what is gone takes nobody's place */
	assert_int_equal(phx_store_rebuild(store, 13, "{}", NULL), 0);
	phx_store_reader_close(r);
	assert_int_equal(phx_store_reader_open(path, &r, NULL), 0);
	assert_int_equal(phx_store_reader_unsaid(r), 13);
	append_about(14, "", "queue", NULL);
	reads_about(r, 13, 0, "queue", "14 ");
	phx_store_reader_close(r);
}

/* No statement goes through a table: SQLite's own plan says how it finds what is asked. */
static void test_nothing_is_searched_without_an_index(void **state)
{
	(void)state;
	sqlite3 *db;
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	for (size_t i = 0; i < PHX_READER_STATEMENTS; i++) {
		char text[600];
		unsigned n_searches = 0;
		sqlite3_stmt *st = NULL;
		snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", phx_store_reader_sql[i]);
		assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
		while (sqlite3_step(st) == SQLITE_ROW) {
			const char *step = (const char *)sqlite3_column_text(st, 3);
			print_message("%s\n", step);
			n_searches += !strncmp(step, "SEARCH ", 7);
			if (!strncmp(step, "SCAN ", 5) || strstr(step, "TEMP B-TREE"))
				fail_msg("%s: %s", phx_store_reader_sql[i], step);
		}
		sqlite3_finalize(st);
		assert_true(n_searches > 0);
	}
	sqlite3_close(db);
}

/* In the middle of a walk the writer goes on; the walk ends with what was there when it began. */
static int append_once(void *arg, const struct phx_store_event *ev)
{
	uint64_t *n = arg;
	if (++*n == 3)
		append(10, "even");
	return ev->seq > 9;
}

static void test_the_writer_does_not_wait(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	uint64_t n = 0;
	assert_int_equal(phx_store_reader_open(path, &r, NULL), 0);
	assert_int_equal(phx_store_reader_events(r, 0, 0, NULL, append_once, &n, NULL), 0);
	assert_int_equal(n, 9);
	assert_int_equal(phx_store_last(store), 10);
	reads(r, 9, 0, NULL, "10 ");
	phx_store_reader_close(r);
}

static int stop(void *arg, const struct phx_store_event *ev)
{
	(void)arg, (void)ev;
	return -ECANCELED;
}

static void test_a_walk_ends_when_it_is_told_to(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	assert_int_equal(phx_store_reader_open(path, &r, NULL), 0);
	assert_int_equal(phx_store_reader_events(r, 0, 0, NULL, stop, NULL, NULL), -ECANCELED);
	reads(r, 7, 0, NULL, "8 9 ");
	phx_store_reader_close(r);
}

static void test_no_journal(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	struct phx_err err = {0};
	char other[128];
	snprintf(other, sizeof(other), "%s/none.db", dir);
	assert_int_equal(phx_store_reader_open(other, &r, &err), -ENOENT);
	assert_non_null(strstr(err.text, "none.db"));
	assert_int_equal(
		phx_file_write(
			other,
			"this is no database at all, but it is long enough to be read as one", 67,
			0600, NULL),
		0);
	assert_int_equal(phx_store_reader_open(other, &r, &err), -EBADMSG);
	assert_null(r);
	phx_store_reader_close(NULL);
}

/* Damage is not the end of the events. */
static void test_damage_is_told(void **state)
{
	(void)state;
	struct phx_store_reader *r = NULL;
	struct phx_err err = {0};
	char text[100] = "";
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	for (uint64_t seq = 10; seq <= 300; seq++)
		append(seq, "even");
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_file_read(path, 1 << 22, &data, &n, NULL), 0);
	assert_true(n > 6 * 4096);
	memset(data + 4096, 0xa5, n - 4096); /* all but the first page */
	assert_int_equal(phx_file_write(path, data, n, 0600, NULL), 0);
	assert_int_equal(phx_store_reader_open(path, &r, &err), 0);
	assert_true(phx_store_reader_unsaid(r) == UINT64_MAX);
	assert_int_equal(phx_store_reader_events(r, 0, 0, NULL, note, text, &err), -EBADMSG);
	assert_true(err.text[0]);
	phx_store_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events_about_a_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_searched_without_an_index, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_writer_does_not_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_walk_ends_when_it_is_told_to, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_no_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_is_told, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
