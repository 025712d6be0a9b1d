/* Where the chain of a journal begins if not with the first event: old events were forgotten, a
 * journal from before chains was adopted, or a damaged one was accepted. A line signed by the
 * site's key says so, so that nobody else can cut the beginning off (pki/anchor.h); lines are kept
 * as long as the chain needs them. Called by the daemon's engine and, after a snapshot, by its
 * journal. */
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

void phx_store_sign_with(struct phx_store *s, const struct phx_signer *signer)
{
	s->signer = *signer;
}

static void describe(const struct phx_store *s, enum phx_anchor_kind kind,
		     const struct phx_chain *at, struct phx_anchor *ret)
{
	*ret = (struct phx_anchor){.kind = kind, .seq = at->seq, .time_ms = phx_wall_ms()};
	snprintf(ret->journal, sizeof(ret->journal), "%s", s->id);
	phx_chain_hex(at->hash, ret->hash);
}

/* Adds the hash of the older snapshot: a start can continue from it if the newest is damaged. */
static int digest_snapshot(struct phx_store *s, struct phx_anchor *ret, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, "SELECT hash FROM snapshots ORDER BY seq LIMIT 1", -1,
				    &st, NULL);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW &&
	    sqlite3_column_bytes(st, 0) == PHX_CHAIN_HASH)
		phx_chain_hex(sqlite3_column_blob(st, 0), ret->snapshot);
	sqlite3_finalize(st);
	return rc == SQLITE_OK ? 0 : phx_store_failed(s, rc, err);
}

static int insert_line(struct phx_store *s, const struct phx_anchor *a, struct phx_err *err)
{
	char line[PHX_ANCHOR_LINE_MAX];
	sqlite3_stmt *st = NULL;
	phx_anchor_format(a, line);
	int rc = sqlite3_prepare_v2(s->db, "INSERT INTO begins(seq,line) VALUES(?1,?2)", -1, &st,
				    NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)a->seq);
		sqlite3_bind_text(st, 2, line, -1, SQLITE_STATIC);
		rc = sqlite3_step(st);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : phx_store_failed(s, rc, err);
}

static int sign_line(struct phx_store *s, enum phx_anchor_kind kind, const struct phx_chain *at,
		     struct phx_err *err)
{
	struct phx_anchor a;
	if (!s->signer.sign || !at->seq)
		return 0;
	describe(s, kind, at, &a);
	int r = kind == PHX_ANCHOR_FORGOTTEN ? digest_snapshot(s, &a, err) : 0;
	r = r ? r : phx_anchor_sign(&a, &s->signer, err);
	return r ? r : insert_line(s, &a, err);
}

int phx_store_seal(struct phx_store *s, enum phx_anchor_kind kind, struct phx_err *err)
{
	char query[96];
	int64_t n = 0;
	pthread_mutex_lock(&s->lock);
	snprintf(query, sizeof(query), "SELECT COUNT(*) FROM begins WHERE seq=%llu",
		 (unsigned long long)s->begin.seq);
	int r = phx_store_number(s, query, &n, err);
	bool needed = r == 0 && !n && s->begin.seq && s->signer.sign;
	r = needed ? sign_line(s, kind, &s->begin, err) : r;
	pthread_mutex_unlock(&s->lock);
	return r < 0 ? r : needed;
}

int phx_store_reached(struct phx_store *s, struct phx_anchor *ret)
{
	pthread_mutex_lock(&s->lock);
	bool any = s->end.seq > s->begin.seq;
	if (any)
		describe(s, PHX_ANCHOR_REACHED, &s->end, ret);
	pthread_mutex_unlock(&s->lock);
	return any ? 0 : -ENODATA;
}

/* ---- forgetting ---- */

/* The last event that may go: the older of two snapshots contains it, it is old enough, and at most
 * 10,000 go at once. */
static const char last_to_go[] =
	"WITH f AS (SELECT MIN(seq) AS seq FROM events) SELECT COALESCE(MIN("
	" (SELECT CASE COUNT(*) WHEN 2 THEN MIN(seq) ELSE 0 END FROM snapshots), f.seq+9999,"
	" COALESCE((SELECT seq-1 FROM events WHERE time_ms>=%lld AND seq<f.seq+10000 ORDER BY seq "
	"LIMIT 1), f.seq+9999)"
	"),0) FROM f";

static int delete_to(struct phx_store *s, uint64_t seq, const struct phx_chain *at, int *ret_n,
		     struct phx_err *err)
{
	char text[128];
	snprintf(text, sizeof(text), "DELETE FROM about WHERE seq<=%llu", (unsigned long long)seq);
	int r = phx_store_execute(s, text, err);
	snprintf(text, sizeof(text), "DELETE FROM events WHERE seq<=%llu", (unsigned long long)seq);
	r = r ? r : phx_store_execute(s, text, err);
	*ret_n = sqlite3_changes(s->db);
	r = r ? r : phx_chain_begin_at(s, at, err);
	if (r < 0 || at->seq == s->begin.seq)
		return r;
	snprintf(text, sizeof(text), "DELETE FROM begins WHERE seq<=%llu",
		 (unsigned long long)at->seq);
	r = phx_store_execute(s, text, err);
	return r ? r : sign_line(s, PHX_ANCHOR_FORGOTTEN, at, err);
}

/* The chain then begins after the last forgotten event. */
static int prune_to(struct phx_store *s, uint64_t seq, struct phx_err *err)
{
	struct phx_chain at = s->begin;
	int n = 0, r = seq > s->begin.seq ? phx_chain_at(s, seq, &at, err) : 0;
	if (r == -ENOENT)
		return phx_err_set(err, -EBADMSG, "journal: event %llu has no hash",
				   (unsigned long long)seq);
	r = r ? r : phx_store_execute(s, "BEGIN IMMEDIATE", err);
	if (r < 0)
		return r;
	r = delete_to(s, seq, &at, &n, err);
	r = r ? r : phx_store_execute(s, "COMMIT", err);
	if (r < 0) {
		phx_store_execute(s, "ROLLBACK", NULL);
		return r;
	}
	s->begin = at;
	return n;
}

int phx_store_prune(struct phx_store *s, int64_t before_ms, struct phx_err *err)
{
	char text[sizeof(last_to_go) + 24];
	int64_t seq = 0, first = 0;
	snprintf(text, sizeof(text), last_to_go, (long long)before_ms);
	pthread_mutex_lock(&s->lock);
	int r = phx_store_number(s, text, &seq, err);
	r = r ? r : phx_store_number(s, "SELECT COALESCE(MIN(seq),0) FROM events", &first, err);
	if (r == 0 && first && seq >= first)
		r = prune_to(s, (uint64_t)seq, err);
	pthread_mutex_unlock(&s->lock);
	return r;
}
