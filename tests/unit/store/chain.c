/* What a start finds out about a journal: rows that were changed, taken out or put back, events
 * that are missing at its end, a file that is another one, a damaged file around sound events; and
 * any single bit, wherever it flips. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "fake/append_one.h"
#include "store/internal.h"

enum { EVENTS = 60, FLIPS = 500, FILE_MAX = 1 << 22 };

static char dir[64], path[96], wal[112], mark[112];
static struct phx_store *store;
static struct phx_store_findings found;
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-chain.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	snprintf(mark, sizeof(mark), "%s.mark", path);
	phx_err_clear(&err);
	store = NULL;
	return phx_store_open(path, &store, &err);
}

static int teardown(void **state)
{
	(void)state;
	phx_store_close(PHX_TAKE(store));
	return phx_dir_remove(dir, NULL);
}

static int append(uint64_t seq)
{
	char event[200], node[16];
	struct phx_store_erasure e = {seq, node, "{\"record\":1}", "aabb"};
	snprintf(node, sizeof(node), "n%llu", (unsigned long long)seq % 3);
	snprintf(event, sizeof(event), "{\"n\":%llu,\"text\":\"%0100llu\"}",
		 (unsigned long long)seq, (unsigned long long)seq);
	phx_err_clear(&err);
	return append_one(store, seq, (int64_t)seq * 1000, "tick", node, event, "[]",
			  seq % 20 ? NULL : &e, &err);
}

static void append_many(uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++)
		assert_int_equal(append(seq), 0);
}

static int open_and_verify(void)
{
	phx_store_close(PHX_TAKE(store));
	phx_err_clear(&err);
	found = (struct phx_store_findings){0};
	int r = phx_store_open(path, &store, &err);
	return r ? r : phx_store_verify(store, &found, &err);
}

static void meddle(const char *sql)
{
	sqlite3 *db = NULL;
	char *why = NULL;
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void is_refused(int code, const char *why)
{
	int r = open_and_verify();
	if (r != code || !strstr(err.text, why))
		fail_msg("%d '%s', not %d '%s'", r, err.text, code, why);
}

/* ---- rows ---- */

static void what_was_written_is_believed(void **state)
{
	(void)state;
	append_many(1, 30);
	assert_int_equal(open_and_verify(), 0);
	assert_int_equal(found.marked, 30);
	assert_int_equal(found.uncovered, 0);
	assert_false(found.no_mark);
	assert_string_equal(found.damage, "");
	append_many(31, 32);
	assert_int_equal(open_and_verify(), 0);
}

/* each column of a row, a row, two rows */
static void a_changed_row_is_named(void **state)
{
	static const struct {
		const char *sql, *why;
	} cases[] = {
		{"UPDATE events SET time_ms=time_ms+1 WHERE seq=7",
		 "event 7 is not as it was written"},
		{"UPDATE events SET time_ms=time_ms+4294967296 WHERE seq=7",
		 "event 7 is not as it was written"},
		{"UPDATE events SET kind='tock' WHERE seq=7", "event 7 is not as it was written"},
		{"UPDATE events SET node='n9' WHERE seq=7", "event 7 is not as it was written"},
		{"UPDATE events SET event=replace(event,'7','8') WHERE seq=7",
		 "event 7 is not as it was written"},
		{"UPDATE events SET actions='[1]' WHERE seq=7", "event 7 is not as it was written"},
		{"UPDATE events SET hash=NULL WHERE seq=30", "event 30 is not as it was written"},
		{"UPDATE events SET hash=zeroblob(32) WHERE seq=30",
		 "event 30 is not as it was written"},
		/* a text that passes into its neighbour */
		{"UPDATE events SET kind='tickn', node=substr(node,2) WHERE seq=9",
		 "event 9 is not as it was written"},
		/* it reads the same, and is not found as its node's */
		{"UPDATE events SET node=CAST(node AS BLOB) WHERE seq=9",
		 "event 9 is not as it was written"},
		{"DELETE FROM events WHERE seq=12", "event 12 is missing"},
		{"DELETE FROM events WHERE seq<=3", "event 1 is missing"},
		{"UPDATE events SET seq=-1 WHERE seq=4; UPDATE events SET seq=4 WHERE seq=5; "
		 "UPDATE events SET seq=5 "
		 "WHERE seq=-1",
		 "event 4 is not as it was written"},
		{"UPDATE chain SET seq=3", "event 4 is not as it was written"},
		{"UPDATE chain SET hash=zeroblob(32)", "event 1 is not as it was written"},
		{"UPDATE erasures SET record='{\"record\":2}' WHERE step_id=20",
		 "erase record of step 20 is not"},
		{"UPDATE erasures SET node='n9' WHERE step_id=20",
		 "erase record of step 20 is not"},
		{"UPDATE erasures SET step_id=21 WHERE step_id=20",
		 "erase record of step 21 is not"},
		{"UPDATE erasures SET signature='ccdd' WHERE step_id=20",
		 "erase record of step 20 is not"},
	};
	(void)state;
	append_many(1, 30);
	phx_store_close(PHX_TAKE(store));
	PHX_AUTO_FREE char *whole = NULL;
	size_t n;
	assert_int_equal(phx_file_read(path, FILE_MAX, &whole, &n, &err), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(cases); i++) {
		meddle(cases[i].sql);
		is_refused(-EBADMSG, cases[i].why);
		phx_store_close(PHX_TAKE(store));
		assert_int_equal(phx_file_write(path, whole, n, 0640, &err), 0);
	}
	assert_int_equal(open_and_verify(), 0);
}

