/* SQLite behind the journal: see store.h. Called by the daemon's engine, by
 * its API for reading, and by tests. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA = 1 };

enum statement { APPEND, ERASURE, SNAPSHOT, FORGET, LATEST, PRUNE, FIRST, EVENTS, ERASURES, BEGIN, COMMIT, ROLLBACK, STATEMENTS };

static const char *const sql[] = {
	[APPEND] = "INSERT INTO events(seq,time_ms,kind,node,event,actions) VALUES(?,?,?,?,?,?)",
	[ERASURE] = "INSERT OR IGNORE INTO erasures(step_id,node,record,signature) VALUES(?,?,?,?)",
	[SNAPSHOT] = "INSERT OR REPLACE INTO snapshots(seq,state) VALUES(?,?)",
	[FORGET] = "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 2)",
	[LATEST] = "SELECT seq,state FROM snapshots WHERE seq<?1 ORDER BY seq DESC LIMIT 1",
	/* the older of two snapshots still has all that follows it */
	[PRUNE] = "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE time_ms<?1 AND seq<="
		  "(SELECT CASE COUNT(*) WHEN 2 THEN MIN(seq) ELSE 0 END FROM snapshots) ORDER BY seq LIMIT 10000)",
	[FIRST] = "SELECT seq,time_ms FROM events ORDER BY seq LIMIT 1",
	[EVENTS] = "SELECT seq,time_ms,kind,node,event,actions FROM events"
		   " WHERE seq>?1 AND (?2 IS NULL OR node=?2) ORDER BY seq LIMIT ?3",
	[ERASURES] = "SELECT step_id,node,record,signature FROM erasures WHERE node=? ORDER BY step_id",
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
};

static const char schema[] = "CREATE TABLE IF NOT EXISTS events(seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL,"
			     " kind TEXT NOT NULL, node TEXT NOT NULL, event TEXT NOT NULL, actions TEXT NOT NULL);"
			     "CREATE INDEX IF NOT EXISTS events_by_node ON events(node, seq);"
			     "CREATE TABLE IF NOT EXISTS snapshots(seq INTEGER PRIMARY KEY, state TEXT NOT NULL);"
			     "CREATE TABLE IF NOT EXISTS erasures(step_id INTEGER PRIMARY KEY, node TEXT NOT NULL,"
			     " record TEXT NOT NULL, signature TEXT NOT NULL);"
			     "CREATE INDEX IF NOT EXISTS erasures_by_node ON erasures(node, step_id);";

struct phx_store {
	sqlite3 *db;
	sqlite3_stmt *st[STATEMENTS];
	uint64_t last;
	int lock_fd; /* held locked: one daemon a journal */
	pthread_mutex_t lock;
};

static int errno_of(int rc)
{
	static const struct {
		int rc, code;
	} table[] = {
		{ SQLITE_FULL, -ENOSPC },  { SQLITE_READONLY, -EROFS },	   { SQLITE_CORRUPT, -EBADMSG },
		{ SQLITE_NOTADB, -EBADMSG }, { SQLITE_CANTOPEN, -ENOENT }, { SQLITE_BUSY, -EBUSY },
		{ SQLITE_NOMEM, -ENOMEM },
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(table); i++)
		if ((rc & 0xff) == table[i].rc)
			return table[i].code;
	return -EIO;
}

static int failed(struct phx_store *s, int rc, struct phx_err *err)
{
	return phx_err_set(err, errno_of(rc), "journal: %s", sqlite3_errmsg(s->db));
}

/* Runs a bound statement that returns no rows, and resets it. */
static int step_done(struct phx_store *s, enum statement which, struct phx_err *err)
{
	int rc = sqlite3_step(s->st[which]);
	int r = rc == SQLITE_DONE ? 0 : failed(s, rc, err);
	sqlite3_reset(s->st[which]);
	sqlite3_clear_bindings(s->st[which]);
	return r;
}

static int execute(struct phx_store *s, const char *text, struct phx_err *err)
{
	int rc = sqlite3_exec(s->db, text, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : failed(s, rc, err);
}

static int read_number(struct phx_store *s, const char *query, int64_t *ret, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, query, -1, &st, NULL);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_OK ? 0 : failed(s, rc, err);
}

