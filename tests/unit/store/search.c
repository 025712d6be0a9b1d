/* Searching the journal: each way to ask finds its own, the newest first, by an index; what is
 * older than an index is found all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sqlite3.h>

#include "base/file.h"
#include "base/key.h"
#include "base/tree.h"
#include "store/internal.h"

static char dir[64], path[96], seen[400];
static struct phx_store *store;
static struct phx_store_reader *reader;
static struct phx_err err;

static void reopen(void)
{
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_store_open(path, &store, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-search.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	reopen();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_store_reader_close(PHX_TAKE(reader));
	phx_store_close(PHX_TAKE(store));
	return phx_dir_remove(dir, NULL);
}

static void append(const char *kind, const char *node, const char *about, const char *by)
{
	uint64_t seq = phx_store_last(store) + 1;
	struct phx_store_row row = {
		.event = {seq, 1000 * (int64_t)(seq / 2), kind, node, "{}", "[]"}};
	const char *const names[] = {about, by};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		struct phx_word *to = names[i] ? phx_list_push(&row.about, sizeof(*to)) : NULL;
		if (to && i)
			PHX_STR_SET(to->text, PHX_STORE_BY);
		if (to)
			strncat(to->text, names[i], sizeof(to->text) - 2);
	}
	assert_int_equal(phx_store_append(store, &row, 1, &err), 0);
	phx_list_fini(&row.about);
}

static void some(void)
{
	append("assign", "n1", "web", "uid:0");
	append("tick", "", NULL, NULL);
	append("release", "n1", NULL, "uid:7");
	append("assign", "n2", "n1", "uid:0");
	append("job_submit", "", "web", "uid:7");
	assert_int_equal(phx_store_reader_open(path, &reader, &err), 0);
}

static int note(void *arg, const struct phx_store_event *ev)
{
	size_t n = strlen(seen);
	snprintf(seen + n, sizeof(seen) - n, "%d ", (int)ev->seq);
	return *(int *)arg;
}

static void are(struct phx_store_search of, const char *want)
{
	int go_on = 0;
	of.limit = of.limit ? of.limit : 100;
	seen[0] = '\0';
	assert_int_equal(phx_store_search(reader, &of, note, &go_on, &err), 0);
	assert_string_equal(seen, want);
}

static void each_way_to_ask_finds_its_own(void **state)
{
	(void)state;
	some();
	are((struct phx_store_search){0}, "5 4 3 2 1 ");
	are((struct phx_store_search){.limit = 2}, "5 4 ");
	are((struct phx_store_search){.before = 4, .after = 1}, "3 2 ");
	are((struct phx_store_search){.kind = "assign"}, "4 1 ");
	are((struct phx_store_search){.kind = "assign", .before = 4}, "1 ");
	are((struct phx_store_search){.name = "n1"}, "4 3 1 ");
	are((struct phx_store_search){.name = "n1", .limit = 2}, "4 3 ");
	are((struct phx_store_search){.name = "web", .after = 1}, "5 ");
	are((struct phx_store_search){.who = "uid:7"}, "5 3 ");
	are((struct phx_store_search){.who = "uid:0", .before = 4}, "1 ");
	are((struct phx_store_search){.name = "uid:0"}, "");
	are((struct phx_store_search){.kind = "hello"}, "");
}

static void who_is_told_may_end_it(void **state)
{
	int stop = 9;
	(void)state;
	some();
	seen[0] = '\0';
	struct phx_store_search of = {.limit = 10};
	assert_int_equal(phx_store_search(reader, &of, note, &stop, &err), 9);
	assert_string_equal(seen, "5 ");
}

static void first_of(int64_t time_ms, uint64_t want)
{
	uint64_t seq = 77;
	assert_int_equal(phx_store_search_time(reader, time_ms, &seq, &err), 0);
	assert_int_equal(seq, want);
}

/* Times are 0 1 1 2 2 seconds. */
static void a_time_has_its_first_event(void **state)
{
	(void)state;
	some();
	first_of(-5, 1);
	first_of(0, 1);
	first_of(1, 2);
	first_of(1000, 2);
	first_of(1001, 4);
	first_of(2000, 4);
	first_of(2001, 6);
}

/* Of one that noted nobody yet all are looked at, and the caller picks. */
static void a_journal_of_before_is_searched_too(void **state)
{
	sqlite3 *db = NULL;
	(void)state;
	some();
	phx_store_reader_close(PHX_TAKE(reader));
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "DROP TABLE unsaid_by; DELETE FROM about WHERE name LIKE "
				      "'@%'; DROP INDEX events_by_kind; PRAGMA user_version=5",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	reopen();
	append("assign", "n3", NULL, "uid:7");
	assert_int_equal(phx_store_reader_open(path, &reader, &err), 0);
	are((struct phx_store_search){.who = "uid:7"}, "6 5 4 3 2 1 ");
	are((struct phx_store_search){.who = "uid:7", .kind = "assign"}, "6 4 1 ");
	are((struct phx_store_search){.who = "uid:7", .after = 5}, "6 ");
	are((struct phx_store_search){.name = "web"}, "5 1 ");
}

/* A file that was made anew has lost who caused what was before: all of that is looked at. */
static void one_that_was_made_anew_is_searched_too(void **state)
{
	(void)state;
	some();
	phx_store_reader_close(PHX_TAKE(reader));
	assert_int_equal(phx_store_rebuild(store, 5, "{}", &err), 0);
	append("assign", "n3", NULL, "uid:7");
	assert_int_equal(phx_store_reader_open(path, &reader, &err), 0);
	are((struct phx_store_search){.who = "uid:7"}, "6 5 4 3 2 1 ");
	are((struct phx_store_search){.who = "uid:7", .after = 5}, "6 ");
}

/* Each of them goes by an index: none looks at what is not asked for. */
static void none_goes_through_the_whole_journal(void **state)
{
	sqlite3 *db = NULL;
	(void)state;
	some();
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (size_t i = 0; i < PHX_SEARCH_WAYS; i++) {
		char text[900];
		sqlite3_stmt *st = NULL;
		snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", phx_store_search_sql[i]);
		assert_int_equal(sqlite3_prepare_v2(db, text, -1, &st, NULL), SQLITE_OK);
		while (sqlite3_step(st) == SQLITE_ROW) {
			const char *step = (const char *)sqlite3_column_text(st, 3);
			if (strstr(step, "SCAN events") || strstr(step, "SCAN about") ||
			    strstr(step, "TEMP B-TREE FOR ORDER BY"))
				fail_msg("%s: %s", phx_store_search_sql[i], step);
		}
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_way_to_ask_finds_its_own),       T(who_is_told_may_end_it),
		T(a_time_has_its_first_event),          T(a_journal_of_before_is_searched_too),
		T(none_goes_through_the_whole_journal), T(one_that_was_made_anew_is_searched_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
