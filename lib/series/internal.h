/* What the files of lib/series share. */
#ifndef PHX_SERIES_INTERNAL_H
#define PHX_SERIES_INTERNAL_H

#include <sqlite3.h>

#include "series/series.h"

enum { SERIES_DAY_MS = 86400000, SERIES_MOMENT_MAX_MS = 60000 };

struct series_level {
	const char *name;
	int64_t step_ms; /* 0: from change to change */
	int64_t days;
};
extern const struct series_level series_levels[PHX_SERIES_LEVELS];

/** SQLite's last failure on that connection, as an errno with a text. */
int series_failed(sqlite3 *db, int rc, struct phx_err *err);
int series_execute(sqlite3 *db, const char *sql, struct phx_err *err);
/** Makes the tables that are not there, and the columns that they lack. */
int series_make_tables(sqlite3 *db, struct phx_err *err);
/** What puts a row into a level, or adds it to the one that is there: pool, at, covered, then sum
 * (and most) of each quantity. */
int series_prepare_put(sqlite3 *db, enum phx_series_level level, sqlite3_stmt **ret,
		       struct phx_err *err);
/** What reads rows that begin after ?1 and before ?2, at most ?3. */
int series_prepare_rows(sqlite3 *db, enum phx_series_level level, sqlite3_stmt **ret,
			struct phx_err *err);
int series_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct phx_err *err);
void series_read_holding(sqlite3_stmt *st, struct phx_series_holding *ret);

#endif
