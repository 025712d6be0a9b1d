/* The journal on real files: what was acknowledged is there, what was refused is not, and damage is
 * told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "fake/append_one.h"
#include "store/internal.h"

static char dir[64], path[96];
static struct phx_store *store;
static struct phx_err err;

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-store.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/journal.db", dir);
	phx_err_clear(&err);
	store = NULL;
	return phx_store_open(path, &store, &err);
}

static int teardown(void **state)
{
	char small[128];
	(void)state;
	phx_store_close(PHX_TAKE(store));
	snprintf(small, sizeof(small), "%s/small", dir);
	umount2(small, MNT_DETACH); /* of a test that ended badly */
	return phx_dir_remove(dir, NULL);
}

static void reopen(void)
{
	phx_store_close(PHX_TAKE(store));
	phx_err_clear(&err);
	assert_int_equal(phx_store_open(path, &store, &err), 0);
}

static int append(uint64_t seq, const char *node)
{
	char event[64];
	snprintf(event, sizeof(event), "{\"n\":%llu}", (unsigned long long)seq);
	phx_err_clear(&err);
	return append_one(store, seq, (int64_t)seq * 10, "tick", node, event, "[]", NULL, &err);
}

static void append_many(uint64_t first, uint64_t last)
{
	for (uint64_t seq = first; seq <= last; seq++)
		assert_int_equal(append(seq, seq % 2 ? "odd" : "even"), 0);
}

struct walk {
	char seqs[256];
	char node[16];
	int end_after, code;
};

static int note(void *arg, const struct phx_store_event *ev)
{
	struct walk *w = arg;
	char event[64];
	snprintf(event, sizeof(event), "{\"n\":%llu}", (unsigned long long)ev->seq);
	assert_string_equal(ev->event, event);
	assert_string_equal(ev->kind, "tick");
	assert_string_equal(ev->actions, "[]");
	assert_int_equal(ev->time_ms, ev->seq * 10);
	snprintf(w->node, sizeof(w->node), "%s", ev->node);
	snprintf(w->seqs + strlen(w->seqs), sizeof(w->seqs) - strlen(w->seqs), "%llu ",
		 (unsigned long long)ev->seq);
	return w->end_after && --w->end_after == 0 ? w->code : 0;
}

static void events_are(uint64_t after, uint32_t limit, const char *node, const char *want)
{
	struct walk w = {0};
	assert_int_equal(phx_store_events(store, after, limit, node, note, &w, &err), 0);
	assert_string_equal(w.seqs, want);
}

/* Runs SQL with a connection of its own: what somebody else could do to the file. */
static void meddle(const char *sql)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- events ---- */

static void an_empty_journal(void **state)
{
	uint64_t seq = 7;
	char *text = (char *)"x";
	(void)state;
	assert_int_equal(phx_store_last(store), 0);
	events_are(0, 0, NULL, "");
	assert_int_equal(phx_store_latest(store, &seq, &text, &err), 0);
	assert_int_equal(seq, 0);
	assert_null(text);
}

static void appended_is_there_after_reopening(void **state)
{
	(void)state;
	append_many(1, 5);
	assert_int_equal(phx_store_last(store), 5);
	reopen();
	assert_int_equal(phx_store_last(store), 5);
	events_are(0, 0, NULL, "1 2 3 4 5 ");
	append_many(6, 7);
	events_are(5, 0, NULL, "6 7 ");
}

static void walks_from_limit_and_node(void **state)
{
	(void)state;
	append_many(1, 9);
	events_are(4, 3, NULL, "5 6 7 ");
	events_are(9, 0, NULL, "");
	events_are(UINT64_MAX >> 1, 0, NULL, "");
	events_are(0, 0, "even", "2 4 6 8 ");
	events_are(3, 2, "odd", "5 7 ");
	events_are(0, 0, "nobody", "");
	events_are(0, 0, NULL, "1 2 3 4 5 6 7 8 9 "); /* the filter is gone again */
}

/* Steps of SQLite's machine, in hundreds, that the daemon's own connection makes. */
static int count_steps(void *arg)
{
	++*(int *)arg;
	return 0;
}

