/* The tables of the database and the texts that are made of quantity.def and level.def. Called by
 * the other files of this room. */
#include "series/internal.h"

#include <errno.h>
#include <stdio.h>

PHX_RECORD_TABLE(phx_series_mark, PHX_SERIES_MARK_FIELDS);
PHX_RECORD_TABLE(phx_series_holding, PHX_SERIES_HOLDING_FIELDS);

const struct series_level series_levels[PHX_SERIES_LEVELS] = {
#define LEVEL(name, step, days) {#name, step, days},
#include "series/level.def"
#undef LEVEL
};

static const char *const level_words[] = {
#define LEVEL(name, ...) #name,
#include "series/level.def"
#undef LEVEL
};
const struct phx_enum phx_series_level_names = {"level", level_words, PHX_SERIES_LEVELS};

enum { PHX_SERIES_Q_covered = -1 }; /* as `over` of a row */

const struct phx_series_quantity phx_series_quantities[PHX_SERIES_QUANTITIES] = {
#define LASTS(name, over, unit, head, text) {#name, unit, head, text, true, PHX_SERIES_Q_##over},
#define HAPPENS(name, unit, head, text) {#name, unit, head, text, false, -1},
#include "series/quantity.def"
#undef LASTS
#undef HAPPENS
};

double phx_series_value(const struct phx_series_row *row, enum phx_series_quantity_id q)
{
	const struct phx_series_quantity *of = &phx_series_quantities[q];
	if (!of->lasts)
		return (double)row->sum[q];
	int64_t over = of->over < 0 ? row->covered_ms : row->sum[of->over];
	return over > 0 ? (double)row->sum[q] / (double)over : -1;
}

int64_t phx_series_step_ms(enum phx_series_level level)
{
	return series_levels[level].step_ms ? series_levels[level].step_ms : SERIES_MOMENT_MAX_MS;
}

enum phx_series_level phx_series_level_for(int64_t from_ms, int64_t until_ms, int64_t now_ms,
					   uint32_t points)
{
	int last = PHX_SERIES_LEVELS - 1;
	for (int i = 0; i < last; i++) {
		const struct series_level *l = &series_levels[i];
		int64_t step_ms = l->step_ms ? l->step_ms : 1000;
		bool kept = from_ms >= now_ms - l->days * SERIES_DAY_MS;
		if (kept && (until_ms - from_ms) / step_ms <= points)
			return (enum phx_series_level)i;
	}
	return (enum phx_series_level)last;
}

/* ---- SQL ---- */

int series_failed(sqlite3 *db, int rc, struct phx_err *err)
{
	int code = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB ? -EBADMSG
		: (rc & 0xff) == SQLITE_CANTOPEN                                 ? -ENOENT
		: (rc & 0xff) == SQLITE_FULL                                     ? -ENOSPC
		: (rc & 0xff) == SQLITE_BUSY                                     ? -EBUSY
										 : -EIO;
	return phx_err_set(err, code, "time-line: %s", sqlite3_errmsg(db));
}

int series_execute(sqlite3 *db, const char *sql, struct phx_err *err)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : series_failed(db, rc, err);
}

int series_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct phx_err *err)
{
	int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
	return rc == SQLITE_OK ? 0 : series_failed(db, rc, err);
}

static const char beside[] =
	"CREATE TABLE IF NOT EXISTS marks(seq INTEGER NOT NULL, n INTEGER NOT NULL, at INTEGER NOT "
	"NULL, "
	"pool TEXT NOT NULL, node TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(seq, n)) WITHOUT "
	"ROWID;"
	"CREATE INDEX IF NOT EXISTS marks_by_time ON marks(at);"
	"CREATE TABLE IF NOT EXISTS holdings(node TEXT NOT NULL, since INTEGER NOT NULL, "
	"until INTEGER NOT NULL, pool TEXT NOT NULL, PRIMARY KEY(node, since)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS holdings_by_end ON holdings(until);"
	"CREATE TABLE IF NOT EXISTS told(journal TEXT NOT NULL, seq INTEGER NOT NULL);";

/* Has the table that column? */
static bool has_column(sqlite3 *db, const char *table, const char *name)
{
	return sqlite3_table_column_metadata(db, NULL, table, name, NULL, NULL, NULL, NULL, NULL) ==
		SQLITE_OK;
}

