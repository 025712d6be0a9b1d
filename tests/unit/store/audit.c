/* Whoever has the disk of the head, and even SQLite and the rule by which hashes
 * are made, alters the journal: phx_store_audit() finds it by an anchor that
 * left before, whatever was done. What is altered behind the last anchor is
 * found where it does not fit; what is taken away there, is not. */
#include "unit/store/audited.h"

enum { TRIES = 1000 };

static sqlite3 *open_copy(void)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(copy, &db), SQLITE_OK);
	run(db, "PRAGMA synchronous=OFF; PRAGMA secure_delete=OFF");
	return db;
}

/* ---- a thousand ways ---- */

/* Who knows the rule writes the hashes anew, from event `from` to the end. */
static void hash_anew(sqlite3 *db, uint64_t from)
{
	struct phx_chain at = {0};
	sqlite3_stmt *st = NULL, *set = NULL;
	sqlite3_prepare_v2(db,
			   "SELECT seq,time_ms,kind,node,event,actions,hash FROM events WHERE "
			   "seq>=?1 ORDER BY seq",
			   -1, &st, NULL);
	sqlite3_prepare_v2(db, "UPDATE events SET hash=?2 WHERE seq=?1", -1, &set, NULL);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)from - 1);
	while (sqlite3_step(st) == SQLITE_ROW) {
		struct phx_store_event ev = {(uint64_t)sqlite3_column_int64(st, 0),
					     sqlite3_column_int64(st, 1),
					     (const char *)sqlite3_column_text(st, 2),
					     (const char *)sqlite3_column_text(st, 3),
					     (const char *)sqlite3_column_text(st, 4),
					     (const char *)sqlite3_column_text(st, 5)};
		if (ev.seq < from) {
			at.seq = ev.seq;
			memcpy(at.hash, sqlite3_column_blob(st, 6), PHX_CHAIN_HASH);
			continue;
		}
		if (!at.seq) { /* from the first on: what the chain's own row says */
			sqlite3_stmt *own = NULL;
			sqlite3_prepare_v2(db, "SELECT hash FROM chain", -1, &own, NULL);
			sqlite3_step(own);
			memcpy(at.hash, sqlite3_column_blob(own, 0), PHX_CHAIN_HASH);
			sqlite3_finalize(own);
		}
		assert_int_equal(phx_chain_next(&at, &ev, &at), 0);
		sqlite3_bind_int64(set, 1, (sqlite3_int64)ev.seq);
		sqlite3_bind_blob(set, 2, at.hash, PHX_CHAIN_HASH, SQLITE_TRANSIENT);
		sqlite3_step(set);
		sqlite3_reset(set);
	}
	sqlite3_finalize(st);
	sqlite3_finalize(set);
}

static uint64_t alter(sqlite3 *db, struct phx_rng *rng)
{
	static const char *const ways[] = {"time_ms=time_ms+1",
					   "kind='tock'",
					   "node=node||'0'",
					   "event=replace(event,':','>')",
					   "actions='[{}]'",
					   "event=CAST(event AS BLOB)",
					   "event='{\"by\":\"uid:0\"}'"};
	uint64_t seq = 1 + phx_rng_below(rng, ANCHORED);
	run(db, "UPDATE events SET %s WHERE seq=%llu",
	    ways[phx_rng_below(rng, PHX_ARRAY_SIZE(ways))], (unsigned long long)seq);
	return seq;
}

static uint64_t take_out(sqlite3 *db, struct phx_rng *rng)
{
	uint64_t seq = 1 + phx_rng_below(rng, ANCHORED), n = 1 + phx_rng_below(rng, 4);
	run(db, "DELETE FROM events WHERE seq>=%llu AND seq<%llu", (unsigned long long)seq,
	    (unsigned long long)(seq + n));
	if (phx_rng_below(rng, 2)) /* and the rest moves up */
		run(db, "UPDATE events SET seq=seq-%llu WHERE seq>%llu", (unsigned long long)n,
		    (unsigned long long)seq);
	return seq;
}