static void the_last_event_taken_out_is_missed(void **state)
{
	(void)state;
	append_many(1, 30);
	meddle("DELETE FROM events WHERE seq>=29");
	/* and at the next start again: what was refused once is not believed because it was looked
	 * at */
	for (int i = 0; i < 2; i++)
		is_refused(-ENODATA,
			   "it ends with event 28, but event 30 was acknowledged: 2 events are "
			   "missing");
}

static void one_event_taken_out_is_missed(void **state)
{
	(void)state;
	append_many(1, 30);
	meddle("DELETE FROM events WHERE seq=30");
	is_refused(-ENODATA, "1 events are missing");
}

static void what_is_accepted_is_believed_from_then_on(void **state)
{
	uint64_t missing = 99;
	(void)state;
	append_many(1, 30);
	meddle("UPDATE events SET actions='[1]' WHERE seq=7; DELETE FROM events WHERE seq>25;"
	       "UPDATE erasures SET record='x' WHERE step_id=20");
	is_refused(-EBADMSG, "event 7");
	assert_int_equal(phx_store_accept(store, &missing, &err), 0);
	assert_int_equal(missing, 5);
	assert_int_equal(phx_store_verify(store, &found, &err), 0);
	append_many(26, 27);
	assert_int_equal(open_and_verify(), 0);
	assert_int_equal(found.uncovered, 25);
	meddle("UPDATE events SET actions='[1]' WHERE seq=26");
	is_refused(-EBADMSG, "event 26");
}

static void forgetting_moves_the_beginning(void **state)
{
	(void)state;
	append_many(1, 30);
	assert_int_equal(phx_store_snapshot(store, 20, "{}", &err), 0);
	assert_int_equal(phx_store_snapshot(store, 30, "{}", &err), 0);
	assert_int_equal(phx_store_prune(store, 15000, &err), 14);
	assert_int_equal(phx_store_verify(store, &found, &err), 0);
	assert_int_equal(open_and_verify(), 0);
	assert_int_equal(found.uncovered, 14);
	append_many(31, 31);
	meddle("DELETE FROM events WHERE seq=15");
	is_refused(-EBADMSG, "event 15 is missing");
}

/* ---- of the time before chains ---- */

