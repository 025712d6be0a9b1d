/* Attestations in the journal's database: each way to ask finds its own, the newest first, a
 * portion after the other; none goes with the events, and one that was altered is found at the
 * start. */
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
#include "base/tree.h"
#include "store/store.h"

static char dir[64], path[96], seen[200];
static struct phx_store *store;
static struct phx_err err;

static void reopen(void)
{
	phx_store_close(PHX_TAKE(store));
	phx_err_clear(&err);
	assert_int_equal(phx_store_open(path, &store, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-attested.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	reopen();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_store_close(PHX_TAKE(store));
	return phx_dir_remove(dir, NULL);
}

static void meddle(const char *sql)
{
	sqlite3 *db = NULL;
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	reopen();
}

static void append(uint64_t id, const char *node, const char *from, const char *to)
{
	char text[40];
	snprintf(text, sizeof(text), "document %d", (int)id);
	struct phx_store_row row = {
		.event = {phx_store_last(store) + 1, 1000, "tick", node, "{}", "[]"},
		.attestation = {id, 1000 + (int64_t)id, node, from, to, text}};
	assert_int_equal(phx_store_append(store, &row, 1, &err), 0);
}

static void some(void)
{
	append(10, "n1", "hpc", "web");
	append(20, "n2", "web", "");
	append(30, "n1", "web", "hpc");
	append(40, "n3", "hpc", "hpc");
}

static int note(void *arg, const struct phx_store_attestation *a)
{
	char text[40];
	size_t n = strlen(seen);
	snprintf(text, sizeof(text), "document %d", (int)a->id);
	assert_string_equal(a->text, text);
	assert_int_equal(a->time_ms, 1000 + (int64_t)a->id);
	snprintf(seen + n, sizeof(seen) - n, "%d ", (int)a->id);
	return *(int *)arg;
}

static void are(struct phx_store_attestations of, const char *want)
{
	int go_on = 0;
	seen[0] = '\0';
	assert_int_equal(phx_store_attestations(store, &of, note, &go_on, &err), 0);
	assert_string_equal(seen, want);
}

static void each_way_to_ask_finds_its_own(void **state)
{
	int stop = 7;
	(void)state;
	some();
	are((struct phx_store_attestations){0}, "40 30 20 10 ");
	are((struct phx_store_attestations){.limit = 2}, "40 30 ");
	are((struct phx_store_attestations){.before = 30}, "20 10 ");
	are((struct phx_store_attestations){.node = "n1"}, "30 10 ");
	are((struct phx_store_attestations){.node = "n1", .limit = 1}, "30 ");
	are((struct phx_store_attestations){.node = "n4"}, "");
	are((struct phx_store_attestations){.owner = "hpc"}, "40 30 10 ");
	are((struct phx_store_attestations){.owner = "web", .limit = 2}, "30 20 ");
	are((struct phx_store_attestations){.owner = "web", .before = 20}, "10 ");
	are((struct phx_store_attestations){.owner = "games"}, "");
	seen[0] = '\0';
	assert_int_equal(phx_store_attestations(store, &(struct phx_store_attestations){0}, note,
						&stop, &err),
			 7);
	assert_string_equal(seen, "40 ");
}

static int is_first(void *arg, const struct phx_store_attestation *a)
{
	(void)arg;
	assert_string_equal(a->text, "document 10");
	return 0;
}

static void they_last(void **state)
{
	struct phx_store_findings found;
	(void)state;
	some();
	reopen();
	assert_int_equal(phx_store_verify(store, &found, &err), 0);
	assert_int_equal(phx_store_snapshot(store, 3, "{}", &err), 0);
	assert_int_equal(phx_store_snapshot(store, 4, "{}", &err), 0);
	assert_true(phx_store_prune(store, INT64_MAX, &err) > 0);
	are((struct phx_store_attestations){0}, "40 30 20 10 ");
	assert_int_equal(phx_store_rebuild(store, 4, "{}", &err), 0);
	are((struct phx_store_attestations){.owner = "hpc"}, "40 30 10 ");
}

/* Which step it is of names it: there is one, and the first one stays. One that cannot be written
 * is not acknowledged. */
static void it_is_written_once_or_that_is_told(void **state)
{
	struct phx_store_row row = {.event = {2, 1000, "tick", "n1", "{}", "[]"},
				    .attestation = {10, 2000, "n1", "hpc", "web", "another"}};
	(void)state;
	append(10, "n1", "hpc", "web");
	assert_int_equal(phx_store_append(store, &row, 1, &err), 0);
	are((struct phx_store_attestations){0}, "10 ");
	assert_int_equal(phx_store_attestations(store, &(struct phx_store_attestations){0},
						is_first, NULL, &err),
			 0);
	meddle("CREATE TRIGGER full BEFORE INSERT ON attestations BEGIN SELECT RAISE(ABORT, "
	       "'full'); END");
	row.event.seq = 3;
	row.attestation.id = 11;
	assert_true(phx_store_append(store, &row, 1, &err) < 0);
	assert_int_equal(phx_store_last(store), 2);
}

static void one_that_was_altered_is_found(void **state)
{
	static const char *const alter[] = {
		"UPDATE attestations SET text='document 21' WHERE id=20",
		"UPDATE attestations SET node='n3' WHERE id=20",
		"UPDATE attestations SET from_owner='games' WHERE id=20",
		"UPDATE attestations SET to_owner='games' WHERE id=20",
		"UPDATE attestations SET time_ms=7 WHERE id=20",
		"UPDATE attestations SET text=CAST(text AS BLOB) WHERE id=20",
	};
	struct phx_store_findings found;
	uint64_t missing;
	(void)state;
	some();
	for (size_t i = 0; i < PHX_ARRAY_SIZE(alter); i++) {
		meddle("CREATE TABLE kept AS SELECT * FROM attestations");
		meddle(alter[i]);
		assert_int_equal(phx_store_verify(store, &found, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "attestation 20 is not as it was written"));
		meddle("DELETE FROM attestations; INSERT INTO attestations SELECT * FROM kept;"
		       "DROP TABLE kept");
		assert_int_equal(phx_store_verify(store, &found, &err), 0);
	}
	meddle(alter[1]);
	assert_int_equal(phx_store_accept(store, &missing, &err), 0);
	assert_int_equal(phx_store_verify(store, &found, &err), 0);
}

/* A journal of before: it gets what it lacks. */
static void a_journal_of_before_takes_them(void **state)
{
	(void)state;
	meddle("DROP TABLE attestations; DROP TABLE unsaid_by; PRAGMA user_version=4");
	some();
	are((struct phx_store_attestations){.node = "n1"}, "30 10 ");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_way_to_ask_finds_its_own),      T(they_last),
		T(it_is_written_once_or_that_is_told), T(one_that_was_altered_is_found),
		T(a_journal_of_before_takes_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