static int prepare(struct phx_store *s, struct phx_err *err)
{
	int64_t version = 0, last = 0;
	int r = execute(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;", err);
	r = r ? r : read_number(s, "PRAGMA user_version", &version, err);
	if (r == 0 && version > SCHEMA)
		r = phx_err_set(err, -EPROTONOSUPPORT, "journal: written by a newer Phoenix (schema %lld, this one: %d)",
				(long long)version, SCHEMA);
	r = r ? r : execute(s, schema, err);
	if (r == 0 && version < SCHEMA) /* a full disk takes no write: what is there already must open */
		r = execute(s, "PRAGMA user_version=1;", err);
	r = r ? r : read_number(s, "SELECT COALESCE(MAX(seq),0) FROM events", &last, err);
	s->last = (uint64_t)last;
	for (int i = 0; r == 0 && i < STATEMENTS; i++) {
		int rc = sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->st[i], NULL);
		if (rc != SQLITE_OK)
			r = failed(s, rc, err);
	}
	return r;
}

/* Two daemons that number their events by themselves would refuse each other's for ever. A file beside the database,
 * since SQLite has its own locks on that one; the kernel unlocks it however we end. */
static int take_lock(struct phx_store *s, const char *path, struct phx_err *err)
{
	char name[4096];
	if (!strcmp(path, ":memory:"))
		return 0;
	if (snprintf(name, sizeof(name), "%s.lock", path) >= (int)sizeof(name))
		return phx_err_set(err, -ENAMETOOLONG, "journal: the path is too long");
	s->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return phx_err_set(err, -errno, "journal: lock file: %s", strerror(errno));
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return phx_err_set(err, -EBUSY, "journal: another phxd has it open");
	return phx_err_set(err, -errno, "journal: lock file: %s", strerror(errno));
}

/* SQLite gives what it makes beside the database the same mode. Where it cannot be set, SQLite says what is wrong. */
static void make_private(const char *path)
{
	struct stat st;
	int fd = strcmp(path, ":memory:") ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640) : -1;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (st.st_mode & 07))
		(void)!fchmod(fd, st.st_mode & 0770);
	close(fd);
}

static int open_database(struct phx_store *s, const char *path, struct phx_err *err)
{
	make_private(path);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
	int rc = sqlite3_open_v2(path, &s->db, flags, NULL);
	if (rc != SQLITE_OK)
		return failed(s, rc, err);
	sqlite3_busy_timeout(s->db, 5000);
	return prepare(s, err);
}

int phx_store_open(const char *path, struct phx_store **ret, struct phx_err *err)
{
	struct phx_store *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->lock_fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	int r = take_lock(s, path, err);
	r = r ? r : open_database(s, path, err);
	if (r < 0) {
		phx_store_close(s);
		return phx_err_prefix(err, r, "%s", path);
	}
	*ret = s;
	return 0;
}

void phx_store_close(struct phx_store *s)
{
	if (!s)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->st[i]);
	sqlite3_close(s->db);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void bind_text(struct phx_store *s, enum statement which, int at, const char *text)
{
	sqlite3_bind_text(s->st[which], at, text, -1, SQLITE_STATIC);
}

static int insert_event(struct phx_store *s, uint64_t seq, int64_t time_ms, const char *kind, const char *node,
			const char *event_json, const char *actions_json, struct phx_err *err)
{
	sqlite3_bind_int64(s->st[APPEND], 1, (sqlite3_int64)seq);
	sqlite3_bind_int64(s->st[APPEND], 2, time_ms);
	bind_text(s, APPEND, 3, kind);
	bind_text(s, APPEND, 4, node);
	bind_text(s, APPEND, 5, event_json);
	bind_text(s, APPEND, 6, actions_json);
	return step_done(s, APPEND, err);
}

static int insert_erasure(struct phx_store *s, const struct phx_store_erasure *e, struct phx_err *err)
{
	sqlite3_bind_int64(s->st[ERASURE], 1, (sqlite3_int64)e->step_id);
	bind_text(s, ERASURE, 2, e->node);
	bind_text(s, ERASURE, 3, e->record);
	bind_text(s, ERASURE, 4, e->signature);
	return step_done(s, ERASURE, err);
}