static uint64_t put_in(sqlite3 *db, struct phx_rng *rng)
{
	uint64_t seq = 1 + phx_rng_below(rng, ANCHORED);
	run(db,
	    "UPDATE events SET seq=-seq-1 WHERE seq>=%llu; UPDATE events SET seq=-seq WHERE seq<0;"
	    "INSERT INTO events SELECT %llu,time_ms,kind,node,'{\"by\":\"uid:0\"}',actions,hash "
	    "FROM events WHERE seq=%llu",
	    (unsigned long long)seq, (unsigned long long)seq, (unsigned long long)seq + 1);
	return seq;
}

static uint64_t swap(sqlite3 *db, struct phx_rng *rng)
{
	uint64_t a = 1 + phx_rng_below(rng, ANCHORED - 1);
	uint64_t b = a + 1 + phx_rng_below(rng, EVENTS - a);
	run(db,
	    "UPDATE events SET seq=-1 WHERE seq=%llu; UPDATE events SET seq=%llu WHERE seq=%llu;"
	    "UPDATE events SET seq=%llu WHERE seq=-1",
	    (unsigned long long)a, (unsigned long long)a, (unsigned long long)b,
	    (unsigned long long)b);
	return a;
}

static uint64_t cut_off(sqlite3 *db, struct phx_rng *rng)
{
	uint64_t seq = 1 + phx_rng_below(rng, ANCHORED);
	run(db, "DELETE FROM events WHERE seq>=%llu", (unsigned long long)seq);
	return seq;
}

/* As if they had been forgotten. */
static uint64_t cut_beginning(sqlite3 *db, struct phx_rng *rng)
{
	uint64_t seq = 1 + phx_rng_below(rng, ANCHORED);
	run(db,
	    "UPDATE chain SET seq=%llu,hash=(SELECT hash FROM events WHERE seq=%llu);"
	    "DELETE FROM events WHERE seq<=%llu",
	    (unsigned long long)seq, (unsigned long long)seq, (unsigned long long)seq);
	return seq + 1;
}

static void nothing_before_the_last_anchor_is_altered_unnoticed(void **state)
{
	static uint64_t (*const ways[])(sqlite3 *, struct phx_rng *) = {
		alter, take_out, put_in, swap, cut_off, cut_beginning};
	PHX_AUTO_FREE char *whole = NULL;
	size_t n = 0;
	unsigned n_found = 0;
	struct phx_rng rng = {.state = 11};
	(void)state;
	append(1, EVENTS, 1000);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(phx_file_read(path, 1 << 24, &whole, &n, &err), 0);
	for (unsigned i = 0; i < TRIES; i++) {
		FILE *f = fopen(copy, "w");
		assert_int_equal(fwrite(whole, 1, n, f), n);
		fclose(f);
		sqlite3 *db = open_copy();
		run(db, "BEGIN");
		uint64_t seq = ways[i % PHX_ARRAY_SIZE(ways)](db, &rng);
		bool anew = phx_rng_below(&rng, 2);
		if (anew)
			hash_anew(db, seq);
		run(db, "COMMIT");
		assert_int_equal(sqlite3_close(db), SQLITE_OK);
		int r = audit(copy);
		bool is = r == PHX_AUDIT_ROW || r == PHX_AUDIT_ANCHOR;
		if (!is)
			print_error("try %u, event %llu%s: %d '%s' '%s'\n", i,
				    (unsigned long long)seq, anew ? ", hashed anew" : "", r,
				    found.text, err.text);
		n_found += is;
	}
	print_message("%u of %d found\n", n_found, TRIES);
	assert_int_equal(n_found, TRIES);
	is_good(path);
}

/* ---- one by one ---- */

static void what_was_written_passes(void **state)
{
	(void)state;
	append(1, EVENTS, 1000);
	phx_store_close(PHX_TAKE(store));
	is_good(path);
	assert_int_equal(found.first, 1);
	assert_int_equal(found.last, EVENTS);
	assert_int_equal(found.proven, ANCHORED);
	assert_int_equal(found.n_proofs, ANCHORED / ANCHOR_EVERY);
	assert_int_equal(found.uncovered + found.forgotten + found.accepted, 0);
	/* without anchors, too, and without the key */
	phx_list_fini(&anchors);
	assert_int_equal(phx_store_audit(path, &anchors, "/nonexistent", &found, &err), 0);
	assert_int_equal(found.n_proofs, 0);
}

