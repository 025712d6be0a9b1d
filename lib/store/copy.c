/* A copy of the journal as it is at one event, beside the daemon that writes it: see store.h. All
 * pages are read in one transaction, which in WAL mode holds no writer up. Called by phx backup.
 * Changes nothing of the journal. */
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failed(sqlite3 *db, const char *path, int rc, struct phx_err *err)
{
	int code = (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED   ? -EBUSY
		: (rc & 0xff) == SQLITE_CANTOPEN                                ? -ENOENT
		: (rc & 0xff) == SQLITE_FULL                                    ? -ENOSPC
		: (rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_CORRUPT ? -EBADMSG
										: -EIO;
	return phx_err_set(err, code, "%s: %s", path, db ? sqlite3_errmsg(db) : "out of memory");
}

static int copy_pages(sqlite3 *from, sqlite3 *to, const char *path, struct phx_err *err)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	if (!b)
		return failed(to, path, sqlite3_errcode(to), err);
	/* all at once: the pages of a later commit never come among them */
	int rc = sqlite3_backup_step(b, -1);
	int end = sqlite3_backup_finish(b);
	return rc == SQLITE_DONE && end == SQLITE_OK ? 0 : failed(to, path, end ? end : rc, err);
}

/* One file, without a log beside it. */
static int look(sqlite3 *db, const char *path, struct phx_store_copied *ret, struct phx_err *err)
{
	static const char sql[] = "SELECT (SELECT COALESCE(MAX(seq),0) FROM events),"
				  "(SELECT COALESCE(MAX(id),'') FROM chain)";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_exec(db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	rc = rc ? rc : sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	bool row = rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW;
	if (row) {
		ret->seq = (uint64_t)sqlite3_column_int64(st, 0);
		PHX_STR_SET(ret->id, (const char *)sqlite3_column_text(st, 1));
	}
	sqlite3_finalize(st);
	return row ? 0 : failed(db, path, rc, err);
}

int phx_store_copy(const char *path, const char *to, struct phx_store_copied *ret,
		   struct phx_err *err)
{
	sqlite3 *from = NULL, *copy = NULL;
	struct phx_store_copied c = {0};
	int rc = sqlite3_open_v2(path, &from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	int r = rc == SQLITE_OK ? 0 : failed(from, path, rc, err);
	if (r == 0) {
		sqlite3_busy_timeout(from, 5000);
		rc = sqlite3_open_v2(
			to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			NULL);
		r = rc == SQLITE_OK ? copy_pages(from, copy, path, err) : failed(copy, to, rc, err);
	}
	r = r < 0 ? r : look(copy, path, &c, err);
	sqlite3_close(copy);
	sqlite3_close(from);
	if (r < 0) {
		unlink(to);
		return r;
	}
	*ret = c;
	return 0;
}