int phx_store_append(struct phx_store *s, uint64_t seq, int64_t time_ms, const char *kind, const char *node,
		     const char *event_json, const char *actions_json, const struct phx_store_erasure *erasure,
		     struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	int r = 0;
	if (seq != s->last + 1)
		r = phx_err_set(err, -EPROTO, "journal: event %llu does not follow %llu", (unsigned long long)seq,
				(unsigned long long)s->last);
	r = r ? r : step_done(s, BEGIN, err);
	bool begun = r == 0;
	r = r ? r : insert_event(s, seq, time_ms, kind, node, event_json, actions_json, err);
	if (r == 0 && erasure)
		r = insert_erasure(s, erasure, err);
	r = r ? r : step_done(s, COMMIT, err);
	if (r == 0)
		s->last = seq;
	else if (begun)
		step_done(s, ROLLBACK, NULL);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_snapshot(struct phx_store *s, uint64_t seq, const char *state_json, struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	sqlite3_bind_int64(s->st[SNAPSHOT], 1, (sqlite3_int64)seq);
	bind_text(s, SNAPSHOT, 2, state_json);
	int r = step_done(s, SNAPSHOT, err);
	r = r ? r : step_done(s, FORGET, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_latest(struct phx_store *s, uint64_t *ret_seq, char **ret_json, struct phx_err *err)
{
	return phx_store_latest_before(s, INT64_MAX, ret_seq, ret_json, err);
}

int phx_store_latest_before(struct phx_store *s, uint64_t seq, uint64_t *ret_seq, char **ret_json,
			    struct phx_err *err)
{
	*ret_seq = 0;
	*ret_json = NULL;
	pthread_mutex_lock(&s->lock);
	sqlite3_bind_int64(s->st[LATEST], 1, (sqlite3_int64)seq);
	int rc = sqlite3_step(s->st[LATEST]);
	int r = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(s, rc, err);
	if (rc == SQLITE_ROW) {
		*ret_seq = (uint64_t)sqlite3_column_int64(s->st[LATEST], 0);
		*ret_json = strdup((const char *)sqlite3_column_text(s->st[LATEST], 1));
		if (!*ret_json)
			r = -ENOMEM;
	}
	sqlite3_reset(s->st[LATEST]);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static const char *column(struct phx_store *s, enum statement which, int at)
{
	return (const char *)sqlite3_column_text(s->st[which], at);
}

int phx_store_events(struct phx_store *s, uint64_t after, uint32_t limit, const char *node, phx_store_event_fn fn,
		     void *arg, struct phx_err *err)
{
	int rc, r = 0;
	pthread_mutex_lock(&s->lock);
	sqlite3_bind_int64(s->st[EVENTS], 1, (sqlite3_int64)after);
	if (node)
		bind_text(s, EVENTS, 2, node);
	sqlite3_bind_int64(s->st[EVENTS], 3, limit ? (sqlite3_int64)limit : -1);
	while (r == 0 && (rc = sqlite3_step(s->st[EVENTS])) != SQLITE_DONE) {
		if (rc != SQLITE_ROW) {
			r = failed(s, rc, err);
			break;
		}
		struct phx_store_event ev = { (uint64_t)sqlite3_column_int64(s->st[EVENTS], 0),
					      sqlite3_column_int64(s->st[EVENTS], 1),
					      column(s, EVENTS, 2),
					      column(s, EVENTS, 3),
					      column(s, EVENTS, 4),
					      column(s, EVENTS, 5) };
		r = fn(arg, &ev);
	}
	sqlite3_reset(s->st[EVENTS]);
	sqlite3_clear_bindings(s->st[EVENTS]);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_prune(struct phx_store *s, int64_t before_ms, struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	sqlite3_bind_int64(s->st[PRUNE], 1, (sqlite3_int64)before_ms);
	int r = step_done(s, PRUNE, err);
	r = r < 0 ? r : sqlite3_changes(s->db);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_first(struct phx_store *s, uint64_t *ret_seq, int64_t *ret_time_ms, struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	int rc = sqlite3_step(s->st[FIRST]);
	int r = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(s, rc, err);
	if (r == 0) {
		*ret_seq = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s->st[FIRST], 0) : 0;
		*ret_time_ms = rc == SQLITE_ROW ? sqlite3_column_int64(s->st[FIRST], 1) : 0;
	}
	sqlite3_reset(s->st[FIRST]);
	pthread_mutex_unlock(&s->lock);
	return r;
}

uint64_t phx_store_last(struct phx_store *s)
{
	pthread_mutex_lock(&s->lock);
	uint64_t last = s->last;
	pthread_mutex_unlock(&s->lock);
	return last;
}

int phx_store_erasures(struct phx_store *s, const char *node, phx_store_erasure_fn fn, void *arg, struct phx_err *err)
{
	int rc, r = 0;
	pthread_mutex_lock(&s->lock);
	bind_text(s, ERASURES, 1, node);
	while (r == 0 && (rc = sqlite3_step(s->st[ERASURES])) != SQLITE_DONE) {
		if (rc != SQLITE_ROW) {
			r = failed(s, rc, err);
			break;
		}
		struct phx_store_erasure e = { (uint64_t)sqlite3_column_int64(s->st[ERASURES], 0),
					       column(s, ERASURES, 1), column(s, ERASURES, 2), column(s, ERASURES, 3) };
		r = fn(arg, &e);
	}
	sqlite3_reset(s->st[ERASURES]);
	sqlite3_clear_bindings(s->st[ERASURES]);
	pthread_mutex_unlock(&s->lock);
	return r;
}
