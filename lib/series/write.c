/* The one who writes: see series.h. Called by the thread of the daemon that follows the journal.
 * Measures nothing. */
#include "series/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum statement { MARK, HELD_BY, END, HOLD, UNTELL, TELL, STATEMENTS };

static const char *const texts[STATEMENTS] = {
	[MARK] = "INSERT INTO marks(seq,n,at,pool,node,text) VALUES(?1,(SELECT COUNT(*) FROM marks "
		 "WHERE "
		 "seq=?1),?2,?3,?4,?5)",
	/* the last of a node is the one that may still hold it */
	[HELD_BY] =
		"SELECT pool,until,since FROM holdings WHERE node=?1 ORDER BY since DESC LIMIT 1",
	[END] = "UPDATE holdings SET until=?3 WHERE node=?1 AND since=?2",
	[HOLD] = "INSERT OR REPLACE INTO holdings(node,since,until,pool) "
		 "VALUES(?1,?2,9223372036854775807,"
		 "?3)",
	[UNTELL] = "DELETE FROM told",
	[TELL] = "INSERT INTO told(journal,seq) VALUES(?1,?2)",
};

struct phx_series {
	sqlite3 *db;
	sqlite3_stmt *put[PHX_SERIES_LEVELS], *st[STATEMENTS];
	char journal[PHX_NAME_MAX];
	uint64_t told;
};

static void read_told(struct phx_series *s)
{
	sqlite3_stmt *st = NULL;
	if (series_prepare(s->db, "SELECT journal,seq FROM told", &st, NULL) == 0 &&
	    sqlite3_step(st) == SQLITE_ROW) {
		PHX_STR_SET(s->journal, (const char *)sqlite3_column_text(st, 0));
		s->told = (uint64_t)sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
}

/* Only owner and group may know who had what; SQLite gives what it makes beside it the same
 * mode. */
static void make_private(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd >= 0)
		close(fd);
}

/* A commit is not synced, and a checkpoint is: it waits for no disk, and nothing tears. */
static int begin(struct phx_series *s, const char *path, struct phx_err *err)
{
	make_private(path);
	int rc = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return series_failed(s->db, rc, err);
	sqlite3_busy_timeout(s->db, 5000);
	int r = series_execute(s->db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", err);
	r = r ? r : series_make_tables(s->db, err);
	for (int i = 0; r == 0 && i < PHX_SERIES_LEVELS; i++)
		r = series_prepare_put(s->db, (enum phx_series_level)i, &s->put[i], err);
	for (int i = 0; r == 0 && i < STATEMENTS; i++)
		r = series_prepare(s->db, texts[i], &s->st[i], err);
	return r;
}

int phx_series_open(const char *path, struct phx_series **ret, struct phx_err *err)
{
	struct phx_series *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	int r = begin(s, path, err);
	if (r < 0) {
		phx_series_close(s);
		return phx_err_prefix(err, r, "%s", path);
	}
	read_told(s);
	*ret = s;
	return 0;
}

void phx_series_close(struct phx_series *s)
{
	if (!s)
		return;
	for (int i = 0; i < PHX_SERIES_LEVELS; i++)
		sqlite3_finalize(s->put[i]);
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->st[i]);
	sqlite3_close(s->db);
	free(s);
}

uint64_t phx_series_told(const struct phx_series *s, const char *journal)
{
	return strcmp(s->journal, journal) ? 0 : s->told;
}

int phx_series_begin(struct phx_series *s, struct phx_err *err)
{
	return series_execute(s->db, "BEGIN IMMEDIATE", err);
}

static int done(struct phx_series *s, sqlite3_stmt *st, struct phx_err *err)
{
	int rc = sqlite3_step(st);
	int r = rc == SQLITE_DONE ? 0 : series_failed(s->db, rc, err);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return r;
}