static const char old_schema[] =
	"CREATE TABLE events(seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, kind TEXT NOT "
	"NULL, node TEXT NOT NULL,"
	" event TEXT NOT NULL, actions TEXT NOT NULL); CREATE INDEX events_by_node ON events(node, "
	"seq);"
	"CREATE TABLE snapshots(seq INTEGER PRIMARY KEY, state TEXT NOT NULL);"
	"CREATE TABLE erasures(step_id INTEGER PRIMARY KEY, node TEXT NOT NULL, record TEXT NOT "
	"NULL, signature TEXT "
	"NOT NULL);"
	"CREATE INDEX erasures_by_node ON erasures(node, step_id); PRAGMA user_version=1;"
	"INSERT INTO events VALUES(1,1000,'tick','n1','{}','[]'),(2,2000,'tick','n1','{}','[]');"
	"INSERT INTO snapshots VALUES(2,'{\"at\":2}'); INSERT INTO erasures "
	"VALUES(1,'n1','{}','aa');";

static int count(void *arg, const struct phx_store_event *ev)
{
	(void)ev;
	++*(int *)arg;
	return 0;
}

static void an_old_journal_is_read_and_covered_from_then_on(void **state)
{
	uint64_t seq;
	char *text;
	int n = 0;
	(void)state;
	phx_store_close(PHX_TAKE(store));
	unlink(path);
	unlink(mark);
	meddle(old_schema);
	/* who only reads leaves it as it is */
	assert_int_equal(phx_store_open_read(path, &store, &err), 0);
	assert_int_equal(phx_store_events(store, 0, 0, NULL, count, &n, &err), 0);
	assert_int_equal(n, 2);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(access(mark, F_OK), -1);
	assert_int_equal(open_and_verify(), 0);
	assert_int_equal(found.uncovered, 2);
	assert_true(found.no_mark);
	assert_string_equal(found.mark_trouble, "");
	/* whom its events are about is said from then on */
	struct phx_store_reader *reader = NULL;
	assert_int_equal(phx_store_reader_open(path, &reader, &err), 0);
	assert_int_equal(phx_store_reader_unsaid(reader), 2);
	phx_store_reader_close(reader);
	assert_int_equal(phx_store_latest(store, &seq, &text, &err), 0);
	assert_string_equal(text, "{\"at\":2}");
	free(text);
	append_many(3, 5);
	meddle("UPDATE events SET node='n2' WHERE seq=4");
	is_refused(-EBADMSG, "event 4");
}

/* ---- the end ---- */

static void copy(const char *from, const char *to)
{
	PHX_AUTO_FREE char *data = NULL;
	size_t n;
	assert_int_equal(phx_file_read(from, FILE_MAX, &data, &n, &err), 0);
	assert_int_equal(phx_file_write(to, data, n, 0640, &err), 0);
}

static void an_older_copy_is_told(void **state)
{
	char old[128];
	(void)state;
	snprintf(old, sizeof(old), "%s/yesterday.db", dir);
	append_many(1, 10);
	phx_store_close(PHX_TAKE(store));
	copy(path, old);
	assert_int_equal(open_and_verify(), 0);
	append_many(11, 25);
	phx_store_close(PHX_TAKE(store));
	copy(old, path);
	is_refused(-ENODATA,
		   "it ends with event 10, but event 25 was acknowledged: 15 events are missing");
	/* another history of the same length is another one */
	uint64_t missing;
	assert_int_equal(phx_store_accept(store, &missing, &err), 0);
	assert_int_equal(missing, 15);
	append_many(11, 25);
	phx_store_close(PHX_TAKE(store));
	copy(old, path);
	is_refused(-ENODATA, "15 events are missing");
}

static void a_journal_without_its_log_is_told(void **state)
{
	char db[128], copied[128];
	(void)state;
	assert_int_equal(open_and_verify(), 0);
	append_many(1, 40);
	/* as the files are when the daemon is killed: the events are in the log */
	snprintf(db, sizeof(db), "%s/killed.db", dir);
	copy(path, db);
	snprintf(copied, sizeof(copied), "%s.mark", db);
	copy(mark, copied);
	phx_store_close(PHX_TAKE(store));
	strcpy(path, db);
	is_refused(-ENODATA, "event 40 was acknowledged: 40 events are missing");
}

static void another_journal_is_told(void **state)
{
	char other[128];
	(void)state;
	append_many(1, 10);
	phx_store_close(PHX_TAKE(store));
	snprintf(other, sizeof(other), "%s/other.db", dir);
	assert_int_equal(phx_store_open(other, &store, &err), 0);
	append_many(1, 12);
	phx_store_close(PHX_TAKE(store));
	copy(other, path);
	is_refused(-ENODATA, "another journal");
}