/* Anybody may ask for the events of any name, and the journal's lock is held meanwhile. */
static void the_events_of_a_node_are_not_looked_for_among_all(void **state)
{
	enum { MANY = 20000, STEPS = 100 };
	static const char *const names[] = {"nobody", "odd", "early"};
	static const char *const want[] = {"", "20003 ", ""};
	(void)state;
	assert_int_equal(append(1, "early"), 0);
	phx_store_close(PHX_TAKE(store));
	meddle("WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i<20001)"
	       " INSERT INTO events(seq,time_ms,kind,node,event,actions)"
	       " SELECT i,i*10,'tick','other','{\"n\":'||i||'}','[]' FROM n");
	reopen();
	append_many(MANY + 2, MANY + 3);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++) {
		int steps = 0;
		sqlite3_progress_handler(store->db, STEPS, count_steps, &steps);
		events_are(1, 1, names[i], want[i]);
		sqlite3_progress_handler(store->db, 0, NULL, NULL);
		assert_true(steps * STEPS < MANY / 10);
	}
}

static void a_walk_can_be_ended(void **state)
{
	struct walk w = {.end_after = 2, .code = -ECANCELED};
	(void)state;
	append_many(1, 4);
	assert_int_equal(phx_store_events(store, 0, 0, NULL, note, &w, &err), -ECANCELED);
	assert_string_equal(w.seqs, "1 2 ");
	events_are(0, 0, NULL, "1 2 3 4 ");
}

static void a_gap_is_refused(void **state)
{
	static const uint64_t wrong[] = {0, 1, 2, 3, 5, 100, UINT64_MAX};
	(void)state;
	append_many(1, 3);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		assert_int_equal(append(wrong[i], "n"), -EPROTO);
		assert_non_null(strstr(err.text, "does not follow 3"));
	}
	append_many(4, 4);
	reopen();
	events_are(0, 0, NULL, "1 2 3 4 ");
}