static void bind(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

/* ---- rows ---- */

static int put(struct phx_series *s, enum phx_series_level level, const struct phx_series_row *row,
	       struct phx_err *err)
{
	sqlite3_stmt *st = s->put[level];
	int at = 4;
	bind(st, 1, row->pool);
	sqlite3_bind_int64(st, 2, row->at_ms);
	sqlite3_bind_int64(st, 3, row->covered_ms);
	for (size_t i = 0; i < PHX_SERIES_QUANTITIES; i++) {
		sqlite3_bind_int64(st, at++, row->sum[i]);
		if (phx_series_quantities[i].lasts)
			sqlite3_bind_int64(st, at++, row->most[i]);
	}
	return done(s, st, err);
}

void phx_series_weigh(struct phx_series_row *row, const int64_t values[PHX_SERIES_QUANTITIES])
{
	for (size_t i = 0; i < PHX_SERIES_QUANTITIES; i++) {
		bool lasts = phx_series_quantities[i].lasts;
		row->sum[i] = lasts ? values[i] * row->covered_ms : 0;
		row->most[i] = lasts ? values[i] : 0;
	}
}

/* A piece for each row of the level that the time touches: the finest has the time itself, cut
 * where a minute ends. */
static int put_pieces(struct phx_series *s, enum phx_series_level level, struct phx_series_row *row,
		      int64_t from_ms, int64_t until_ms, const int64_t *values, struct phx_err *err)
{
	int64_t step_ms = phx_series_step_ms(level);
	int r = 0;
	while (r == 0 && from_ms < until_ms) {
		int64_t begin_ms = from_ms - from_ms % step_ms, end_ms = begin_ms + step_ms;
		end_ms = end_ms < until_ms ? end_ms : until_ms;
		row->at_ms = series_levels[level].step_ms ? begin_ms : from_ms;
		row->covered_ms = end_ms - from_ms;
		phx_series_weigh(row, values);
		r = put(s, level, row, err);
		from_ms = end_ms;
	}
	return r;
}

int phx_series_lasted(struct phx_series *s, const char *pool, int64_t from_ms, int64_t until_ms,
		      const int64_t values[PHX_SERIES_QUANTITIES], struct phx_err *err)
{
	struct phx_series_row row = {0};
	int r = 0;
	PHX_STR_SET(row.pool, pool);
	for (int i = 0; r == 0 && i < PHX_SERIES_LEVELS; i++)
		r = put_pieces(s, (enum phx_series_level)i, &row, from_ms, until_ms, values, err);
	return r;
}

int phx_series_happened(struct phx_series *s, const char *pool, int64_t at_ms,
			const int64_t values[PHX_SERIES_QUANTITIES], struct phx_err *err)
{
	struct phx_series_row row = {0};
	int r = 0;
	PHX_STR_SET(row.pool, pool);
	for (size_t i = 0; i < PHX_SERIES_QUANTITIES; i++)
		row.sum[i] = phx_series_quantities[i].lasts ? 0 : values[i];
	for (int i = 0; r == 0 && i < PHX_SERIES_LEVELS; i++) {
		int64_t step_ms = series_levels[i].step_ms;
		row.at_ms = step_ms ? at_ms - at_ms % step_ms : at_ms;
		r = put(s, (enum phx_series_level)i, &row, err);
	}
	return r;
}

/* ---- marks and holdings ---- */

int phx_series_mark(struct phx_series *s, const struct phx_series_mark *m, struct phx_err *err)
{
	sqlite3_stmt *st = s->st[MARK];
	sqlite3_bind_int64(st, 1, (sqlite3_int64)m->seq);
	sqlite3_bind_int64(st, 2, m->at_ms);
	bind(st, 3, m->pool);
	bind(st, 4, m->node);
	bind(st, 5, m->text);
	return done(s, st, err);
}

/* Who holds the node; *ret_since_ms 0: nobody. */
static int held_by(struct phx_series *s, const char *node, char ret_pool[PHX_NAME_MAX],
		   int64_t *ret_since_ms, struct phx_err *err)
{
	sqlite3_stmt *st = s->st[HELD_BY];
	ret_pool[0] = '\0';
	*ret_since_ms = 0;
	bind(st, 1, node);
	int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && sqlite3_column_int64(st, 1) == INT64_MAX) {
		phx_str_copy(ret_pool, PHX_NAME_MAX, (const char *)sqlite3_column_text(st, 0));
		*ret_since_ms = sqlite3_column_int64(st, 2);
	}
	int r = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : series_failed(s->db, rc, err);
	sqlite3_reset(st);
	return r;
}