static int add_column(sqlite3 *db, const char *table, const char *name, const char *suffix,
		      struct phx_err *err)
{
	char column[64], sql[200];
	snprintf(column, sizeof(column), "%s%s", name, suffix);
	snprintf(sql, sizeof(sql), "ALTER TABLE %s ADD COLUMN %s INTEGER NOT NULL DEFAULT 0", table,
		 column);
	return has_column(db, table, column) ? 0 : series_execute(db, sql, err);
}

/* One with its key alone, then the columns that it lacks. */
static int make_level(sqlite3 *db, const char *table, struct phx_err *err)
{
	char sql[240];
	snprintf(sql, sizeof(sql),
		 "CREATE TABLE IF NOT EXISTS %s(at INTEGER NOT NULL, pool TEXT NOT NULL, covered "
		 "INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(at, pool)) WITHOUT ROWID",
		 table);
	int r = series_execute(db, sql, err);
	for (size_t i = 0; r == 0 && i < PHX_SERIES_QUANTITIES; i++) {
		const struct phx_series_quantity *q = &phx_series_quantities[i];
		r = add_column(db, table, q->name, "", err);
		if (r == 0 && q->lasts)
			r = add_column(db, table, q->name, "_most", err);
	}
	return r;
}

int series_make_tables(sqlite3 *db, struct phx_err *err)
{
	int r = series_execute(db, beside, err);
	for (size_t i = 0; r == 0 && i < PHX_SERIES_LEVELS; i++)
		r = make_level(db, series_levels[i].name, err);
	return r;
}

/* ",NAME,NAME_most" of all quantities, each by `one`. */
static void put_columns(struct phx_buf *b,
			void (*one)(struct phx_buf *b, const char *name, bool most))
{
	for (size_t i = 0; i < PHX_SERIES_QUANTITIES; i++) {
		one(b, phx_series_quantities[i].name, false);
		if (phx_series_quantities[i].lasts)
			one(b, phx_series_quantities[i].name, true);
	}
}

static void name_column(struct phx_buf *b, const char *name, bool most)
{
	phx_buf_addf(b, ",%s%s", name, most ? "_most" : "");
}

static void ask_column(struct phx_buf *b, const char *name, bool most)
{
	(void)name;
	(void)most;
	phx_buf_addf(b, ",?");
}

static void add_up_column(struct phx_buf *b, const char *name, bool most)
{
	if (most)
		phx_buf_addf(b, ",%s_most=max(%s_most,excluded.%s_most)", name, name, name);
	else
		phx_buf_addf(b, ",%s=%s+excluded.%s", name, name, name);
}

int series_prepare_put(sqlite3 *db, enum phx_series_level level, sqlite3_stmt **ret,
		       struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "INSERT INTO %s(pool,at,covered", series_levels[level].name);
	put_columns(&b, name_column);
	phx_buf_addf(&b, ") VALUES(?,?,?");
	put_columns(&b, ask_column);
	phx_buf_addf(&b, ") ON CONFLICT(at,pool) DO UPDATE SET covered=covered+excluded.covered");
	put_columns(&b, add_up_column);
	return b.failed ? -ENOMEM : series_prepare(db, b.data, ret, err);
}

int series_prepare_rows(sqlite3 *db, enum phx_series_level level, sqlite3_stmt **ret,
			struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b, "SELECT pool,at,covered");
	put_columns(&b, name_column);
	phx_buf_addf(&b, " FROM %s WHERE at>?1 AND at<?2 ORDER BY at,pool LIMIT ?3",
		     series_levels[level].name);
	return b.failed ? -ENOMEM : series_prepare(db, b.data, ret, err);
}

static void take_text(sqlite3_stmt *st, int at, char *dst, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(st, at);
	phx_str_copy(dst, size, text ? text : "");
}

void series_read_holding(sqlite3_stmt *st, struct phx_series_holding *ret)
{
	*ret = (struct phx_series_holding){.from_ms = sqlite3_column_int64(st, 1),
					   .until_ms = sqlite3_column_int64(st, 2)};
	take_text(st, 0, ret->node, sizeof(ret->node));
	take_text(st, 3, ret->pool, sizeof(ret->pool));
}