static void text_comes_back_as_it_went(void **state)
{
	static const char event[] =
		"{\"text\":\"it's \\\"quoted\\\"; DROP TABLE events; -- ä\\u0001\"}";
	sqlite3 *db;
	sqlite3_stmt *st;
	(void)state;
	assert_int_equal(append_one(store, 1, 1, "k'", "n'", event, "[\"ü\"]", NULL, &err), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT event FROM events", -1, &st, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(st, 0), event);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

/* ---- snapshots ---- */

static void the_newest_snapshot(void **state)
{
	uint64_t seq;
	char *text;
	(void)state;
	append_many(1, 3);
	assert_int_equal(phx_store_snapshot(store, 2, "{\"at\":2}", &err), 0);
	assert_int_equal(phx_store_snapshot(store, 3, "{\"at\":3}", &err), 0);
	assert_int_equal(phx_store_snapshot(store, 3, "{\"at\":33}", &err), 0); /* again */
	reopen();
	assert_int_equal(phx_store_latest(store, &seq, &text, &err), 0);
	assert_int_equal(seq, 3);
	assert_string_equal(text, "{\"at\":33}");
	free(text);
	assert_int_equal(phx_store_latest_before(store, 3, &seq, &text, &err), 0);
	assert_int_equal(seq, 2);
	assert_string_equal(text, "{\"at\":2}");
	free(text);
	assert_int_equal(phx_store_latest_before(store, 2, &seq, &text, &err), 0);
	assert_int_equal(seq, 0);
	assert_null(text);
	events_are(0, 0, NULL, "1 2 3 "); /* the journal is kept */
}

static int count_rows(const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int n = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return n;
}

/* A large one is packed, and comes back as it was; one in which something was changed is none. */
static void a_large_snapshot_is_packed(void **state)
{
	enum { LARGE = 3 << 20 };
	uint64_t seq;
	PHX_AUTO_FREE char *large = malloc(LARGE + 1);
	char *text = NULL;
	sqlite3 *db = NULL;
	(void)state;
	append_many(1, 3);
	uint32_t draw = 1; /* nothing that is packed into nothing */
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (char)('a' + ((draw = draw * 1664525 + 1013904223) >> 24) % 16);
	large[LARGE] = '\0';
	assert_int_equal(phx_store_snapshot(store, 2, large, &err), 0);
	reopen();
	assert_int_equal(phx_store_latest(store, &seq, &text, &err), 0);
	assert_int_equal(seq, 2);
	assert_string_equal(text, large);
	free(PHX_TAKE(text));
	assert_true(count_rows("SELECT length(state) FROM snapshots") < LARGE);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE snapshots SET state = substr(state, 1, 1000)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(phx_store_latest(store, &seq, &text, &err), -EBADMSG);
	assert_null(text);
}

static void old_snapshots_go(void **state)
{
	(void)state;
	for (uint64_t seq = 1; seq <= 10; seq++) {
		assert_int_equal(append(seq, "n"), 0);
		assert_int_equal(phx_store_snapshot(store, seq, "{}", &err), 0);
	}
	assert_int_equal(count_rows("SELECT COUNT(*) FROM snapshots"), 2);
	assert_int_equal(count_rows("SELECT MIN(seq) FROM snapshots"), 9);
}

/* ---- erase records ---- */

static int note_erasure(void *arg, const struct phx_store_erasure *e)
{
	struct walk *w = arg;
	assert_string_equal(e->signature, "aabb");
	snprintf(w->seqs + strlen(w->seqs), sizeof(w->seqs) - strlen(w->seqs), "%llu:%s ",
		 (unsigned long long)e->step_id, e->record);
	return 0;
}

static int append_erasure(uint64_t seq, uint64_t step, const char *node, const char *record)
{
	struct phx_store_erasure e = {step, node, record, "aabb"};
	return append_one(store, seq, 1, "step_result", node, "{}", "[]", &e, &err);
}

static void erase_records_come_with_their_event(void **state)
{
	struct walk w = {0};
	(void)state;
	assert_int_equal(append_erasure(1, 11, "n1", "first"), 0);
	assert_int_equal(append_erasure(2, 12, "n2", "other"), 0);
	assert_int_equal(append_erasure(3, 13, "n1", "second"), 0);
	reopen();
	assert_int_equal(phx_store_erasures(store, "n1", note_erasure, &w, &err), 0);
	assert_string_equal(w.seqs, "11:first 13:second ");
}

/* The same step told twice is one erase; what was signed first stays. */
static void a_step_has_one_erase_record(void **state)
{
	struct walk w = {0};
	(void)state;
	assert_int_equal(append_erasure(1, 11, "n1", "first"), 0);
	assert_int_equal(append_erasure(2, 11, "n1", "again"), 0);
	assert_int_equal(phx_store_erasures(store, "n1", note_erasure, &w, &err), 0);
	assert_string_equal(w.seqs, "11:first ");
}

static void a_refused_event_leaves_no_erase_record(void **state)
{
	struct walk w = {0};
	(void)state;
	assert_int_equal(append_erasure(5, 11, "n1", "first"), -EPROTO);
	assert_int_equal(phx_store_erasures(store, "n1", note_erasure, &w, &err), 0);
	assert_string_equal(w.seqs, "");
	assert_int_equal(phx_store_last(store), 0);
}

/* ---- what is wrong with files ---- */

static void open_fails(const char *file, int code, const char *why)
{
	struct phx_store *other = NULL;
	phx_err_clear(&err);
	assert_int_equal(phx_store_open(file, &other, &err), code);
	assert_null(other);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
}

static void written_by_a_newer_phoenix(void **state)
{
	(void)state;
	append_many(1, 1);
	phx_store_close(PHX_TAKE(store));
	meddle("PRAGMA user_version=7");
	open_fails(path, -EPROTONOSUPPORT, "newer Phoenix (schema 7, this one: 6)");
	meddle("PRAGMA user_version=6");
	reopen();
	events_are(0, 0, NULL, "1 ");
}

static void scribble(off_t at, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pwrite(fd, "\xa5", 1, at + (off_t)i), 1);
	close(fd);
}

static void a_file_that_is_no_journal(void **state)
{
	(void)state;
	phx_store_close(PHX_TAKE(store));
	scribble(0, 4096);
	open_fails(path, -EBADMSG, "journal.db: journal: ");
}

static void a_damaged_page_is_told(void **state)
{
	struct walk w = {0};
	struct stat st;
	(void)state;
	append_many(1, 30);
	for (uint64_t i = 31; i <= 400; i++)
		assert_int_equal(append(i, "n"), 0);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 8 * 4096);
	scribble(4096, (size_t)st.st_size - 4096); /* all but the first page */
	phx_err_clear(&err);
	int r = phx_store_open(path, &store, &err);
	if (r == 0)
		r = phx_store_events(store, 0, 0, NULL, note, &w, &err);
	assert_int_equal(r, -EBADMSG);
	assert_true(err.text[0]);
}

static void cut_short(void **state)
{
	struct walk w = {0};
	struct stat st;
	(void)state;
	for (uint64_t i = 1; i <= 400; i++)
		assert_int_equal(append(i, "n"), 0);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2 / 4096 * 4096), 0);
	int r = phx_store_open(path, &store, &err);
	if (r == 0)
		r = phx_store_events(store, 0, 0, NULL, note, &w, &err);
	assert_int_equal(r, -EBADMSG);
}