static int end_holding(struct phx_series *s, const char *node, int64_t since_ms, int64_t at_ms,
		       struct phx_err *err)
{
	bind(s->st[END], 1, node);
	sqlite3_bind_int64(s->st[END], 2, since_ms);
	sqlite3_bind_int64(s->st[END], 3, at_ms);
	return done(s, s->st[END], err);
}

int phx_series_hold(struct phx_series *s, const char *node, const char *pool, int64_t at_ms,
		    struct phx_err *err)
{
	char before[PHX_NAME_MAX];
	int64_t since_ms;
	int r = held_by(s, node, before, &since_ms, err);
	if (r < 0 || !strcmp(before, pool))
		return r;
	if (since_ms)
		r = end_holding(s, node, since_ms, at_ms, err);
	if (r < 0 || !pool[0])
		return r;
	bind(s->st[HOLD], 1, node);
	sqlite3_bind_int64(s->st[HOLD], 2, at_ms);
	bind(s->st[HOLD], 3, pool);
	return done(s, s->st[HOLD], err);
}

int phx_series_held(struct phx_series *s, phx_series_holding_fn fn, void *arg, struct phx_err *err)
{
	static const char text[] = "SELECT node,since,until,pool FROM holdings WHERE "
				   "until=9223372036854775807";
	sqlite3_stmt *st = NULL;
	struct phx_series_holding h;
	int rc = SQLITE_DONE, r = series_prepare(s->db, text, &st, err);
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		series_read_holding(st, &h);
		r = fn(arg, &h);
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = series_failed(s->db, rc, err);
	sqlite3_finalize(st);
	return r;
}

/* ---- the end of a transaction ---- */

void phx_series_undo(struct phx_series *s)
{
	series_execute(s->db, "ROLLBACK", NULL);
}

int phx_series_commit(struct phx_series *s, const char *journal, uint64_t seq, struct phx_err *err)
{
	int r = done(s, s->st[UNTELL], err);
	bind(s->st[TELL], 1, journal);
	sqlite3_bind_int64(s->st[TELL], 2, (sqlite3_int64)seq);
	r = r ? r : done(s, s->st[TELL], err);
	r = r ? r : series_execute(s->db, "COMMIT", err);
	if (r < 0) {
		phx_series_undo(s);
		return r;
	}
	PHX_STR_SET(s->journal, journal);
	s->told = seq;
	return 0;
}

/* ---- what goes ---- */

static int forget(struct phx_series *s, const char *sql, int64_t a, int64_t b, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = series_prepare(s->db, sql, &st, err);
	if (r == 0) {
		sqlite3_bind_int64(st, 1, a);
		sqlite3_bind_int64(st, 2, b);
		r = done(s, st, err);
	}
	sqlite3_finalize(st);
	return r;
}

static int prune_level(struct phx_series *s, const struct series_level *l, int64_t now_ms,
		       uint32_t rows_max, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(
		&b,
		"DELETE FROM %s WHERE at<?1 OR at<=COALESCE((SELECT at FROM %s ORDER BY at DESC "
		"LIMIT 1 OFFSET ?2),-1)",
		l->name, l->name);
	return b.failed ? -ENOMEM
			: forget(s, b.data, now_ms - l->days * SERIES_DAY_MS, rows_max, err);
}

int phx_series_prune(struct phx_series *s, int64_t now_ms, uint32_t rows_max, struct phx_err *err)
{
	static const char marks[] = "DELETE FROM marks WHERE at<?1 OR at<=COALESCE((SELECT at FROM "
				    "marks ORDER BY at DESC LIMIT 1 OFFSET ?2),-1)";
	static const char ended[] =
		"DELETE FROM holdings WHERE until<9223372036854775807 AND (until<?1 OR "
		"until<=COALESCE((SELECT until FROM holdings WHERE until<9223372036854775807 ORDER "
		"BY until DESC LIMIT 1 OFFSET ?2),-1))";
	int64_t before_ms = now_ms - series_levels[PHX_SERIES_hour].days * SERIES_DAY_MS;
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_SERIES_LEVELS; i++)
		r = prune_level(s, &series_levels[i], now_ms, rows_max, err);
	r = r ? r : forget(s, marks, before_ms, rows_max, err);
	return r ? r : forget(s, ended, before_ms, rows_max, err);
}
