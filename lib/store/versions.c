/* Which version of Phoenix decided what: a row at each start of the head, beside the events, in a
 * table that an older version does not look at. Called by the daemon's start, and by who asks which
 * version wrote an event. Decides nothing. */
#include "store/internal.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"

/* A head that starts again and again does not fill the disk. */
static const char table[] =
	"CREATE TABLE IF NOT EXISTS versions(seq INTEGER NOT NULL, time_ms INTEGER NOT NULL, "
	"version TEXT NOT NULL);"
	"DELETE FROM versions WHERE rowid <= (SELECT MAX(rowid) FROM versions) - 4096;";

/* 0; -errno with the text of SQLite. */
static int insert(struct phx_store *s, const char *version, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		s->db, "INSERT INTO versions(seq,time_ms,version) VALUES(?,?,?)", -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)s->last + 1);
		sqlite3_bind_int64(st, 2, phx_wall_ms());
		sqlite3_bind_text(st, 3, version, -1, SQLITE_STATIC);
		rc = sqlite3_step(st);
	}
	int r = rc == SQLITE_DONE ? 0 : phx_store_failed(s, rc, err);
	sqlite3_finalize(st);
	return r;
}

int phx_store_note_version(struct phx_store *s, const char *version, struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	int r = phx_store_execute(s, table, err);
	r = r ? r : insert(s, version, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_version_of(struct phx_store *s, uint64_t seq, char ret[PHX_STORE_VERSION_MAX])
{
	static const char sql[] = "SELECT version FROM versions WHERE seq<=?1 ORDER BY rowid DESC "
				  "LIMIT 1";
	sqlite3_stmt *st = NULL;
	int r = -ENOENT;
	ret[0] = '\0';
	pthread_mutex_lock(&s->lock);
	/* a journal of before has no such table */
	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, seq > INT64_MAX ? INT64_MAX : (sqlite3_int64)seq);
		if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) == SQLITE_TEXT) {
			phx_str_copy(ret, PHX_STORE_VERSION_MAX,
				     (const char *)sqlite3_column_text(st, 0));
			r = 0;
		}
	}
	sqlite3_finalize(st);
	pthread_mutex_unlock(&s->lock);
	return r;
}