static void a_damaged_mark_is_told_and_made_anew(void **state)
{
	(void)state;
	append_many(1, 10);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(truncate(mark, 100), 0);
	assert_int_equal(open_and_verify(), 0);
	assert_true(found.no_mark);
	assert_non_null(strstr(found.mark_trouble, "damaged"));
	assert_int_equal(open_and_verify(), 0);
	assert_false(found.no_mark);
	assert_int_equal(found.marked, 10);
}

/* ---- the file under it ---- */

static void a_removed_journal_takes_nothing_more(void **state)
{
	char away[128];
	const char *files[] = {path, wal};
	(void)state;
	snprintf(away, sizeof(away), "%s/away", dir);
	append_many(1, 3);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(files); i++) {
		uint64_t last = phx_store_last(store);
		assert_int_equal(rename(files[i], away), 0);
		assert_int_equal(append(last + 1), -ESTALE);
		assert_non_null(strstr(err.text, "was removed while it was open"));
		assert_int_equal(phx_store_watch(store, &err), -ESTALE);
		assert_int_equal(phx_store_last(store), last);
		copy(away, files[i]);
		phx_err_clear(&err);
		assert_int_equal(append(last + 1), -ESTALE);
		assert_non_null(strstr(err.text, "was replaced while it was open"));
		assert_int_equal(rename(away, files[i]), 0); /* put back */
		assert_int_equal(phx_store_watch(store, &err), 0);
		assert_int_equal(append(last + 1), 0);
	}
	assert_int_equal(open_and_verify(), 0);
	assert_int_equal(phx_store_last(store), 5);
}

/* ---- damage where no event is ---- */

/* the first page of a table or an index */
static off_t page_of(const char *name)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	char sql[128];
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	snprintf(sql, sizeof(sql), "SELECT rootpage FROM sqlite_master WHERE name='%s'", name);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	off_t page = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return (page - 1) * 4096;
}

