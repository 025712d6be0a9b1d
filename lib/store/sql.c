/* Translates SQLite's errors, and has the SQL that several files of this room run. Never judges.
 * Called by the other files of this room. */
#include "store/internal.h"

#include <errno.h>
#include <string.h>

const char phx_store_indexes[] =
	"CREATE INDEX IF NOT EXISTS events_by_node ON events(node, seq);"
	"CREATE INDEX IF NOT EXISTS events_by_kind ON events(kind, seq);"
	"CREATE INDEX IF NOT EXISTS erasures_by_node ON erasures(node, step_id);"
	"CREATE INDEX IF NOT EXISTS attestations_by_node ON attestations(node, id);"
	"CREATE INDEX IF NOT EXISTS attestations_from ON attestations(from_owner, id);"
	"CREATE INDEX IF NOT EXISTS attestations_to ON attestations(to_owner, id);";

/* A row for each name; few events are about others than their own node. */
const char phx_store_about[] =
	"CREATE TABLE about(seq INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY(seq, name)) "
	"WITHOUT ROWID; CREATE INDEX about_by_name ON about(name, seq);"
	"CREATE TABLE unsaid(seq INTEGER NOT NULL);"
	"INSERT INTO unsaid SELECT COALESCE(MAX(seq),0) FROM events;";

const char phx_store_unsaid_by[] = "CREATE TABLE unsaid_by(seq INTEGER NOT NULL);"
				   "INSERT INTO unsaid_by SELECT COALESCE(MAX(seq),0) FROM events;";

static int errno_of(int rc)
{
	static const struct {
		int rc, code;
	} table[] = {
		{SQLITE_FULL, -ENOSPC},    {SQLITE_READONLY, -EROFS},  {SQLITE_CORRUPT, -EBADMSG},
		{SQLITE_NOTADB, -EBADMSG}, {SQLITE_CANTOPEN, -ENOENT}, {SQLITE_BUSY, -EBUSY},
		{SQLITE_NOMEM, -ENOMEM},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(table); i++)
		if ((rc & 0xff) == table[i].rc)
			return table[i].code;
	return -EIO;
}

int phx_store_failed(struct phx_store *s, int rc, struct phx_err *err)
{
	return phx_err_set(err, errno_of(rc), "journal: %s", sqlite3_errmsg(s->db));
}

int phx_store_execute(struct phx_store *s, const char *text, struct phx_err *err)
{
	int rc = sqlite3_exec(s->db, text, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : phx_store_failed(s, rc, err);
}

int phx_store_number(struct phx_store *s, const char *query, int64_t *ret, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, query, -1, &st, NULL);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_OK ? 0 : phx_store_failed(s, rc, err);
}

bool phx_store_has_hash(sqlite3_stmt *st, int at, const uint8_t hash[PHX_CHAIN_HASH])
{
	return sqlite3_column_type(st, at) == SQLITE_BLOB &&
		sqlite3_column_bytes(st, at) == PHX_CHAIN_HASH &&
		!memcmp(sqlite3_column_blob(st, at), hash, PHX_CHAIN_HASH);
}
