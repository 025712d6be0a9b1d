/* Those who read: see series.h. Called by the daemon's threads that answer clients; in WAL mode
 * they hold up nobody, and see what was committed when they began. */
#include "series/internal.h"

#include <errno.h>

struct phx_series_reader {
	sqlite3 *db;
};

int phx_series_reader_open(const char *path, struct phx_series_reader **ret, struct phx_err *err)
{
	struct phx_series_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	int rc = sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	sqlite3_busy_timeout(r->db, 5000);
	if (rc != SQLITE_OK) {
		int code = series_failed(r->db, rc, err);
		phx_series_reader_close(r);
		return phx_err_prefix(err, code, "%s", path);
	}
	*ret = r;
	return 0;
}

void phx_series_reader_close(struct phx_series_reader *r)
{
	if (!r)
		return;
	sqlite3_close(r->db);
	free(r);
}

static void text(sqlite3_stmt *st, int at, char *dst, size_t size)
{
	phx_str_copy(dst, size, (const char *)sqlite3_column_text(st, at));
}

static void read_row(sqlite3_stmt *st, struct phx_series_row *ret)
{
	int at = 3;
	*ret = (struct phx_series_row){.at_ms = sqlite3_column_int64(st, 1),
				       .covered_ms = sqlite3_column_int64(st, 2)};
	text(st, 0, ret->pool, sizeof(ret->pool));
	for (size_t i = 0; i < PHX_SERIES_QUANTITIES; i++) {
		ret->sum[i] = sqlite3_column_int64(st, at++);
		if (phx_series_quantities[i].lasts)
			ret->most[i] = sqlite3_column_int64(st, at++);
	}
}

static void read_mark(sqlite3_stmt *st, struct phx_series_mark *ret)
{
	*ret = (struct phx_series_mark){.seq = (uint64_t)sqlite3_column_int64(st, 0),
					.at_ms = sqlite3_column_int64(st, 1)};
	text(st, 2, ret->pool, sizeof(ret->pool));
	text(st, 3, ret->node, sizeof(ret->node));
	text(st, 4, ret->text, sizeof(ret->text));
}

/* A walk: the statement, bound, and who is told of each row. */
struct walk {
	struct phx_series_reader *reader;
	sqlite3_stmt *st;
	union {
		phx_series_row_fn row;
		phx_series_mark_fn mark;
		phx_series_holding_fn holding;
	} fn;
	void *arg;
};

static int tell_row(const struct walk *w)
{
	struct phx_series_row row;
	read_row(w->st, &row);
	return w->fn.row(w->arg, &row);
}

static int tell_mark(const struct walk *w)
{
	struct phx_series_mark m;
	read_mark(w->st, &m);
	return w->fn.mark(w->arg, &m);
}

static int tell_holding(const struct walk *w)
{
	struct phx_series_holding h;
	series_read_holding(w->st, &h);
	return w->fn.holding(w->arg, &h);
}

static int go(struct walk *w, int (*tell)(const struct walk *w), struct phx_err *err)
{
	int rc = SQLITE_DONE, r = 0;
	while (r == 0 && (rc = sqlite3_step(w->st)) == SQLITE_ROW)
		r = tell(w);
	if (r == 0 && rc != SQLITE_DONE)
		r = series_failed(w->reader->db, rc, err);
	sqlite3_finalize(w->st);
	return r;
}

int phx_series_rows(struct phx_series_reader *r, enum phx_series_level level, int64_t from_ms,
		    int64_t until_ms, uint32_t limit, phx_series_row_fn fn, void *arg,
		    struct phx_err *err)
{
	struct walk w = {.reader = r, .fn.row = fn, .arg = arg};
	int code = series_prepare_rows(r->db, level, &w.st, err);
	if (code < 0)
		return code;
	sqlite3_bind_int64(w.st, 1, from_ms - phx_series_step_ms(level));
	sqlite3_bind_int64(w.st, 2, until_ms);
	sqlite3_bind_int64(w.st, 3, limit);
	return go(&w, tell_row, err);
}

int phx_series_marks(struct phx_series_reader *r, int64_t from_ms, int64_t until_ms, uint32_t limit,
		     phx_series_mark_fn fn, void *arg, struct phx_err *err)
{
	static const char sql[] =
		"SELECT seq,at,pool,node,text FROM marks WHERE at>=?1 AND at<?2 ORDER "
		"BY at DESC,seq DESC,n DESC LIMIT ?3";
	struct walk w = {.reader = r, .fn.mark = fn, .arg = arg};
	int code = series_prepare(r->db, sql, &w.st, err);
	if (code < 0)
		return code;
	sqlite3_bind_int64(w.st, 1, from_ms);
	sqlite3_bind_int64(w.st, 2, until_ms);
	sqlite3_bind_int64(w.st, 3, limit);
	return go(&w, tell_mark, err);
}

int phx_series_holdings(struct phx_series_reader *r, int64_t from_ms, int64_t until_ms,
			const char *after, uint32_t limit, phx_series_holding_fn fn, void *arg,
			struct phx_err *err)
{
	static const char sql[] = "SELECT node,since,until,pool FROM holdings WHERE node>?1 AND "
				  "until>?2 AND since<?3 ORDER BY node,since LIMIT ?4";
	struct walk w = {.reader = r, .fn.holding = fn, .arg = arg};
	int code = series_prepare(r->db, sql, &w.st, err);
	if (code < 0)
		return code;
	sqlite3_bind_text(w.st, 1, after, -1, SQLITE_STATIC);
	sqlite3_bind_int64(w.st, 2, from_ms);
	sqlite3_bind_int64(w.st, 3, until_ms);
	sqlite3_bind_int64(w.st, 4, limit);
	return go(&w, tell_holding, err);
}
