/* The one who writes: see starts.h. Called by the thread of the daemon that keeps the starts. */
#include "starts/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	BYTES_MIN = 1 << 20,
	/* of its pages so many percent may be used: what one transaction brings has room beside */
	USED_PERCENT = 90,
	KEPT_HALF = PHX_STARTS_ROWS_MAX / 2,
};

enum statement { LAST, BEGIN_ONE, GROW, PUT, LEAVE, NAME, STATEMENTS };

static const char *const texts[STATEMENTS] = {
	[LAST] = "SELECT id,reached,n,number FROM starts WHERE node=?1 ORDER BY number DESC LIMIT "
		 "1",
	[BEGIN_ONE] = "INSERT INTO starts(node,number,began,reached,n,stranger) VALUES(?1,?2,?3,0,"
		      "0,?4)",
	[GROW] = "UPDATE starts SET n=?2, reached=max(reached,?3) WHERE id=?1",
	[PUT] = "INSERT INTO seen(start,n,at,kind,proven,bytes,total,text) VALUES(?1,?2,?3,?4,?5,"
		"?6,?7,?8)",
	[LEAVE] = "DELETE FROM seen WHERE start=?1 AND n=?2",
	[NAME] = "UPDATE starts SET number=number+(SELECT IFNULL(MAX(number),0) FROM starts WHERE "
		 "node=?2), node=?2, stranger=0 WHERE node=?1",
};

struct phx_starts {
	sqlite3 *db;
	sqlite3_stmt *st[STATEMENTS];
	int64_t pages_max;
};

/* Only owner and group may read what machines say; SQLite gives what it makes beside it the same
 * mode. */
static void make_private(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd >= 0)
		close(fd);
}

static int bound_pages(struct phx_starts *s, uint64_t bytes_max, struct phx_err *err)
{
	char sql[80];
	s->pages_max = (int64_t)((bytes_max < BYTES_MIN ? BYTES_MIN : bytes_max) / PAGE_BYTES);
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count=%lld", (long long)s->pages_max);
	return starts_execute(s->db, sql, err);
}

/* A commit is not synced, and a checkpoint is: it waits for no disk, and nothing tears. */
static int begin(struct phx_starts *s, const char *path, uint64_t bytes_max, struct phx_err *err)
{
	make_private(path);
	int rc = sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return starts_failed(s->db, rc, err);
	sqlite3_busy_timeout(s->db, 5000);
	int r = starts_execute(s->db,
			       "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA "
			       "synchronous=NORMAL; PRAGMA journal_size_limit=8388608",
			       err);
	r = r ? r : starts_make_tables(s->db, err);
	r = r ? r : bound_pages(s, bytes_max, err);
	for (int i = 0; r == 0 && i < STATEMENTS; i++)
		r = starts_prepare(s->db, texts[i], &s->st[i], err);
	return r;
}

int phx_starts_open(const char *path, uint64_t bytes_max, struct phx_starts **ret,
		    struct phx_err *err)
{
	struct phx_starts *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	int r = begin(s, path, bytes_max, err);
	if (r < 0) {
		phx_starts_close(s);
		return phx_err_prefix(err, r, "%s", path);
	}
	*ret = s;
	return 0;
}

void phx_starts_close(struct phx_starts *s)
{
	if (!s)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->st[i]);
	sqlite3_close(s->db);
	free(s);
}

static int done(struct phx_starts *s, sqlite3_stmt *st, struct phx_err *err)
{
	int rc = sqlite3_step(st);
	int r = rc == SQLITE_DONE ? 0 : starts_failed(s->db, rc, err);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return r;
}