/* beside a head that has it open */
static void it_is_looked_at_while_it_is_written(void **state)
{
	(void)state;
	append(1, 50, 1000);
	is_good(path);
	assert_int_equal(found.last, 50);
	append(51, 60, 1000);
	is_good(path);
	assert_int_equal(found.last, 60);
}

static void the_first_that_does_not_fit_is_named(void **state)
{
	(void)state;
	append(1, EVENTS, 1000);
	meddle("UPDATE events SET node='n9' WHERE seq IN (37,51)");
	is_found(path, PHX_AUDIT_ROW, "event 37 is not as it was written");
	meddle("DELETE FROM events WHERE seq=12");
	is_found(path, PHX_AUDIT_ROW, "event 12 is missing");
}

static void what_is_gone_behind_the_last_anchor_is_not_known(void **state)
{
	(void)state;
	append(1, EVENTS, 1000);
	meddle("DELETE FROM events WHERE seq>110");
	is_good(path);
	assert_int_equal(found.last, 110);
	assert_int_equal(found.proven, ANCHORED);
	meddle("DELETE FROM events WHERE seq>99");
	is_found(path, PHX_AUDIT_ROW,
		 "event 100 is missing: the journal ends with event 99, and the anchor of event "
		 "100");
}

static void a_clock_that_was_set_back_is_no_alteration(void **state)
{
	(void)state;
	append(1, 50, 1000);
	append(51, EVENTS, -5000);
	PHX_LIST_EACH(struct phx_anchor, a, &anchors)
		a->time_ms = 1000000 - (int64_t)a->seq; /* it leaves no room for an order by time */
	phx_store_close(PHX_TAKE(store));
	is_good(path);
	assert_int_equal(found.proven, ANCHORED);
}

static void another_journal_in_its_place_is_told(void **state)
{
	(void)state;
	append(1, 60, 1000);
	phx_store_close(PHX_TAKE(store));
	assert_int_equal(unlink(path), 0);
	char mark[112];
	snprintf(mark, sizeof(mark), "%s.mark", path);
	unlink(mark);
	struct phx_list of_before = anchors;
	anchors = (struct phx_list){0};
	open_store();
	append(1, 60, 1000);
	phx_list_fini(&anchors);
	anchors = of_before;
	is_found(path, PHX_AUDIT_ANCHOR, "is of journal");
}

/* ---- where the chain begins ---- */

static void forget_some(void)
{
	append(1, 80, 1000);
	assert_int_equal(phx_store_snapshot(store, 70, "{}", &err), 0);
	assert_int_equal(phx_store_snapshot(store, 80, "{}", &err), 0);
	assert_int_equal(phx_store_prune(store, 1000000 + 51 * 1000, &err), 50);
	append(81, EVENTS, 1000);
}

static void what_was_forgotten_is_told(void **state)
{
	(void)state;
	forget_some();
	is_good(path);
	assert_int_equal(found.forgotten, 50);
	assert_int_equal(found.first, 51);
	assert_int_equal(found.n_forgotten, 2);
	assert_int_equal(found.proven, ANCHORED);
	/* and once more: one line is left */
	assert_int_equal(phx_store_prune(store, 1000000 + 61 * 1000, &err), 10);
	is_good(path);
	assert_int_equal(found.forgotten, 60);
	assert_int_equal(found.n_forgotten + found.n_proofs, ANCHORED / ANCHOR_EVERY);
	open_store();
	assert_int_equal(phx_store_seal(store, PHX_ANCHOR_BEGUN, &err), 0);
}

static void nobody_forgets_without_the_key(void **state)
{
	(void)state;
	forget_some();
	meddle("UPDATE begins SET line=replace(line,'event 50','event 55'),seq=55");
	is_found(path, PHX_AUDIT_ROW, "not signed");
	meddle("DELETE FROM begins");
	is_found(path, PHX_AUDIT_ROW,
		 "its chain begins after event 50, and nothing that is signed");
}

