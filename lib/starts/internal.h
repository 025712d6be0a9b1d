/* What the files of lib/starts share. */
#ifndef PHX_STARTS_INTERNAL_H
#define PHX_STARTS_INTERNAL_H

#include <sqlite3.h>

#include "starts/starts.h"

enum { STARTS_FORMAT = 1 };

/** SQLite's last failure on that connection, as an errno with a text. */
int starts_failed(sqlite3 *db, int rc, struct phx_err *err);
int starts_execute(sqlite3 *db, const char *sql, struct phx_err *err);
int starts_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret, struct phx_err *err);
/** The number that the query yields. */
int starts_number(sqlite3 *db, const char *sql, int64_t *ret, struct phx_err *err);
/** Makes the tables that are not there. -EPROTONOSUPPORT: they are a newer Phoenix's. */
int starts_make_tables(sqlite3 *db, struct phx_err *err);

#endif
