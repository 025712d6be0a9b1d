/* What is kept of pools over time: each level says the same of the same time, nothing is counted
 * twice or lost over a crash, and it stays within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/tree.h"
#include "series/series.h"

enum { MINUTE = 60000, HOUR = 60 * MINUTE, DAY = 24 * HOUR };
#define T0 (INT64_C(20000) * DAY)

static char dir[64], path[96], seen[400];
static struct phx_series *series;
static struct phx_err err;

static void reopen(void)
{
	phx_series_close(PHX_TAKE(series));
	phx_err_clear(&err);
	assert_int_equal(phx_series_open(path, &series, &err), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-series.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/timeline.db", dir);
	reopen();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	phx_series_close(PHX_TAKE(series));
	return phx_dir_remove(dir, NULL);
}

static void begin(void)
{
	assert_int_equal(phx_series_begin(series, &err), 0);
}

static void commit(uint64_t seq)
{
	assert_int_equal(phx_series_commit(series, "j", seq, &err), 0);
}

static void last(const char *pool, int64_t from, int64_t until, int64_t nodes)
{
	int64_t values[PHX_SERIES_QUANTITIES] = {[PHX_SERIES_Q_nodes] = nodes};
	assert_int_equal(phx_series_lasted(series, pool, from, until, values, &err), 0);
}

static void kill_one(const char *pool, int64_t at)
{
	int64_t values[PHX_SERIES_QUANTITIES] = {[PHX_SERIES_Q_kills] = 1};
	assert_int_equal(phx_series_happened(series, pool, at, values, &err), 0);
}

/* All rows of a level, added up. */
struct total {
	uint32_t n;
	int64_t covered, nodes, most, kills, before;
};

static int add_up(void *arg, const struct phx_series_row *row)
{
	struct total *t = arg;
	assert_true(row->at_ms >= t->before);
	t->before = row->at_ms;
	t->n++;
	t->covered += row->covered_ms;
	t->nodes += row->sum[PHX_SERIES_Q_nodes];
	t->kills += row->sum[PHX_SERIES_Q_kills];
	if (row->most[PHX_SERIES_Q_nodes] > t->most)
		t->most = row->most[PHX_SERIES_Q_nodes];
	return 0;
}

static struct total total(int level, int64_t from, int64_t until)
{
	struct phx_series_reader *r = NULL;
	struct total t = {0};
	assert_int_equal(phx_series_reader_open(path, &r, &err), 0);
	assert_int_equal(phx_series_rows(r, (enum phx_series_level)level, from, until, 1000000,
					 add_up, &t, &err),
			 0);
	phx_series_reader_close(r);
	return t;
}

static void each_level_says_the_same(void **state)
{
	struct phx_rng rng = {7};
	int64_t at = T0 + 12345, sum = 0, most = 0;
	(void)state;
	begin();
	for (int i = 0; i < 400; i++) {
		int64_t until = at + 1 + (int64_t)(phx_rng_next(&rng) % (3 * MINUTE));
		int64_t nodes = (int64_t)(phx_rng_next(&rng) % 9);
		last("hpc", at, until, nodes);
		if (i % 7 == 0)
			kill_one("hpc", at);
		sum += nodes * (until - at);
		most = nodes > most ? nodes : most;
		at = until;
	}
	commit(1);
	for (int level = 0; level < PHX_SERIES_LEVELS; level++) {
		struct total t = total(level, 0, INT64_MAX);
		assert_int_equal(t.covered, at - T0 - 12345);
		assert_int_equal(t.nodes, sum);
		assert_int_equal(t.most, most);
		assert_int_equal(t.kills, 58);
	}
	assert_int_equal(total(PHX_SERIES_hour, 0, INT64_MAX).n,
			 (at - 1) / HOUR - (T0 + 12345) / HOUR + 1);
}

/* Half an hour of which it was known is no hour of half as many. */
static int check_mean(void *arg, const struct phx_series_row *row)
{
	assert_true(phx_series_value(row, PHX_SERIES_Q_nodes) == *(double *)arg);
	assert_true(phx_series_value(row, PHX_SERIES_Q_use) == -1);
	return 7;
}

static void a_mean_is_over_what_is_known(void **state)
{
	struct phx_series_reader *r = NULL;
	double mean = 4;
	(void)state;
	begin();
	last("hpc", T0 + 30 * MINUTE, T0 + 45 * MINUTE, 3);
	last("hpc", T0 + 45 * MINUTE, T0 + HOUR, 5);
	commit(1);
	assert_int_equal(phx_series_reader_open(path, &r, &err), 0);
	assert_int_equal(
		phx_series_rows(r, PHX_SERIES_hour, T0, T0 + HOUR, 10, check_mean, &mean, &err), 7);
	phx_series_reader_close(r);
}

