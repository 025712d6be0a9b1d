/* SQLite behind the journal: see store.h. Called by the daemon's engine, by
 * its API for reading, and by tests. */
#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/key.h"

enum { SCHEMA = 6 };

/* writing statements come first: a read-only store prepares none of them */
enum statement {
	APPEND,
	ABOUT,
	ERASURE,
	SNAPSHOT,
	FORGET,
	FIRST_READING,
	LATEST = FIRST_READING,
	FIRST,
	EVENTS,
	OF_NODE,
	ERASURES,
	OF_KIND,
	BEGIN,
	COMMIT,
	ROLLBACK,
	STATEMENTS
};
_Static_assert((int)STATEMENTS == (int)PHX_STORE_STATEMENTS, "there is room for them");

#define EVENT "seq,time_ms,kind,node,event,actions"
static const char *const sql[] = {
	[APPEND] = "INSERT INTO events(seq,time_ms,kind,node,event,actions,hash) "
		   "VALUES(?,?,?,?,?,?,?)",
	[ERASURE] = "INSERT OR IGNORE INTO erasures(step_id,node,record,signature,hash) "
		    "VALUES(?,?,?,?,?)",
	[ABOUT] = "INSERT OR IGNORE INTO about(seq,name) VALUES(?,?)",
	[SNAPSHOT] = "INSERT OR REPLACE INTO snapshots(seq,state,hash) VALUES(?,?,?)",
	[FORGET] = "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq "
		   "DESC LIMIT 2)",
	[LATEST] = "SELECT seq,state FROM snapshots WHERE seq<?1 ORDER BY seq DESC LIMIT 1",
	[FIRST] = "SELECT seq,time_ms FROM events ORDER BY seq LIMIT 1",
	/* two statements, not one with optional conditions: only so each uses its index */
	[EVENTS] = "SELECT " EVENT " FROM events WHERE seq>?1 ORDER BY seq LIMIT ?2",
	[OF_NODE] = "SELECT " EVENT " FROM events WHERE node=?3 AND seq>?1 ORDER BY seq LIMIT ?2",
	[OF_KIND] = "SELECT " EVENT " FROM events WHERE kind=?1 ORDER BY seq DESC",
	[ERASURES] = "SELECT step_id,node,record,signature FROM erasures WHERE node=?1 AND "
		     "step_id BETWEEN ?2 AND ?3 ORDER BY step_id",
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
};

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS events(seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL,"
	" kind TEXT NOT NULL, node TEXT NOT NULL, event TEXT NOT NULL, actions TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS snapshots(seq INTEGER PRIMARY KEY, state TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS erasures(step_id INTEGER PRIMARY KEY, node TEXT NOT NULL,"
	" record TEXT NOT NULL, signature TEXT NOT NULL);";

/* what each schema added to the one before it */
static const char *const additions[SCHEMA] = {
	"",
	"ALTER TABLE events ADD COLUMN hash BLOB; ALTER TABLE snapshots ADD COLUMN hash BLOB;"
	"ALTER TABLE erasures ADD COLUMN hash BLOB;"
	"CREATE TABLE chain(id TEXT NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL);",
	"CREATE TABLE begins(seq INTEGER NOT NULL, line TEXT NOT NULL);",
	phx_store_about,
	"CREATE TABLE attestations(id INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL,"
	" node TEXT NOT NULL, from_owner TEXT NOT NULL, to_owner TEXT NOT NULL,"
	" text TEXT NOT NULL, hash BLOB);",
	phx_store_unsaid_by,
};

/* Runs a bound statement that returns no rows, and resets it. */
static int step_done(struct phx_store *s, enum statement which, struct phx_err *err)
{
	int rc = sqlite3_step(s->st[which]);
	int r = rc == SQLITE_DONE ? 0 : phx_store_failed(s, rc, err);
	sqlite3_reset(s->st[which]);
	sqlite3_clear_bindings(s->st[which]);
	return r;
}

/* One transaction each: a full disk leaves the old schema whole. */
static int upgrade(struct phx_store *s, int64_t version, struct phx_err *err)
{
	int r = 0;
	for (; r == 0 && version < SCHEMA; version++) {
		char text[640];
		snprintf(text, sizeof(text),
			 "BEGIN IMMEDIATE; %s PRAGMA user_version=%lld; COMMIT;",
			 additions[version], (long long)version + 1);
		r = phx_store_execute(s, text, err);
		if (r < 0)
			phx_store_execute(s, "ROLLBACK", NULL);
	}
	return r;
}

static int make_schema(struct phx_store *s, struct phx_err *err)
{
	int64_t version = 0;
	int r = phx_store_execute(s, "PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;", err);
	r = r ? r : phx_store_execute(s, "PRAGMA cache_size=-256", err); /* kB, not 2000 */
	r = r ? r : phx_store_number(s, "PRAGMA user_version", &version, err);
	if (r == 0 && version > SCHEMA)
		r = phx_err_set(err, -EPROTONOSUPPORT,
				"journal: written by a newer Phoenix (schema %lld, this one: %d)",
				(long long)version, SCHEMA);
	if (r < 0 || !s->writes)
		return r;
	r = phx_store_execute(s, "PRAGMA journal_mode=WAL;", err);
	r = r ? r : phx_store_execute(s, schema, err);
	r = r ? r : upgrade(s, version, err);
	return r ? r : phx_store_execute(s, phx_store_indexes, err);
}

static int prepare(struct phx_store *s, struct phx_err *err)
{
	int64_t last = 0;
	int r = make_schema(s, err);
	r = r ? r : phx_store_number(s, "SELECT COALESCE(MAX(seq),0) FROM events", &last, err);
	s->last = (uint64_t)last;
	for (int i = s->writes ? 0 : FIRST_READING; r == 0 && i < STATEMENTS; i++) {
		int rc = sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->st[i],
					    NULL);
		if (rc != SQLITE_OK)
			r = phx_store_failed(s, rc, err);
	}
	return r == 0 && s->writes ? phx_chain_open(s, err) : r;
}