static void places_where_no_journal_can_be(void **state)
{
	char other[128];
	(void)state;
	snprintf(other, sizeof(other), "%s/none/journal.db", dir);
	open_fails(other, -ENOENT, "none/journal.db");
	snprintf(other, sizeof(other), "%s/d", dir);
	assert_int_equal(mkdir(other, 0700), 0);
	open_fails(other, -ENOENT, "/d: journal: ");
}

static void one_daemon_a_journal(void **state)
{
	(void)state;
	append_many(1, 1);
	open_fails(path, -EBUSY, "another phxd has it open");
	append_many(2, 2); /* the first one is not disturbed */
	reopen();
	events_are(0, 0, NULL, "1 2 ");
}

static void memory_for_tests(void **state)
{
	struct phx_store *a = NULL, *b = NULL;
	(void)state;
	assert_int_equal(phx_store_open(":memory:", &a, &err), 0);
	assert_int_equal(phx_store_open(":memory:", &b, &err), 0);
	assert_int_equal(append_one(a, 1, 1, "k", "n", "{}", "[]", NULL, &err), 0);
	assert_int_equal(phx_store_last(a), 1);
	assert_int_equal(phx_store_last(b), 0);
	phx_store_close(a);
	phx_store_close(b);
	phx_store_close(NULL);
}

/* ---- the disk is full, the daemon dies ---- */

static void append_until_full(uint64_t *last, int *code)
{
	static char event[2000];
	memset(event, 'x', sizeof(event) - 1);
	for (*code = 0; *last < 10000; ++*last) {
		phx_err_clear(&err);
		*code = append_one(store, *last + 1, 1, "k", "n", event, "[]", NULL, &err);
		if (*code)
			return;
	}
}

static void full_and_free_again(void **state)
{
	char small[128], ballast[160];
	uint64_t last = 0, seq;
	int code;
	(void)state;
	snprintf(small, sizeof(small), "%s/small", dir);
	assert_int_equal(mkdir(small, 0700), 0);
	if (mount("tmpfs", small, "tmpfs", 0, "size=1m") < 0)
		skip();
	snprintf(ballast, sizeof(ballast), "%s/ballast", small);
	int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int full = fd < 0 ? -1 : posix_fallocate(fd, 0, 400 << 10);
	close(fd);
	phx_store_close(PHX_TAKE(store));
	snprintf(path, sizeof(path), "%s/journal.db", small);
	int opened = phx_store_open(path, &store, &err);
	append_until_full(&last, &code);
	int again = append_one(store, last + 1, 1, "k", "n", "{}", "[]", NULL, NULL);
	int snapshot = phx_store_snapshot(store, last, err.text, NULL);
	(void)snapshot; /* a small one may still fit */
	unlink(ballast);
	int after = again < 0 ? append_one(store, last + 1, 1, "k", "n", "{}", "[]", NULL, &err)
			      : again;
	seq = phx_store_last(store);
	phx_store_close(PHX_TAKE(store));
	int reopened = phx_store_open(path, &store, &err);
	uint64_t found = store ? phx_store_last(store) : 0;
	phx_store_close(PHX_TAKE(store));
	umount(small);
	assert_int_equal(full, 0);
	assert_int_equal(opened, 0);
	assert_int_equal(code, -ENOSPC);
	assert_true(last > 10);
	assert_int_equal(after, 0);
	assert_int_equal(seq, last + 1);
	assert_int_equal(reopened, 0);
	assert_int_equal(found, last + 1);
}

/* A limit on the size of files refuses like a disk that fails: whether it lasts is not known, and
 * nothing half is left. */
static void refused_by_the_file_system(void **state)
{
	struct rlimit old, tight;
	uint64_t last = 0;
	int code;
	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	tight = old;
	tight.rlim_cur = 200 << 10;
	setrlimit(RLIMIT_FSIZE, &tight);
	append_until_full(&last, &code);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(code == PHX_STORE_DOUBT || code == -ENOSPC);
	assert_true(err.text[0]);
	assert_int_equal(append(last + 1, "n"), 0);
	reopen();
	assert_int_equal(phx_store_last(store), last + 1);
}