static void rows_of_a_time_are_those_that_touch_it(void **state)
{
	(void)state;
	begin();
	last("hpc", T0, T0 + 10 * MINUTE, 3);
	commit(1);
	assert_int_equal(total(PHX_SERIES_moment, T0, T0 + 10 * MINUTE).n, 10);
	assert_int_equal(total(PHX_SERIES_minute, T0 + 90000, T0 + 150000).n, 2);
	assert_int_equal(total(PHX_SERIES_day, T0 + 5 * MINUTE, T0 + 6 * MINUTE).n, 1);
	assert_int_equal(total(PHX_SERIES_minute, T0 + 11 * MINUTE, T0 + HOUR).n, 0);
}

static void the_level_fits_what_is_looked_at(void **state)
{
	int64_t now = T0 + 1000 * (int64_t)DAY;
	(void)state;
	assert_int_equal(phx_series_level_for(now - MINUTE, now, now, 600), PHX_SERIES_moment);
	assert_int_equal(phx_series_level_for(now - HOUR, now, now, 600), PHX_SERIES_minute);
	assert_int_equal(phx_series_level_for(now - 20 * (int64_t)DAY, now, now, 600),
			 PHX_SERIES_hour);
	assert_int_equal(phx_series_level_for(now - 365 * (int64_t)DAY, now, now, 600),
			 PHX_SERIES_day);
	/* a minute of last week is not kept by moments any more, one of last year only by days */
	assert_int_equal(phx_series_level_for(now - 7 * (int64_t)DAY,
					      now - 7 * (int64_t)DAY + MINUTE, now, 600),
			 PHX_SERIES_minute);
	assert_int_equal(phx_series_level_for(now - 900 * (int64_t)DAY,
					      now - 900 * (int64_t)DAY + HOUR, now, 600),
			 PHX_SERIES_day);
}

/* ---- who had what ---- */

static void hold(const char *node, const char *pool, int64_t at)
{
	assert_int_equal(phx_series_hold(series, node, pool, at, &err), 0);
}

static int note_holding(void *arg, const struct phx_series_holding *h)
{
	size_t n = strlen(seen);
	(void)arg;
	snprintf(seen + n, sizeof(seen) - n, "%s:%s:%d-%d ", h->node, h->pool,
		 (int)(h->from_ms - T0), h->until_ms == INT64_MAX ? -1 : (int)(h->until_ms - T0));
	return 0;
}

static void held(int64_t from, int64_t until, const char *after, uint32_t limit, const char *want)
{
	struct phx_series_reader *r = NULL;
	seen[0] = '\0';
	assert_int_equal(phx_series_reader_open(path, &r, &err), 0);
	assert_int_equal(
		phx_series_holdings(r, from, until, after, limit, note_holding, NULL, &err), 0);
	phx_series_reader_close(r);
	assert_string_equal(seen, want);
}

static void who_had_a_node_is_known(void **state)
{
	(void)state;
	begin();
	hold("n1", "free", T0);
	hold("n1", "free", T0 + 5);
	hold("n2", "hpc", T0 + 3);
	hold("n1", "hpc", T0 + 10);
	hold("n1", "", T0 + 20);
	hold("n1", "web", T0 + 30);
	commit(1);
	held(T0, T0 + 100, "", 100, "n1:free:0-10 n1:hpc:10-20 n1:web:30--1 n2:hpc:3--1 ");
	held(T0 + 21, T0 + 29, "", 100, "n2:hpc:3--1 ");
	held(T0, T0 + 3, "", 100, "n1:free:0-10 ");
	held(T0, T0 + 100, "n1", 100, "n2:hpc:3--1 ");
	held(T0, T0 + 100, "", 2, "n1:free:0-10 n1:hpc:10-20 ");
	seen[0] = '\0';
	assert_int_equal(phx_series_held(series, note_holding, NULL, &err), 0);
	assert_string_equal(seen, "n1:web:30--1 n2:hpc:3--1 ");
}

/* ---- what a crash leaves ---- */

static int note_mark(void *arg, const struct phx_series_mark *m)
{
	size_t n = strlen(seen);
	(void)arg;
	snprintf(seen + n, sizeof(seen) - n, "%d:%s:%s ", (int)m->seq, m->pool, m->text);
	return 0;
}

static void mark(uint64_t seq, const char *text)
{
	struct phx_series_mark m = {.seq = seq, .at_ms = T0 + (int64_t)seq, .pool = "hpc"};
	PHX_STR_SET(m.text, text);
	assert_int_equal(phx_series_mark(series, &m, &err), 0);
}

static void marked(const char *want)
{
	struct phx_series_reader *r = NULL;
	seen[0] = '\0';
	assert_int_equal(phx_series_reader_open(path, &r, &err), 0);
	assert_int_equal(phx_series_marks(r, T0, T0 + DAY, 10, note_mark, NULL, &err), 0);
	phx_series_reader_close(r);
	assert_string_equal(seen, want);
}

