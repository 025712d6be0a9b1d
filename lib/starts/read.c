/* Who reads: see starts.h. Called by handlers of the daemon, each with a connection of its own. */
#include "starts/internal.h"

#include <errno.h>

enum statement { FIND, FIND_LAST, ROWS, LIST, STATEMENTS };

static const char *const texts[STATEMENTS] = {
	[FIND] = "SELECT id,number FROM starts WHERE node=?1 AND number=?2",
	[FIND_LAST] = "SELECT id,number FROM starts WHERE node=?1 ORDER BY number DESC LIMIT 1",
	[ROWS] = "SELECT at,kind,proven,bytes,total,text FROM seen WHERE start=?1 ORDER BY n",
	[LIST] = "SELECT number,began,reached,n FROM starts WHERE node=?1 ORDER BY number DESC "
		 "LIMIT ?2",
};

struct phx_starts_reader {
	sqlite3 *db;
	sqlite3_stmt *st[STATEMENTS];
};

static int begin(struct phx_starts_reader *rd, const char *path, struct phx_err *err)
{
	int rc = sqlite3_open_v2(path, &rd->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return starts_failed(rd->db, rc, err);
	sqlite3_busy_timeout(rd->db, 2000);
	int r = 0;
	for (int i = 0; r == 0 && i < STATEMENTS; i++)
		r = starts_prepare(rd->db, texts[i], &rd->st[i], err);
	return r;
}

int phx_starts_reader_open(const char *path, struct phx_starts_reader **ret, struct phx_err *err)
{
	struct phx_starts_reader *rd = calloc(1, sizeof(*rd));
	if (!rd)
		return -ENOMEM;
	int r = begin(rd, path, err);
	if (r < 0) {
		phx_starts_reader_close(rd);
		return phx_err_prefix(err, r, "%s", path);
	}
	*ret = rd;
	return 0;
}

void phx_starts_reader_close(struct phx_starts_reader *rd)
{
	if (!rd)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(rd->st[i]);
	sqlite3_close(rd->db);
	free(rd);
}

static int find(struct phx_starts_reader *rd, const char *node, uint32_t start, int64_t *ret_id,
		uint32_t *ret_start, struct phx_err *err)
{
	sqlite3_stmt *st = rd->st[start ? FIND : FIND_LAST];
	sqlite3_bind_text(st, 1, node, -1, SQLITE_STATIC);
	if (start)
		sqlite3_bind_int64(st, 2, start);
	int rc = sqlite3_step(st), r = 0;
	if (rc == SQLITE_ROW) {
		*ret_id = sqlite3_column_int64(st, 0);
		*ret_start = (uint32_t)sqlite3_column_int64(st, 1);
	} else if (rc == SQLITE_DONE)
		r = phx_err_set(err, -ENOENT, "no such start of '%s' is known", node);
	else
		r = starts_failed(rd->db, rc, err);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return r;
}

static void read_text(sqlite3_stmt *st, int at, char *dst, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(st, at);
	phx_start_clean(dst, size, text ? text : "");
}

/* A row of a kind that this Phoenix does not know is left out. */
static bool read_row(sqlite3_stmt *st, struct phx_start_row *ret)
{
	char kind[PHX_NAME_MAX];
	read_text(st, 1, kind, sizeof(kind));
	ret->at_us = sqlite3_column_int64(st, 0);
	ret->proven = sqlite3_column_int(st, 2) != 0;
	ret->bytes = (uint64_t)sqlite3_column_int64(st, 3);
	ret->total = (uint64_t)sqlite3_column_int64(st, 4);
	read_text(st, 5, ret->text, sizeof(ret->text));
	return phx_enum_parse(&phx_start_kind_names, kind, &ret->kind, NULL) == 0;
}

int phx_starts_rows(struct phx_starts_reader *rd, const char *node, uint32_t start,
		    phx_starts_row_fn fn, void *arg, struct phx_err *err)
{
	struct phx_start_row row = {0};
	sqlite3_stmt *st = rd->st[ROWS];
	int64_t id = 0;
	int r = find(rd, node, start, &id, &row.start, err), rc = SQLITE_DONE;
	if (r < 0)
		return r;
	PHX_STR_SET(row.node, node);
	sqlite3_bind_int64(st, 1, id);
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = read_row(st, &row) ? fn(arg, &row) : 0;
	if (r == 0 && rc != SQLITE_DONE)
		r = starts_failed(rd->db, rc, err);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return r;
}

int phx_starts_list(struct phx_starts_reader *rd, const char *node, uint32_t limit,
		    struct phx_list *ret, struct phx_err *err)
{
	sqlite3_stmt *st = rd->st[LIST];
	int r = 0, rc = SQLITE_DONE;
	sqlite3_bind_text(st, 1, node, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, limit);
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct phx_starts_one *s = phx_list_push(ret, sizeof(*s));
		if (!s) {
			r = -ENOMEM;
			break;
		}
		s->start = (uint32_t)sqlite3_column_int64(st, 0);
		s->began_us = sqlite3_column_int64(st, 1);
		int reached = sqlite3_column_int(st, 2);
		s->reached = reached >= 0 && reached < PHX_PHASE_COUNT_ ? reached : 0;
		s->rows = (uint32_t)sqlite3_column_int64(st, 3);
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = starts_failed(rd->db, rc, err);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return r;
}
