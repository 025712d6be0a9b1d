/* What a start checks of a journal before it trusts it: that every row is as it was written, that
 * the last one is the last acknowledged one, and that the file is sound. Called by the daemon's
 * engine. Repairs only derived data: snapshots, indexes, free pages. */
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT(st, at) ((const char *)sqlite3_column_text(st, at))

/* Calls `row` for each row of `query`. */
static int each_row(struct phx_store *s, const char *query,
		    int (*row)(struct phx_store *s, sqlite3_stmt *st, void *arg,
			       struct phx_err *err),
		    void *arg, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, query, -1, &st, NULL);
	int r = rc == SQLITE_OK ? 0 : phx_store_failed(s, rc, err);
	while (r == 0 && (rc = sqlite3_step(st)) != SQLITE_DONE)
		r = rc == SQLITE_ROW ? row(s, st, arg, err) : phx_store_failed(s, rc, err);
	sqlite3_finalize(st);
	return r;
}

bool phx_store_has_texts(sqlite3_stmt *st, int first, int last)
{
	for (int i = first; i <= last; i++)
		if (sqlite3_column_type(st, i) != SQLITE_TEXT ||
		    strlen(TEXT(st, i)) != (size_t)sqlite3_column_bytes(st, i))
			return false;
	return true;
}

/* ---- the chain ---- */

static int check_event(struct phx_store *s, sqlite3_stmt *st, void *arg, struct phx_err *err)
{
	struct phx_chain *at = arg;
	uint64_t seq = (uint64_t)sqlite3_column_int64(st, 0);
	if (seq <= s->begin.seq)
		return 0;
	if (seq != at->seq + 1)
		return phx_err_set(err, -EBADMSG, "journal: event %llu is missing",
				   (unsigned long long)at->seq + 1);
	bool whole = sqlite3_column_type(st, 1) == SQLITE_INTEGER && phx_store_has_texts(st, 2, 5);
	struct phx_store_event ev = {seq,         sqlite3_column_int64(st, 1),
				     TEXT(st, 2), TEXT(st, 3),
				     TEXT(st, 4), TEXT(st, 5)};
	struct phx_chain next;
	int r = whole ? phx_chain_next(at, &ev, &next) : 0;
	if (r < 0)
		return r;
	if (!whole || !phx_store_has_hash(st, 6, next.hash))
		return phx_err_set(err, -EBADMSG, "journal: event %llu is not as it was written",
				   (unsigned long long)seq);
	*at = next;
	return 0;
}

static int check_chain(struct phx_store *s, struct phx_err *err)
{
	struct phx_chain at = s->begin;
	int r = each_row(s,
			 "SELECT seq,time_ms,kind,node,event,actions,hash FROM events ORDER BY seq",
			 check_event, &at, err);
	if (r == 0 && at.seq != (s->last > s->begin.seq ? s->last : s->begin.seq))
		r = phx_err_set(err, -EBADMSG, "journal: event %llu is missing",
				(unsigned long long)at.seq + 1);
	return r;
}

/* ---- proofs of erases ---- */

const char phx_store_all_erasures[] = "SELECT step_id,node,record,signature,hash FROM erasures";
const char phx_store_all_attestations[] =
	"SELECT id,time_ms,node,from_owner,to_owner,text,hash FROM attestations";

int phx_store_erasure_fits(sqlite3_stmt *st)
{
	uint8_t hash[PHX_CHAIN_HASH];
	if (!phx_store_has_texts(st, 1, 3))
		return -EBADMSG;
	if (sqlite3_column_type(st, 4) == SQLITE_NULL)
		return 0;
	const struct phx_store_erasure e = {(uint64_t)sqlite3_column_int64(st, 0), TEXT(st, 1),
					    TEXT(st, 2), TEXT(st, 3)};
	int r = phx_chain_erasure(&e, hash);
	return r == 0 && !phx_store_has_hash(st, 4, hash) ? -EBADMSG : r;
}

int phx_store_attestation_fits(sqlite3_stmt *st)
{
	uint8_t hash[PHX_CHAIN_HASH];
	if (sqlite3_column_type(st, 1) != SQLITE_INTEGER || !phx_store_has_texts(st, 2, 5))
		return -EBADMSG;
	if (sqlite3_column_type(st, 6) == SQLITE_NULL)
		return 0;
	const struct phx_store_attestation a = {(uint64_t)sqlite3_column_int64(st, 0),
						sqlite3_column_int64(st, 1),
						TEXT(st, 2),
						TEXT(st, 3),
						TEXT(st, 4),
						TEXT(st, 5)};
	int r = phx_chain_attestation(&a, hash);
	return r == 0 && !phx_store_has_hash(st, 6, hash) ? -EBADMSG : r;
}

static int check_erasure(struct phx_store *s, sqlite3_stmt *st, void *arg, struct phx_err *err)
{
	int r = phx_store_erasure_fits(st);
	(void)s;
	(void)arg;
	return r != -EBADMSG
		? r
		: phx_err_set(err, r,
			      "journal: the erase record of step %lld is not as it was written",
			      sqlite3_column_int64(st, 0));
}

static int check_attestation(struct phx_store *s, sqlite3_stmt *st, void *arg, struct phx_err *err)
{
	int r = phx_store_attestation_fits(st);
	(void)s;
	(void)arg;
	return r != -EBADMSG
		? r
		: phx_err_set(err, r, "journal: attestation %lld is not as it was written",
			      sqlite3_column_int64(st, 0));
}