static void what_was_committed_lasts_and_no_more(void **state)
{
	(void)state;
	phx_series_close(PHX_TAKE(series));
	pid_t pid = fork();
	if (pid == 0) {
		reopen();
		begin();
		last("hpc", T0, T0 + HOUR, 3);
		mark(5, "one");
		mark(5, "two");
		commit(5);
		begin();
		last("hpc", T0 + HOUR, T0 + 2 * HOUR, 3);
		mark(6, "lost");
		_exit(0); /* as killed */
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	reopen();
	assert_int_equal(phx_series_told(series, "j"), 5);
	assert_int_equal(phx_series_told(series, "another"), 0);
	marked("5:hpc:two 5:hpc:one "); /* the newest first */
	for (int level = 0; level < PHX_SERIES_LEVELS; level++)
		assert_int_equal(total(level, 0, INT64_MAX).covered, HOUR);
	/* and a row that is not full is added to */
	begin();
	last("hpc", T0 + HOUR, T0 + 2 * HOUR, 3);
	commit(6);
	assert_int_equal(total(PHX_SERIES_day, 0, INT64_MAX).n, 1);
	assert_int_equal(total(PHX_SERIES_day, 0, INT64_MAX).covered, 2 * HOUR);
}

static void what_is_undone_was_not(void **state)
{
	(void)state;
	begin();
	last("hpc", T0, T0 + HOUR, 3);
	hold("n1", "hpc", T0);
	phx_series_undo(series);
	begin();
	commit(1);
	assert_int_equal(total(PHX_SERIES_hour, 0, INT64_MAX).n, 0);
	held(T0, T0 + 100, "", 100, "");
}

/* ---- bounds, older databases, damage ---- */

static void what_is_old_goes(void **state)
{
	int64_t now = T0 + 40 * (int64_t)DAY;
	(void)state;
	begin();
	for (int day = 0; day < 40; day++)
		last("hpc", T0 + day * (int64_t)DAY, T0 + day * (int64_t)DAY + 2 * MINUTE, 1);
	hold("n1", "hpc", T0);
	hold("n1", "web", T0 + 1);
	commit(1);
	assert_int_equal(phx_series_prune(series, now, 1000000, &err), 0);
	assert_int_equal(total(PHX_SERIES_moment, 0, INT64_MAX).n, 2);
	assert_int_equal(total(PHX_SERIES_minute, 0, INT64_MAX).n, 31 * 2);
	assert_int_equal(total(PHX_SERIES_hour, 0, INT64_MAX).n, 40);
	assert_int_equal(phx_series_prune(series, now, 10, &err), 0);
	assert_int_equal(total(PHX_SERIES_minute, 0, INT64_MAX).n, 10);
	assert_int_equal(total(PHX_SERIES_day, 0, INT64_MAX).n, 10);
	assert_int_equal(phx_series_prune(series, now + 900 * (int64_t)DAY, 10, &err), 0);
	assert_int_equal(total(PHX_SERIES_hour, 0, INT64_MAX).n, 0);
	assert_int_equal(total(PHX_SERIES_day, 0, INT64_MAX).n, 10);
	held(0, INT64_MAX, "", 9, "n1:web:1--1 ");
}

static void meddle(const char *sql)
{
	sqlite3 *db = NULL;
	phx_series_close(PHX_TAKE(series));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void one_of_before_gets_what_it_lacks(void **state)
{
	(void)state;
	begin();
	last("hpc", T0, T0 + HOUR, 3);
	commit(1);
	meddle("ALTER TABLE hour DROP COLUMN demand; ALTER TABLE hour DROP COLUMN kills;"
	       "ALTER TABLE hour DROP COLUMN running_most; DROP TABLE day");
	reopen();
	begin();
	last("hpc", T0 + HOUR, T0 + 2 * HOUR, 3);
	kill_one("hpc", T0);
	commit(2);
	assert_int_equal(total(PHX_SERIES_hour, 0, INT64_MAX).covered, 2 * HOUR);
	assert_int_equal(total(PHX_SERIES_hour, 0, INT64_MAX).kills, 1);
	assert_int_equal(total(PHX_SERIES_day, 0, INT64_MAX).covered, HOUR);
}

static void damage_is_told(void **state)
{
	struct phx_series *other = NULL;
	(void)state;
	phx_series_close(PHX_TAKE(series));
	assert_int_equal(phx_file_write(path, "this is no database, and long enough to be one", 46,
					0600, &err),
			 0);
	assert_int_equal(phx_series_open(path, &other, &err), -EBADMSG);
	assert_non_null(strstr(err.text, path));
	assert_null(other);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_level_says_the_same),
		T(a_mean_is_over_what_is_known),
		T(rows_of_a_time_are_those_that_touch_it),
		T(the_level_fits_what_is_looked_at),
		T(who_had_a_node_is_known),
		T(what_was_committed_lasts_and_no_more),
		T(what_is_undone_was_not),
		T(what_is_old_goes),
		T(one_of_before_gets_what_it_lacks),
		T(damage_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