/* Killed in the middle of writing: every event that was told to be there is there, in one piece. */
static void killed_while_writing(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		int pipes[2];
		uint64_t told = 0, seq;
		phx_store_close(PHX_TAKE(store));
		assert_int_equal(pipe(pipes), 0);
		pid_t child = fork();
		if (child == 0) {
			if (phx_store_open(path, &store, &err) < 0)
				_exit(1);
			for (seq = phx_store_last(store) + 1;; seq++)
				if (append(seq, "n") < 0 ||
				    write(pipes[1], &seq, sizeof(seq)) != sizeof(seq))
					_exit(1);
		}
		close(pipes[1]);
		for (int i = 0; i < 20 + round * 7; i++)
			assert_int_equal(read(pipes[0], &told, sizeof(told)), sizeof(told));
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		while (read(pipes[0], &seq, sizeof(seq)) == sizeof(seq))
			told = seq;
		close(pipes[0]);
		reopen();
		assert_true(phx_store_last(store) == told || phx_store_last(store) == told + 1);
	}
}

static void *read_events(void *arg)
{
	struct walk w;
	(void)arg;
	for (int i = 0; i < 50; i++) {
		w = (struct walk){0};
		if (phx_store_events(store, 0, 5, NULL, note, &w, NULL) < 0 ||
		    strncmp(w.seqs, "1 2 ", 4))
			return (void *)1;
	}
	return NULL;
}

static void readers_beside_the_writer(void **state)
{
	pthread_t reader;
	void *failed = NULL;
	(void)state;
	append_many(1, 2);
	assert_int_equal(pthread_create(&reader, NULL, read_events, NULL), 0);
	append_many(3, 60);
	pthread_join(reader, &failed);
	assert_null(failed);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* ---- forgetting ---- */

static uint64_t first_kept(void)
{
	uint64_t seq;
	int64_t time_ms;
	assert_int_equal(phx_store_first(store, &seq, &time_ms, &err), 0);
	assert_int_equal(time_ms, (int64_t)seq * 1000);
	return seq;
}

static void test_only_what_both_snapshots_have_is_forgotten(void **state)
{
	(void)state;
	uint64_t seq = 99;
	int64_t time_ms = 99;
	assert_int_equal(phx_store_first(store, &seq, &time_ms, &err), 0);
	assert_int_equal(seq + (uint64_t)time_ms, 0);
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 0);
	for (uint64_t i = 1; i <= 30; i++)
		assert_int_equal(
			append_one(store, i, (int64_t)i * 1000, "tick", "", "{}", "[]", NULL, &err),
			0);
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 0); /* no snapshot */
	assert_int_equal(phx_store_snapshot(store, 10, "{}", &err), 0);
	/* one: if it is damaged, all is needed */
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 0);
	assert_int_equal(phx_store_snapshot(store, 20, "{}", &err), 0);
	assert_int_equal(phx_store_prune(store, 5000, &err), 4); /* by age */
	assert_int_equal(first_kept(), 5);
	/* not beyond the older snapshot */
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 6);
	assert_int_equal(first_kept(), 11);
	reopen();
	assert_int_equal(phx_store_last(store), 30);
	assert_int_equal(append_one(store, 31, 31000, "tick", "", "{}", "[]", NULL, &err), 0);
	assert_int_equal(phx_store_snapshot(store, 31, "{}", &err), 0);
	assert_int_equal(phx_store_prune(store, INT64_MAX, &err), 10);
	assert_int_equal(first_kept(), 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_only_what_both_snapshots_have_is_forgotten,
						setup, teardown),
		STORE_TEST(an_empty_journal),
		STORE_TEST(appended_is_there_after_reopening),
		STORE_TEST(walks_from_limit_and_node),
		STORE_TEST(the_events_of_a_node_are_not_looked_for_among_all),
		STORE_TEST(a_walk_can_be_ended),
		STORE_TEST(a_gap_is_refused),
		STORE_TEST(text_comes_back_as_it_went),
		STORE_TEST(the_newest_snapshot),
		STORE_TEST(a_large_snapshot_is_packed),
		STORE_TEST(old_snapshots_go),
		STORE_TEST(erase_records_come_with_their_event),
		STORE_TEST(a_step_has_one_erase_record),
		STORE_TEST(a_refused_event_leaves_no_erase_record),
		STORE_TEST(written_by_a_newer_phoenix),
		STORE_TEST(a_file_that_is_no_journal),
		STORE_TEST(a_damaged_page_is_told),
		STORE_TEST(cut_short),
		STORE_TEST(places_where_no_journal_can_be),
		STORE_TEST(one_daemon_a_journal),
		STORE_TEST(memory_for_tests),
		STORE_TEST(full_and_free_again),
		STORE_TEST(refused_by_the_file_system),
		STORE_TEST(killed_while_writing),
		STORE_TEST(readers_beside_the_writer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