/* events, snapshots, erasures, chain */
static int count_tables(void)
{
	sqlite3_stmt *st = NULL;
	assert_int_equal(sqlite3_prepare_v2(store->db,
					    "SELECT COUNT(*) FROM sqlite_master WHERE type='table'",
					    -1, &st, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return n;
}

static void scribble(const char *name)
{
	char junk[4096];
	memset(junk, 0xa5, sizeof(junk));
	off_t at = page_of(name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	close(fd);
}

static void damage_around_the_events_is_mended(void **state)
{
	static const char *const places[] = {"snapshots", "events_by_node", "erasures_by_node"};
	uint64_t seq;
	char *text;
	(void)state;
	append_many(1, EVENTS);
	assert_int_equal(phx_store_snapshot(store, EVENTS, "{\"at\":60}", &err), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(places); i++) {
		int n = 0;
		phx_store_close(PHX_TAKE(store));
		scribble(places[i]);
		assert_int_equal(open_and_verify(), 0);
		assert_true(found.damage[0]);
		assert_int_equal(phx_store_rebuild(store, EVENTS, "{\"again\":60}", &err), 0);
		assert_int_equal(open_and_verify(), 0);
		assert_string_equal(found.damage, "");
		assert_int_equal(phx_store_latest(store, &seq, &text, &err), 0);
		assert_int_equal(seq, EVENTS);
		assert_string_equal(text, "{\"again\":60}");
		free(text);
		assert_int_equal(phx_store_events(store, 0, 0, "n1", count, &n, &err), 0);
		assert_int_equal(n, EVENTS / 3);
	}
}

/* the process ends as soon as that many transactions are on the disk */
static int end_at_commit(void *arg, sqlite3 *db, const char *name, int n_pages)
{
	unsigned *left = arg;
	(void)db, (void)name, (void)n_pages;
	if (!--*left)
		_exit(1);
	return SQLITE_OK;
}

/* Was it cut off? */
static bool mend_until(unsigned commit)
{
	int status = 0;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* a connection of its own: one must not be carried over a fork */
		store = NULL;
		if (open_and_verify() < 0 || !found.damage[0])
			_exit(2);
		sqlite3_wal_hook(store->db, end_at_commit, &commit);
		_exit(phx_store_rebuild(store, EVENTS, "{\"again\":60}", &err) < 0 ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

static void a_mending_that_was_cut_off_is_done_at_the_next_start(void **state)
{
	unsigned n_cuts = 0, n_unmended = 0;
	(void)state;
	append_many(1, EVENTS);
	assert_int_equal(phx_store_snapshot(store, EVENTS, "{\"at\":60}", &err), 0);
	for (bool cut = true; cut; n_cuts += cut) {
		phx_store_close(PHX_TAKE(store));
		scribble("snapshots");
		cut = mend_until(n_cuts + 1);
		assert_int_equal(open_and_verify(), 0);
		assert_true(cut || !found.damage[0]);
		n_unmended += found.damage[0] != 0;
		if (found.damage[0])
			assert_int_equal(phx_store_rebuild(store, EVENTS, "{\"again\":60}", &err),
					 0);
		assert_int_equal(open_and_verify(), 0);
		assert_string_equal(found.damage, "");
		assert_int_equal(count_tables(), 9);
	}
	assert_true(n_unmended > 0);
}

static void a_changed_snapshot_is_not_believed(void **state)
{
	uint64_t seq = 0;
	char *text = NULL;
	(void)state;
	append_many(1, 20);
	assert_int_equal(phx_store_snapshot(store, 10, "{\"at\":10}", &err), 0);
	assert_int_equal(phx_store_snapshot(store, 20, "{\"at\":20}", &err), 0);
	meddle("UPDATE snapshots SET state='{\"at\":21}' WHERE seq=20");
	assert_int_equal(open_and_verify(), 0);
	assert_int_equal(phx_store_latest(store, &seq, &text, &err), -EBADMSG);
	assert_int_equal(seq, 20);
	assert_null(text);
	/* nor is one of another event */
	meddle("UPDATE snapshots SET state='{\"at\":20}', seq=19 WHERE seq=20");
	assert_int_equal(open_and_verify(), 0);
	assert_int_equal(phx_store_latest(store, &seq, &text, &err), -EBADMSG);
	assert_int_equal(seq, 19);
	assert_null(text);
	assert_int_equal(phx_store_latest_before(store, 19, &seq, &text, &err), 0);
	assert_string_equal(text, "{\"at\":10}");
	free(text);
}

/* ---- any bit ---- */

struct story {
	uint64_t digest, n;
};

static void mix(struct story *s, const char *text)
{
	for (; *text; text++)
		s->digest = (s->digest ^ (unsigned char)*text) * 0x100000001b3ULL;
	s->digest = (s->digest ^ 0xff) * 0x100000001b3ULL;
}

static int tell(void *arg, const struct phx_store_event *ev)
{
	struct story *s = arg;
	char head[64];
	snprintf(head, sizeof(head), "%llu %lld", (unsigned long long)ev->seq,
		 (long long)ev->time_ms);
	mix(s, head);
	mix(s, ev->kind);
	mix(s, ev->node);
	mix(s, ev->event);
	mix(s, ev->actions);
	s->n++;
	return 0;
}

/* Everything that a start reads; -EBADMSG and its like: it is refused. */
static int read_all(struct story *ret)
{
	static const char *const nodes[] = {NULL, "n0", "n1", "n2"};
	uint64_t seq = 0;
	char *text = NULL;
	*ret = (struct story){0};
	int r = open_and_verify();
	if (r == 0 && found.damage[0] && phx_store_rebuild(store, EVENTS, "{\"at\":60}", &err) < 0)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(nodes); i++)
		r = phx_store_events(store, 0, 0, nodes[i], tell, ret, &err);
	int s = r ? r : phx_store_latest(store, &seq, &text, &err);
	/* a snapshot that is refused is made again of the events; one that is believed is one that
	 * was written */
	char sound[32];
	snprintf(sound, sizeof(sound), "{\"at\":%llu}", (unsigned long long)seq);
	if (s == 0 && text && strcmp(text, sound))
		ret->digest++;
	free(text);
	return r;
}

static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 4;
}

enum part { DATABASE, LOG, MARK, PARTS };

struct file {
	char *data;
	size_t n;
	char to[140];
};

/* The three files as they are now, which may be in the middle of work: their copies are made and
 * read elsewhere. */
static void take(struct file files[PARTS])
{
	const char *from[] = {path, wal, mark}, *suffix[] = {"", "-wal", ".mark"};
	for (int i = 0; i < PARTS; i++) {
		files[i] = (struct file){0};
		snprintf(files[i].to, sizeof(files[i].to), "%s/image.db%s", dir, suffix[i]);
		phx_file_read(from[i], FILE_MAX, &files[i].data, &files[i].n, NULL);
	}
	phx_store_close(PHX_TAKE(store));
	strcpy(path, files[DATABASE].to);
}

static int read_copies(const struct file files[PARTS], struct story *ret)
{
	for (int i = 0; i < PARTS; i++) {
		unlink(files[i].to);
		if (files[i].data)
			assert_int_equal(
				phx_file_write(files[i].to, files[i].data, files[i].n, 0640, &err),
				0);
	}
	int r = read_all(ret);
	phx_store_close(PHX_TAKE(store));
	return r;
}

/* How many of FLIPS single bits of that file are refused; all others change nothing. */
static uint32_t flip_bits(enum part part)
{
	struct file files[PARTS];
	struct story want, got;
	uint32_t seed = 20261122, refused = 0;
	take(files);
	assert_int_equal(read_copies(files, &want), 0);
	assert_int_equal(want.n, 2 * EVENTS); /* all at once, and by node */
	for (size_t i = 0; i < FLIPS; i++) {
		/* the first bytes are the head of the file: all of them */
		size_t at = i < 100 ? i : draw(&seed) % files[part].n;
		char bit = (char)(1 << draw(&seed) % 8);
		files[part].data[at] ^= bit;
		int r = read_copies(files, &got);
		files[part].data[at] ^= bit;
		if (r == 0 && (got.digest != want.digest || got.n != want.n))
			fail_msg("byte %zu, bit 0x%02x: it starts with other events", at,
				 (unsigned char)bit);
		if (r < 0 && !err.text[0])
			fail_msg("byte %zu, bit 0x%02x: refused, and nothing is said", at,
				 (unsigned char)bit);
		refused += r < 0;
	}
	for (int i = 0; i < PARTS; i++)
		free(files[i].data);
	return refused;
}

static void fill(void)
{
	append_many(1, EVENTS);
	assert_int_equal(phx_store_snapshot(store, EVENTS - 10, "{\"at\":50}", &err), 0);
	assert_int_equal(phx_store_snapshot(store, EVENTS, "{\"at\":60}", &err), 0);
}

static void a_bit_of_the_database(void **state)
{
	(void)state;
	fill();
	phx_store_close(PHX_TAKE(store)); /* all is in the database */
	assert_true(flip_bits(DATABASE) > FLIPS / 10);
}

static void a_bit_of_the_log(void **state)
{
	(void)state;
	fill();
	assert_true(flip_bits(LOG) > FLIPS / 2);
}

/* the journal is sound: that its mark is not is told, and no more */
static void a_bit_of_the_mark(void **state)
{
	(void)state;
	fill();
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(flip_bits(MARK), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_was_written_is_believed),
		T(a_changed_row_is_named),
		T(the_last_event_taken_out_is_missed),
		T(one_event_taken_out_is_missed),
		T(what_is_accepted_is_believed_from_then_on),
		T(forgetting_moves_the_beginning),
		T(an_old_journal_is_read_and_covered_from_then_on),
		T(an_older_copy_is_told),
		T(a_journal_without_its_log_is_told),
		T(another_journal_is_told),
		T(a_damaged_mark_is_told_and_made_anew),
		T(a_removed_journal_takes_nothing_more),
		T(damage_around_the_events_is_mended),
		T(a_mending_that_was_cut_off_is_done_at_the_next_start),
		T(a_changed_snapshot_is_not_believed),
		T(a_bit_of_the_database),
		T(a_bit_of_the_log),
		T(a_bit_of_the_mark),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
