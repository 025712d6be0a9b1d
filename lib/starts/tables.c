/* The tables of the database, and SQLite's errors. Called by the other files of this room. */
#include "starts/internal.h"

#include <errno.h>
#include <stdio.h>

PHX_RECORD_TABLE(phx_starts_one, PHX_STARTS_ONE_FIELDS);

int starts_failed(sqlite3 *db, int rc, struct phx_err *err)
{
	static const struct {
		int rc, code;
	} known[] = {
		{SQLITE_CORRUPT, -EBADMSG}, {SQLITE_NOTADB, -EBADMSG}, {SQLITE_CANTOPEN, -ENOENT},
		{SQLITE_FULL, -ENOSPC},     {SQLITE_BUSY, -EBUSY},     {SQLITE_NOMEM, -ENOMEM},
	};
	int code = -EIO;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(known); i++)
		if (known[i].rc == (rc & 0xff))
			code = known[i].code;
	return phx_err_set(err, code, "starts of nodes: %s", sqlite3_errmsg(db));
}

int starts_execute(sqlite3 *db, const char *sql, struct phx_err *err)
{
	int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : starts_failed(db, rc, err);
}

int starts_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct phx_err *err)
{
	int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
	return rc == SQLITE_OK ? 0 : starts_failed(db, rc, err);
}

int starts_number(sqlite3 *db, const char *sql, int64_t *ret, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = starts_prepare(db, sql, &st, err);
	if (r < 0)
		return r;
	int rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	else
		r = starts_failed(db, rc, err);
	sqlite3_finalize(st);
	return r;
}

/* AUTOINCREMENT: the id of a start that went is never another's, and the smallest is the oldest. */
static const char tables[] =
	"CREATE TABLE IF NOT EXISTS starts(id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT "
	"NULL, number INTEGER NOT NULL, began INTEGER NOT NULL, reached INTEGER NOT NULL, n "
	"INTEGER NOT NULL, stranger INTEGER NOT NULL);"
	"CREATE UNIQUE INDEX IF NOT EXISTS starts_by_node ON starts(node, number);"
	"CREATE INDEX IF NOT EXISTS starts_of_strangers ON starts(id) WHERE stranger;"
	"CREATE TABLE IF NOT EXISTS seen(start INTEGER NOT NULL, n INTEGER NOT NULL, at INTEGER "
	"NOT NULL, kind TEXT NOT NULL, proven INTEGER NOT NULL, bytes INTEGER NOT NULL, total "
	"INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(start, n)) WITHOUT ROWID;"
	"PRAGMA user_version = 1";

int starts_make_tables(sqlite3 *db, struct phx_err *err)
{
	int64_t format = 0;
	int r = starts_number(db, "PRAGMA user_version", &format, err);
	if (r < 0)
		return r;
	if (format > STARTS_FORMAT)
		return phx_err_set(err, -EPROTONOSUPPORT,
				   "starts of nodes: a newer Phoenix made this (format %lld)",
				   (long long)format);
	return starts_execute(db, tables, err);
}