static void what_was_forgotten_does_not_come_back(void **state)
{
	(void)state;
	forget_some();
	meddle("INSERT INTO events SELECT 3,time_ms,kind,node,event,actions,hash FROM events WHERE "
	       "seq=60");
	is_found(path, PHX_AUDIT_ROW, "event 3 was forgotten, and is there");
}

static void a_journal_of_before_begins_where_it_is_adopted(void **state)
{
	(void)state;
	phx_list_fini(&anchors);
	append(1, 19, 1000);
	meddle("DELETE FROM chain; UPDATE events SET hash=NULL");
	open_store();
	assert_int_equal(phx_store_seal(store, PHX_ANCHOR_BEGUN, &err), 1);
	assert_int_equal(phx_store_seal(store, PHX_ANCHOR_BEGUN, &err), 0);
	append(20, EVENTS, 1000);
	is_good(path);
	assert_int_equal(found.uncovered, 19);
	assert_int_equal(found.proven, ANCHORED);
	meddle("UPDATE events SET node='n9' WHERE seq=20");
	is_found(path, PHX_AUDIT_ROW, "event 20 is not as it was written");
}

static void nobody_makes_a_journal_older_than_its_anchors(void **state)
{
	(void)state;
	append(1, 60, 1000);
	meddle("UPDATE events SET node='n9' WHERE seq=30;"
	       "UPDATE chain SET seq=60,hash=(SELECT hash FROM events WHERE seq=60)");
	open_store();
	assert_int_equal(phx_store_seal(store, PHX_ANCHOR_BEGUN, &err), 1);
	append(61, EVENTS, 1000);
	is_found(path, PHX_AUDIT_ANCHOR, "the chain is said to begin after it");
}

static void an_accepted_journal_goes_on_and_says_so(void **state)
{
	(void)state;
	append(1, 50, 1000);
	meddle("UPDATE events SET node='n9' WHERE seq=45");
	accept();
	append(51, EVENTS, 1000);
	is_good(path);
	assert_int_equal(found.accepted, 50);
	assert_int_equal(found.unfit, 45);
	assert_int_equal(found.proven, ANCHORED);
	meddle("UPDATE events SET node='n9' WHERE seq=52");
	is_found(path, PHX_AUDIT_ROW, "event 52 is not");
}

static void accepting_hides_nothing_that_an_anchor_knows(void **state)
{
	(void)state;
	append(1, 50, 1000);
	meddle("UPDATE events SET node='n9' WHERE seq=25");
	accept();
	append(51, EVENTS, 1000);
	is_found(path, PHX_AUDIT_ROW,
		 "event 25 is not as it was written (the journal was accepted");
}

static void what_is_no_journal_is_told(void **state)
{
	(void)state;
	assert_int_equal(audit("/nonexistent/journal.db"), -ENOENT);
	assert_int_equal(phx_file_write(copy, "no database at all", 18, 0600, &err), 0);
	assert_int_equal(audit(copy), -EBADMSG);
	meddle("DROP TABLE begins");
	assert_int_equal(audit(path), -EBADMSG);
	assert_non_null(strstr(err.text, "a Phoenix of before wrote it"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_was_written_passes),
		TEST(it_is_looked_at_while_it_is_written),
		TEST(the_first_that_does_not_fit_is_named),
		TEST(what_is_gone_behind_the_last_anchor_is_not_known),
		TEST(a_clock_that_was_set_back_is_no_alteration),
		TEST(another_journal_in_its_place_is_told),
		TEST(what_was_forgotten_is_told),
		TEST(nobody_forgets_without_the_key),
		TEST(what_was_forgotten_does_not_come_back),
		TEST(a_journal_of_before_begins_where_it_is_adopted),
		TEST(nobody_makes_a_journal_older_than_its_anchors),
		TEST(an_accepted_journal_goes_on_and_says_so),
		TEST(accepting_hides_nothing_that_an_anchor_knows),
		TEST(what_is_no_journal_is_told),
		TEST(nothing_before_the_last_anchor_is_altered_unnoticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