/* Two daemons that both numbered events would refuse each other's for ever. A separate file, since
 * SQLite locks the database itself; the kernel unlocks it however the process ends. */
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

/* SQLite gives the files beside the database the same mode. If the mode cannot be set, SQLite will
 * report what is wrong. */
static void make_private(const char *path)
{
	struct stat st;
	int fd = strcmp(path, ":memory:")
		? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640)
		: -1;
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (st.st_mode & 07))
		(void)!fchmod(fd, st.st_mode & 0770);
	close(fd);
}

static int open_database(struct phx_store *s, const char *path, struct phx_err *err)
{
	struct stat st;
	int flags = SQLITE_OPEN_READWRITE | (s->writes ? SQLITE_OPEN_CREATE : 0) |
		SQLITE_OPEN_FULLMUTEX;
	if (s->writes)
		make_private(path);
	int rc = sqlite3_open_v2(path, &s->db, flags, NULL);
	if (rc != SQLITE_OK)
		return phx_store_failed(s, rc, err);
	if (strcmp(path, ":memory:") && stat(path, &st) == 0) {
		PHX_STR_SET(s->path, path);
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
	sqlite3_busy_timeout(s->db, 5000);
	return prepare(s, err);
}

static int open_store(const char *path, bool writes, struct phx_store **ret, struct phx_err *err)
{
	struct phx_store *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->lock_fd = -1;
	s->marks.fd = -1;
	s->writes = writes;
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

int phx_store_open(const char *path, struct phx_store **ret, struct phx_err *err)
{
	return open_store(path, true, ret, err);
}

int phx_store_open_read(const char *path, struct phx_store **ret, struct phx_err *err)
{
	return open_store(path, false, ret, err);
}

void phx_store_close(struct phx_store *s)
{
	if (!s)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->st[i]);
	phx_mark_close(s);
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

static void bind_hash(struct phx_store *s, enum statement which, int at,
		      const uint8_t hash[PHX_CHAIN_HASH])
{
	sqlite3_bind_blob(s->st[which], at, hash, PHX_CHAIN_HASH, SQLITE_STATIC);
}

static int insert_event(struct phx_store *s, const struct phx_store_event *ev,
			const struct phx_chain *to, struct phx_err *err)
{
	sqlite3_bind_int64(s->st[APPEND], 1, (sqlite3_int64)ev->seq);
	sqlite3_bind_int64(s->st[APPEND], 2, ev->time_ms);
	bind_text(s, APPEND, 3, ev->kind);
	bind_text(s, APPEND, 4, ev->node);
	bind_text(s, APPEND, 5, ev->event);
	bind_text(s, APPEND, 6, ev->actions);
	bind_hash(s, APPEND, 7, to->hash);
	return step_done(s, APPEND, err);
}

static int insert_about(struct phx_store *s, const struct phx_store_row *row, struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_word, name, &row->about) {
		sqlite3_bind_int64(s->st[ABOUT], 1, (sqlite3_int64)row->event.seq);
		bind_text(s, ABOUT, 2, name->text);
		r = r ? r : step_done(s, ABOUT, err);
	}
	return r;
}

static int insert_erasure(struct phx_store *s, const struct phx_store_erasure *e,
			  struct phx_err *err)
{
	uint8_t hash[PHX_CHAIN_HASH];
	int r = phx_chain_erasure(e, hash);
	if (r < 0)
		return r;
	sqlite3_bind_int64(s->st[ERASURE], 1, (sqlite3_int64)e->step_id);
	bind_text(s, ERASURE, 2, e->node);
	bind_text(s, ERASURE, 3, e->record);
	bind_text(s, ERASURE, 4, e->signature);
	bind_hash(s, ERASURE, 5, hash);
	return step_done(s, ERASURE, err);
}

/* Checks that the file is still the one that was opened; otherwise writes would go where nobody
 * finds them. */
static int check_file(const char *path, const char *suffix, dev_t dev, ino_t *ino,
		      struct phx_err *err)
{
	char name[PHX_STORE_PATH_MAX + 8];
	struct stat st;
	snprintf(name, sizeof(name), "%s%s", path, suffix);
	bool there = stat(name, &st) == 0;
	if (there && !*ino)
		*ino = st.st_ino;
	if (!*ino || (there && st.st_dev == dev && st.st_ino == *ino))
		return 0;
	return phx_err_set(
		err, -ESTALE,
		"journal: %s was %s while it was open: what is written now would be lost with this "
		"process; put the file back, or end phxd and restore it",
		name, there ? "replaced" : "removed");
}

static int watch_locked(struct phx_store *s, struct phx_err *err)
{
	int r = s->path[0] ? check_file(s->path, "", s->dev, &s->ino, err) : 0;
	return r == 0 && s->path[0] ? check_file(s->path, "-wal", s->dev, &s->wal_ino, err) : r;
}

int phx_store_watch(struct phx_store *s, struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	int r = watch_locked(s, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_probe(struct phx_store *s, struct phx_err *err)
{
	char text[64];
	snprintf(text, sizeof(text), "PRAGMA user_version=%d", SCHEMA);
	pthread_mutex_lock(&s->lock);
	int r = phx_store_execute(s, text, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* A full disk takes no commit; after any other failure the commit may be complete in the log, and
 * then the next start takes it for committed. */
static int commit(struct phx_store *s, struct phx_err *err)
{
	int r = step_done(s, COMMIT, err);
	return r == 0 || r == -ENOSPC ? r : PHX_STORE_DOUBT;
}

/* The event is on disk, so the mark may say that it was acknowledged. */
static void advance(struct phx_store *s, const struct phx_chain *to)
{
	s->last = to->seq;
	s->end = *to;
	/* if the mark cannot be written, the old one stays: it notices fewer missing events, but
	 * says nothing wrong */
	phx_mark_write(s, false, NULL);
}

static int insert(struct phx_store *s, const struct phx_store_row *row, struct phx_chain *at,
		  struct phx_err *err)
{
	if (row->event.seq != at->seq + 1)
		return phx_err_set(err, -EPROTO, "journal: event %llu does not follow %llu",
				   (unsigned long long)row->event.seq, (unsigned long long)at->seq);
	int r = phx_chain_next(at, &row->event, at);
	r = r ? r : insert_event(s, &row->event, at, err);
	r = r ? r : insert_about(s, row, err);
	if (r == 0 && row->erasure.record)
		r = insert_erasure(s, &row->erasure, err);
	if (r == 0 && row->attestation.text)
		r = phx_attestations_insert(s, &row->attestation, err);
	return r;
}

static int append_locked(struct phx_store *s, const struct phx_store_row *rows, uint32_t n,
			 struct phx_err *err)
{
	struct phx_chain to = s->end;
	int r = step_done(s, BEGIN, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = insert(s, &rows[i], &to, err);
	r = r ? r : watch_locked(s, err);
	r = r ? r : commit(s, err);
	if (r != 0) {
		step_done(s, ROLLBACK, NULL);
		return r;
	}
	advance(s, &to);
	return watch_locked(s, err);
}

int phx_store_append(struct phx_store *s, const struct phx_store_row *rows, uint32_t n,
		     struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	int r = append_locked(s, rows, n, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_snapshot_pack(uint64_t seq, const char *state_json, struct phx_store_packed *ret)
{
	_Static_assert(sizeof(ret->hash) == PHX_CHAIN_HASH, "a hash has its room");
	int r = phx_chain_sum(seq, state_json, ret->hash);
	return r ? r : phx_store_pack(state_json, &ret->bytes, &ret->n);
}

int phx_store_snapshot_write(struct phx_store *s, uint64_t seq, const char *state_json,
			     const struct phx_store_packed *packed, struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	sqlite3_bind_int64(s->st[SNAPSHOT], 1, (sqlite3_int64)seq);
	if (packed->bytes)
		sqlite3_bind_blob64(s->st[SNAPSHOT], 2, packed->bytes, packed->n, SQLITE_STATIC);
	else
		bind_text(s, SNAPSHOT, 2, state_json);
	bind_hash(s, SNAPSHOT, 3, packed->hash);
	int r = step_done(s, SNAPSHOT, err);
	r = r ? r : step_done(s, FORGET, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_snapshot(struct phx_store *s, uint64_t seq, const char *state_json,
		       struct phx_err *err)
{
	struct phx_store_packed packed = {0};
	int r = phx_store_snapshot_pack(seq, state_json, &packed);
	r = r ? r : phx_store_snapshot_write(s, seq, state_json, &packed, err);
	free(packed.bytes);
	return r;
}

/* Checks that the text is the one written as the snapshot of event `seq`. */
static int check_snapshot(struct phx_store *s, uint64_t seq, const char *text, struct phx_err *err)
{
	uint8_t hash[PHX_CHAIN_HASH];
	sqlite3_stmt *st = NULL;
	int r = phx_chain_sum(seq, text, hash);
	int rc =
		sqlite3_prepare_v2(s->db, "SELECT hash FROM snapshots WHERE seq=?1", -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
		rc = sqlite3_step(st);
	}
	if (r == 0 && rc != SQLITE_ROW)
		r = phx_store_failed(s, rc, err);
	else if (r == 0 && sqlite3_column_type(st, 0) != SQLITE_NULL &&
		 !phx_store_has_hash(st, 0, hash))
		r = phx_err_set(err, -EBADMSG, "it is not as it was written");
	sqlite3_finalize(st);
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
	int r = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : phx_store_failed(s, rc, err);
	if (rc == SQLITE_ROW) {
		*ret_seq = (uint64_t)sqlite3_column_int64(s->st[LATEST], 0);
		r = phx_store_unpack(s->st[LATEST], 1, ret_json, err);
	}
	sqlite3_reset(s->st[LATEST]);
	if (*ret_json && s->writes)
		r = check_snapshot(s, *ret_seq, *ret_json, err);
	if (r < 0) {
		free(*ret_json);
		*ret_json = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

static const char *column(struct phx_store *s, enum statement which, int at)
{
	return (const char *)sqlite3_column_text(s->st[which], at);
}

/* Call with the lock held and all parameters bound. */
static int walk(struct phx_store *s, enum statement which, phx_store_event_fn fn, void *arg,
		struct phx_err *err)
{
	int rc, r = 0;
	while (r == 0 && (rc = sqlite3_step(s->st[which])) != SQLITE_DONE) {
		if (rc != SQLITE_ROW) {
			r = phx_store_failed(s, rc, err);
			break;
		}
		struct phx_store_event ev = {(uint64_t)sqlite3_column_int64(s->st[which], 0),
					     sqlite3_column_int64(s->st[which], 1),
					     column(s, which, 2),
					     column(s, which, 3),
					     column(s, which, 4),
					     column(s, which, 5)};
		r = fn(arg, &ev);
	}
	sqlite3_reset(s->st[which]);
	sqlite3_clear_bindings(s->st[which]);
	return r;
}

int phx_store_events(struct phx_store *s, uint64_t after, uint32_t limit, const char *node,
		     phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	enum statement which = node ? OF_NODE : EVENTS;
	pthread_mutex_lock(&s->lock);
	sqlite3_bind_int64(s->st[which], 1, (sqlite3_int64)after);
	sqlite3_bind_int64(s->st[which], 2, limit ? (sqlite3_int64)limit : -1);
	if (node)
		bind_text(s, OF_NODE, 3, node);
	int r = walk(s, which, fn, arg, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_events_of(struct phx_store *s, const char *kind, phx_store_event_fn fn, void *arg,
			struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	bind_text(s, OF_KIND, 1, kind);
	int r = walk(s, OF_KIND, fn, arg, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int phx_store_first(struct phx_store *s, uint64_t *ret_seq, int64_t *ret_time_ms,
		    struct phx_err *err)
{
	pthread_mutex_lock(&s->lock);
	int rc = sqlite3_step(s->st[FIRST]);
	int r = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : phx_store_failed(s, rc, err);
	if (r == 0) {
		*ret_seq = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(s->st[FIRST], 0) : 0;
		*ret_time_ms = rc == SQLITE_ROW ? sqlite3_column_int64(s->st[FIRST], 1) : 0;
	}
	sqlite3_reset(s->st[FIRST]);
	pthread_mutex_unlock(&s->lock);
	return r;
}

const char *phx_store_id(const struct phx_store *s)
{
	return s->id;
}

uint64_t phx_store_last(struct phx_store *s)
{
	pthread_mutex_lock(&s->lock);
	uint64_t last = s->last;
	pthread_mutex_unlock(&s->lock);
	return last;
}

int phx_store_erasures(struct phx_store *s, const char *node, phx_store_erasure_fn fn, void *arg,
		       struct phx_err *err)
{
	return phx_store_erasures_from(s, node, 0, INT64_MAX, fn, arg, err);
}

int phx_store_erasures_from(struct phx_store *s, const char *node, uint64_t first, uint64_t last,
			    phx_store_erasure_fn fn, void *arg, struct phx_err *err)
{
	int rc, r = 0;
	pthread_mutex_lock(&s->lock);
	bind_text(s, ERASURES, 1, node);
	sqlite3_bind_int64(s->st[ERASURES], 2, (sqlite3_int64)first);
	sqlite3_bind_int64(s->st[ERASURES], 3, (sqlite3_int64)last);
	while (r == 0 && (rc = sqlite3_step(s->st[ERASURES])) != SQLITE_DONE) {
		if (rc != SQLITE_ROW) {
			r = phx_store_failed(s, rc, err);
			break;
		}
		struct phx_store_erasure e = {(uint64_t)sqlite3_column_int64(s->st[ERASURES], 0),
					      column(s, ERASURES, 1), column(s, ERASURES, 2),
					      column(s, ERASURES, 3)};
		r = fn(arg, &e);
	}
	sqlite3_reset(s->st[ERASURES]);
	sqlite3_clear_bindings(s->st[ERASURES]);
	pthread_mutex_unlock(&s->lock);
	return r;
}
