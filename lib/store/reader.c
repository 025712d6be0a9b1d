/* Reading the journal beside its writer: see store.h. In WAL mode a reader sees what was
 * committed when it began and holds nobody up. Called by the daemon's threads that answer
 * clients; writes nothing. */
#include "store/internal.h"

#include <errno.h>
#include <sqlite3.h>

enum statement { ALL, OF_NODE, ABOUT };

#define EVENTS "SELECT seq,time_ms,kind,node,event,actions FROM events WHERE "

/* Separate statements, not one with optional conditions: only so each uses its index. */
const char *const phx_store_reader_sql[PHX_READER_STATEMENTS] = {
	[ALL] = EVENTS "seq>?1 ORDER BY seq LIMIT ?2",
	[OF_NODE] = EVENTS "node=?3 AND seq>?1 ORDER BY seq LIMIT ?2",
	[ABOUT] = EVENTS "seq IN (SELECT seq FROM events WHERE node=?3 AND seq>?1 UNION SELECT seq "
			 "FROM about WHERE name=?3 AND seq>?1 ORDER BY seq LIMIT ?2) ORDER BY seq",
};

int phx_store_reader_failed(struct phx_store_reader *r, int rc, struct phx_err *err)
{
	int code = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB ? -EBADMSG
		: (rc & 0xff) == SQLITE_CANTOPEN                                 ? -ENOENT
		: (rc & 0xff) == SQLITE_BUSY                                     ? -EBUSY
										 : -EIO;
	return phx_err_set(err, code, "journal: %s", sqlite3_errmsg(r->db));
}

/* If that cannot be read, no event counts as recorded. */
static uint64_t read_unsaid(struct phx_store_reader *r)
{
	static const char text[] = "SELECT COALESCE(MAX(seq),0) FROM unsaid";
	sqlite3_stmt *st = NULL;
	uint64_t unsaid = UINT64_MAX;
	if (sqlite3_prepare_v2(r->db, text, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		unsaid = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return unsaid;
}

int phx_store_reader_open(const char *path, struct phx_store_reader **ret, struct phx_err *err)
{
	struct phx_store_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	int code = 0,
	    rc = sqlite3_open_v2(path, &r->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	sqlite3_busy_timeout(r->db, 5000);
	for (int i = 0; rc == SQLITE_OK && i < PHX_READER_STATEMENTS; i++)
		rc = sqlite3_prepare_v3(r->db, phx_store_reader_sql[i], -1,
					SQLITE_PREPARE_PERSISTENT, &r->st[i], NULL);
	if (rc != SQLITE_OK) {
		code = phx_store_reader_failed(r, rc, err);
		phx_store_reader_close(r);
		return phx_err_prefix(err, code, "%s", path);
	}
	r->unsaid = read_unsaid(r);
	*ret = r;
	return 0;
}

void phx_store_reader_close(struct phx_store_reader *r)
{
	if (!r)
		return;
	for (int i = 0; i < PHX_READER_STATEMENTS; i++)
		sqlite3_finalize(r->st[i]);
	sqlite3_close(r->db);
	free(r);
}

static const char *text(sqlite3_stmt *st, int at)
{
	return (const char *)sqlite3_column_text(st, at);
}

int phx_store_reader_walk(struct phx_store_reader *r, sqlite3_stmt *st, phx_store_event_fn fn,
			  void *arg, struct phx_err *err)
{
	int rc = SQLITE_DONE, code = 0;
	while (code == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct phx_store_event ev = {(uint64_t)sqlite3_column_int64(st, 0),
					     sqlite3_column_int64(st, 1),
					     text(st, 2),
					     text(st, 3),
					     text(st, 4),
					     text(st, 5)};
		code = fn(arg, &ev);
	}
	return code || rc == SQLITE_DONE ? code : phx_store_reader_failed(r, rc, err);
}

static int walk(struct phx_store_reader *r, enum statement which, uint64_t after, uint32_t limit,
		const char *name, phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	sqlite3_stmt *st = r->st[which];
	sqlite3_bind_int64(st, 1, after > INT64_MAX ? INT64_MAX : (sqlite3_int64)after);
	sqlite3_bind_int64(st, 2, limit ? (sqlite3_int64)limit : -1);
	if (name)
		sqlite3_bind_text(st, 3, name, -1, SQLITE_STATIC);
	int code = phx_store_reader_walk(r, st, fn, arg, err);
	sqlite3_reset(st); /* ends the read transaction, so that the log can be checkpointed */
	sqlite3_clear_bindings(st);
	return code;
}

int phx_store_reader_events(struct phx_store_reader *r, uint64_t after, uint32_t limit,
			    const char *node, phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	return walk(r, node ? OF_NODE : ALL, after, limit, node, fn, arg, err);
}

int phx_store_reader_about(struct phx_store_reader *r, uint64_t after, uint32_t limit,
			   const char *name, phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	return walk(r, ABOUT, after, limit, name, fn, arg, err);
}

int phx_store_reader_snapshot(struct phx_store_reader *r, uint64_t before, uint64_t *ret_seq,
			      char **ret_json, struct phx_err *err)
{
	static const char sql[] =
		"SELECT seq,state FROM snapshots WHERE seq<?1 ORDER BY seq DESC LIMIT 1";
	sqlite3_stmt *st = NULL;
	*ret_seq = 0;
	*ret_json = NULL;
	int rc = sqlite3_prepare_v2(r->db, sql, -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, before > INT64_MAX ? INT64_MAX : (sqlite3_int64)before);
		rc = sqlite3_step(st);
	}
	int code = rc == SQLITE_ROW ? phx_store_unpack(st, 1, ret_json, err)
		: rc == SQLITE_DONE ? 0
				    : phx_store_reader_failed(r, rc, err);
	if (code == 0 && *ret_json)
		*ret_seq = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return code;
}

uint64_t phx_store_reader_unsaid(const struct phx_store_reader *r)
{
	return r->unsaid;
}