/* ---- the mark ---- */

static int check_mark(struct phx_store *s, const struct phx_mark *m, struct phx_err *err)
{
	struct phx_chain at;
	if (strcmp(m->id, s->id))
		return phx_err_set(
			err, -ENODATA,
			"journal: this is another journal than the one that was used here "
			"(%.8s, and the mark says %.8s)",
			s->id, m->id);
	if (m->chain.seq > s->last)
		return phx_err_set(
			err, -ENODATA,
			"journal: it ends with event %llu, but event %llu was acknowledged: %llu "
			"events are missing (this is an older copy, or its -wal file is gone)",
			(unsigned long long)s->last, (unsigned long long)m->chain.seq,
			(unsigned long long)(m->chain.seq - s->last));
	int r = phx_chain_at(s, m->chain.seq, &at, err);
	if (r == 0 && memcmp(at.hash, m->chain.hash, sizeof(at.hash)))
		r = phx_err_set(err, -ENODATA,
				"journal: event %llu is not the one that was acknowledged",
				(unsigned long long)m->chain.seq);
	return r == -ENOENT ? 0 : r;
}

/* ---- the file ---- */

static int first_line(struct phx_store *s, sqlite3_stmt *st, void *arg, struct phx_err *err)
{
	char *damage = arg;
	(void)s;
	(void)err;
	if (!damage[0] && sqlite3_column_text(st, 0) && strcmp(TEXT(st, 0), "ok"))
		snprintf(damage, PHX_STORE_DAMAGE_MAX, "%s", TEXT(st, 0));
	return 0;
}

int phx_store_verify(struct phx_store *s, struct phx_store_findings *ret, struct phx_err *err)
{
	struct phx_store_findings f = {0};
	struct phx_mark mark;
	struct phx_err why = {0};
	pthread_mutex_lock(&s->lock);
	int r = check_chain(s, err);
	r = r ? r : each_row(s, phx_store_all_erasures, check_erasure, NULL, err);
	r = r ? r : each_row(s, phx_store_all_attestations, check_attestation, NULL, err);
	r = r ? r : each_row(s, "PRAGMA integrity_check(1)", first_line, f.damage, err);
	if (r == 0) {
		int marked = s->path[0] ? phx_mark_read(s->path, &mark, &why) : -ENOENT;
		f.no_mark = marked < 0;
		f.marked = marked < 0 ? 0 : mark.chain.seq;
		snprintf(f.mark_trouble, sizeof(f.mark_trouble), "%s", why.text);
		r = marked < 0 ? 0 : check_mark(s, &mark, err);
	}
	r = r ? r : phx_mark_write(s, true, err);
	f.uncovered = s->begin.seq;
	pthread_mutex_unlock(&s->lock);
	if (r == 0)
		*ret = f;
	return r;
}

int phx_store_accept(struct phx_store *s, uint64_t *ret_missing, struct phx_err *err)
{
	struct phx_mark mark;
	struct phx_chain at = {.seq = s->last};
	pthread_mutex_lock(&s->lock);
	bool behind =
		s->path[0] && phx_mark_read(s->path, &mark, NULL) == 0 && mark.chain.seq > s->last;
	int r = phx_chain_sum(s->last, s->id, at.hash);
	r = r ? r : phx_chain_begin_at(s, &at, err);
	r = r ? r
	      : phx_store_execute(s,
				  "UPDATE erasures SET hash=NULL;"
				  "UPDATE attestations SET hash=NULL",
				  err);
	if (r == 0) {
		s->begin = s->end = at;
		r = phx_mark_write(s, true, err);
	}
	pthread_mutex_unlock(&s->lock);
	if (r == 0)
		*ret_missing = behind ? mark.chain.seq - at.seq : 0;
	return r;
}

/* ---- repair ---- */

/* The derived tables cannot be dropped, since their pages may be the damaged ones. Instead their
 * names are deleted, and VACUUM, which copies only what has a name, leaves their pages behind. In
 * between, the pages belong to nothing, which the next start notices. */
static const char forget_derived[] =
	"BEGIN IMMEDIATE;"
	"PRAGMA writable_schema=ON;"
	"DELETE FROM sqlite_master WHERE name IN "
	"('snapshots','damaged_snapshots','about','unsaid','unsaid_by') OR "
	"(type='index' AND sql IS NOT NULL);"
	"PRAGMA writable_schema=RESET;"
	"CREATE TABLE snapshots(seq INTEGER PRIMARY KEY, state TEXT NOT NULL, hash BLOB)";

int phx_store_rebuild(struct phx_store *s, uint64_t seq, const char *state_json,
		      struct phx_err *err)
{
	int r = phx_store_execute(s, forget_derived, err);
	r = r ? r : phx_store_execute(s, phx_store_indexes, err);
	r = r ? r : phx_store_execute(s, phx_store_about, err);
	r = r ? r : phx_store_execute(s, phx_store_unsaid_by, err);
	r = r ? r : phx_store_snapshot(s, seq, state_json, err);
	r = r ? r : phx_store_execute(s, "COMMIT", err);
	if (r < 0) {
		phx_store_execute(s, "ROLLBACK; PRAGMA writable_schema=RESET", NULL);
		return r;
	}
	return phx_store_execute(s, "VACUUM", err);
}
