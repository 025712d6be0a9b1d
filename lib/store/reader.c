/* Reading the journal beside its writer: see store.h. In WAL mode a reader sees what was
 * committed when it began and holds nobody up. Called by the daemon's threads that answer
 * clients; writes nothing. */
#include "store/store.h"

#include <errno.h>
#include <sqlite3.h>

enum { ALL, OF_NODE, STATEMENTS };

/* Two texts, not one with a condition that is off: only so each is walked by its index. */
static const char *const sql[] = {
	[ALL] = "SELECT seq,time_ms,kind,node,event,actions FROM events WHERE seq>?1 ORDER BY seq "
		"LIMIT ?2",
	[OF_NODE] = "SELECT seq,time_ms,kind,node,event,actions FROM events WHERE node=?3 AND "
		    "seq>?1 ORDER BY seq LIMIT ?2",
};

struct phx_store_reader {
	sqlite3 *db;
	sqlite3_stmt *st[STATEMENTS];
};

static int failed(struct phx_store_reader *r, int rc, struct phx_err *err)
{
	int code = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB ? -EBADMSG
		: (rc & 0xff) == SQLITE_CANTOPEN                                 ? -ENOENT
		: (rc & 0xff) == SQLITE_BUSY                                     ? -EBUSY
										 : -EIO;
	return phx_err_set(err, code, "journal: %s", sqlite3_errmsg(r->db));
}

int phx_store_reader_open(const char *path, struct phx_store_reader **ret, struct phx_err *err)
{
	struct phx_store_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	int code = 0,
	    rc = sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	sqlite3_busy_timeout(r->db, 5000);
	for (int i = 0; rc == SQLITE_OK && i < STATEMENTS; i++)
		rc = sqlite3_prepare_v3(r->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &r->st[i],
					NULL);
	if (rc != SQLITE_OK) {
		code = failed(r, rc, err);
		phx_store_reader_close(r);
		return phx_err_prefix(err, code, "%s", path);
	}
	*ret = r;
	return 0;
}

void phx_store_reader_close(struct phx_store_reader *r)
{
	if (!r)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(r->st[i]);
	sqlite3_close(r->db);
	free(r);
}

static const char *text(sqlite3_stmt *st, int at)
{
	return (const char *)sqlite3_column_text(st, at);
}

int phx_store_reader_events(struct phx_store_reader *r, uint64_t after, uint32_t limit,
			    const char *node, phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	sqlite3_stmt *st = r->st[node ? OF_NODE : ALL];
	int rc, code = 0;
	sqlite3_bind_int64(st, 1, after > INT64_MAX ? INT64_MAX : (sqlite3_int64)after);
	sqlite3_bind_int64(st, 2, limit ? (sqlite3_int64)limit : -1);
	if (node)
		sqlite3_bind_text(st, 3, node, -1, SQLITE_STATIC);
	while (code == 0 && (rc = sqlite3_step(st)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW) {
			code = failed(r, rc, err);
			break;
		}
		struct phx_store_event ev = {(uint64_t)sqlite3_column_int64(st, 0),
					     sqlite3_column_int64(st, 1),
					     text(st, 2),
					     text(st, 3),
					     text(st, 4),
					     text(st, 5)};
		code = fn(arg, &ev);
	}
	sqlite3_reset(st); /* ends the look at the journal: its log can be taken in */
	sqlite3_clear_bindings(st);
	return code;
}