static void bind(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

/* ---- the start that a node is in ---- */

struct current {
	int64_t id, n, number;
	enum phx_start_phase reached;
};

static int find_last(struct phx_starts *s, const char *node, struct current *ret,
		     struct phx_err *err)
{
	sqlite3_stmt *st = s->st[LAST];
	*ret = (struct current){0};
	bind(st, 1, node);
	int rc = sqlite3_step(st), r = 0;
	if (rc == SQLITE_ROW) {
		ret->id = sqlite3_column_int64(st, 0);
		ret->reached = (enum phx_start_phase)sqlite3_column_int(st, 1);
		ret->n = sqlite3_column_int64(st, 2);
		ret->number = sqlite3_column_int64(st, 3);
	} else if (rc != SQLITE_DONE)
		r = starts_failed(s->db, rc, err);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return r;
}

/* Names of nodes have no colon. */
static bool is_stranger(const char *node)
{
	return strchr(node, ':') != NULL;
}

static int begin_start(struct phx_starts *s, const struct phx_start_row *row, struct current *c,
		       struct phx_err *err)
{
	sqlite3_stmt *st = s->st[BEGIN_ONE];
	bind(st, 1, row->node);
	sqlite3_bind_int64(st, 2, c->number + 1);
	sqlite3_bind_int64(st, 3, row->at_us);
	sqlite3_bind_int(st, 4, is_stranger(row->node));
	int r = done(s, st, err);
	if (r == 0)
		*c = (struct current){.id = sqlite3_last_insert_rowid(s->db),
				      .number = c->number + 1};
	return r;
}

/* ---- rows ---- */

static int put_row(struct phx_starts *s, const struct current *c, const struct phx_start_row *row,
		   struct phx_err *err)
{
	char text[PHX_START_TEXT_MAX];
	sqlite3_stmt *st = s->st[PUT];
	phx_start_clean(text, sizeof(text), row->text);
	sqlite3_bind_int64(st, 1, c->id);
	sqlite3_bind_int64(st, 2, c->n + 1);
	sqlite3_bind_int64(st, 3, row->at_us);
	bind(st, 4, phx_enum_name(&phx_start_kind_names, row->kind));
	sqlite3_bind_int(st, 5, row->proven);
	sqlite3_bind_int64(st, 6, (int64_t)row->bytes);
	sqlite3_bind_int64(st, 7, (int64_t)row->total);
	bind(st, 8, text);
	return done(s, st, err);
}

/* What is proven to be reached counts alone: a claim begins no start, and ends none. */
static int grow(struct phx_starts *s, const struct current *c, const struct phx_start_row *row,
		struct phx_err *err)
{
	sqlite3_stmt *st = s->st[GROW];
	sqlite3_bind_int64(st, 1, c->id);
	sqlite3_bind_int64(st, 2, c->n + 1);
	sqlite3_bind_int(st, 3, row->proven ? (int)phx_start_reached(row->kind) : 0);
	return done(s, st, err);
}

/* Beyond so many rows the one in the middle goes. */
static int leave(struct phx_starts *s, const struct current *c, struct phx_err *err)
{
	sqlite3_stmt *st = s->st[LEAVE];
	if (c->n + 1 <= PHX_STARTS_ROWS_MAX)
		return 0;
	sqlite3_bind_int64(st, 1, c->id);
	sqlite3_bind_int64(st, 2, c->n + 1 - KEPT_HALF);
	return done(s, st, err);
}

static int put_one(struct phx_starts *s, const struct phx_start_row *row, struct phx_err *err)
{
	struct current c;
	int r = find_last(s, row->node, &c, err);
	if (r == 0 && (!c.id || (row->proven && phx_start_opens(row->kind, c.reached))))
		r = begin_start(s, row, &c, err);
	r = r ? r : put_row(s, &c, row, err);
	r = r ? r : grow(s, &c, row, err);
	return r ? r : leave(s, &c, err);
}

/* ---- bounds ---- */

static int used_pages(struct phx_starts *s, int64_t *ret, struct phx_err *err)
{
	int64_t all = 0, unused = 0;
	int r = starts_number(s->db, "PRAGMA page_count", &all, err);
	r = r ? r : starts_number(s->db, "PRAGMA freelist_count", &unused, err);
	if (r == 0)
		*ret = all - unused;
	return r;
}

/* The ids are those of the times at which the starts began. */
static int drop_up_to(struct phx_starts *s, const char *which, int64_t id, struct phx_err *err)
{
	char sql[240];
	snprintf(sql, sizeof(sql),
		 "DELETE FROM seen WHERE start IN (SELECT id FROM starts WHERE %s id<=%lld);"
		 "DELETE FROM starts WHERE %s id<=%lld",
		 which, (long long)id, which, (long long)id);
	return starts_execute(s->db, sql, err);
}

static int bound_strangers(struct phx_starts *s, struct phx_err *err)
{
	char sql[160];
	int64_t id = 0;
	snprintf(sql, sizeof(sql),
		 "SELECT IFNULL((SELECT id FROM starts WHERE stranger ORDER BY id DESC LIMIT 1 "
		 "OFFSET %d),0)",
		 PHX_STARTS_STRANGERS_MAX);
	int r = starts_number(s->db, sql, &id, err);
	return r || !id ? r : drop_up_to(s, "stranger AND", id, err);
}

/* A twentieth of all starts at a time, the oldest, and one at least. */
static int drop_oldest(struct phx_starts *s, struct phx_err *err)
{
	int64_t id = 0;
	int r = starts_number(s->db,
			      "SELECT IFNULL((SELECT id FROM starts ORDER BY id LIMIT 1 OFFSET "
			      "(SELECT COUNT(*)/20 FROM starts)),0)",
			      &id, err);
	return r ? r : drop_up_to(s, "", id, err);
}

static int bound_bytes(struct phx_starts *s, struct phx_err *err)
{
	int64_t used = 0, before = -1;
	int r = used_pages(s, &used, err);
	while (r == 0 && used > s->pages_max * USED_PERCENT / 100 && used != before) {
		before = used;
		r = drop_oldest(s, err);
		r = r ? r : used_pages(s, &used, err);
	}
	return r;
}

/* ---- a transaction ---- */

static int put_all(struct phx_starts *s, const struct phx_start_row *rows, size_t n,
		   struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = put_one(s, &rows[i], err);
	r = r ? r : bound_strangers(s, err);
	return r ? r : bound_bytes(s, err);
}

static int end(struct phx_starts *s, int r, struct phx_err *err)
{
	r = r ? r : starts_execute(s->db, "COMMIT", err);
	if (r < 0 && !sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

int phx_starts_put(struct phx_starts *s, const struct phx_start_row *rows, size_t n,
		   struct phx_err *err)
{
	int r = starts_execute(s->db, "BEGIN IMMEDIATE", err);
	return r ? r : end(s, put_all(s, rows, n, err), err);
}

int phx_starts_name(struct phx_starts *s, const char *mac, const char *node, struct phx_err *err)
{
	bind(s->st[NAME], 1, mac);
	bind(s->st[NAME], 2, node);
	return done(s, s->st[NAME], err);
}
