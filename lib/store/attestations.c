/* Attestations of erases in the journal's database: written with the event that makes one, never
 * changed, never pruned. Called by store.c, the journal and the API. Judges nothing. */
#include "store/internal.h"

#include <string.h>

#define COLUMNS "id,time_ms,node,from_owner,to_owner,text"

static void bind(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

int phx_attestations_insert(struct phx_store *s, const struct phx_store_attestation *a,
			    struct phx_err *err)
{
	static const char insert[] =
		"INSERT OR IGNORE INTO attestations(" COLUMNS ",hash) VALUES(?,?,?,?,?,?,?)";
	uint8_t hash[PHX_CHAIN_HASH];
	sqlite3_stmt *st = NULL;
	int r = phx_chain_attestation(a, hash);
	if (r < 0)
		return r;
	int rc = sqlite3_prepare_v2(s->db, insert, -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)a->id);
		sqlite3_bind_int64(st, 2, a->time_ms);
		bind(st, 3, a->node);
		bind(st, 4, a->from_owner);
		bind(st, 5, a->to_owner);
		bind(st, 6, a->text);
		sqlite3_bind_blob(st, 7, hash, sizeof(hash), SQLITE_STATIC);
		rc = sqlite3_step(st);
	}
	r = rc == SQLITE_DONE ? 0 : phx_store_failed(s, rc, err);
	sqlite3_finalize(st);
	return r;
}

/* One statement for each search, so that each uses its index. */
static const char *question(const struct phx_store_attestations *of)
{
	static const char order[] = "SELECT " COLUMNS " FROM attestations WHERE id<?1 "
				    "ORDER BY id DESC LIMIT ?2",
			  node[] = "SELECT " COLUMNS " FROM attestations WHERE node=?3 AND id<?1 "
				   "ORDER BY id DESC LIMIT ?2",
			  /* the newest by each of the two indexes, merged; UNION drops
			   * duplicates */
		owner[] =
			"SELECT " COLUMNS " FROM attestations WHERE id IN (SELECT id FROM (SELECT "
			"id FROM attestations WHERE from_owner=?3 AND id<?1 ORDER BY id DESC "
			"LIMIT ?2) UNION SELECT id FROM (SELECT id FROM attestations WHERE "
			"to_owner=?3 AND id<?1 ORDER BY id DESC LIMIT ?2)) ORDER BY id DESC "
			"LIMIT ?2";
	return of->node ? node : of->owner ? owner : order;
}

static int walk(struct phx_store *s, sqlite3_stmt *st, phx_store_attestation_fn fn, void *arg,
		struct phx_err *err)
{
	int rc, r = 0;
	while (r == 0 && (rc = sqlite3_step(st)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW)
			return phx_store_failed(s, rc, err);
		struct phx_store_attestation a = {(uint64_t)sqlite3_column_int64(st, 0),
						  sqlite3_column_int64(st, 1),
						  (const char *)sqlite3_column_text(st, 2),
						  (const char *)sqlite3_column_text(st, 3),
						  (const char *)sqlite3_column_text(st, 4),
						  (const char *)sqlite3_column_text(st, 5)};
		r = fn(arg, &a);
	}
	return r;
}

int phx_store_attestations(struct phx_store *s, const struct phx_store_attestations *of,
			   phx_store_attestation_fn fn, void *arg, struct phx_err *err)
{
	const char *whose = of->node ? of->node : of->owner;
	sqlite3_stmt *st = NULL;
	pthread_mutex_lock(&s->lock);
	int rc = sqlite3_prepare_v2(s->db, question(of), -1, &st, NULL);
	int r = rc == SQLITE_OK ? 0 : phx_store_failed(s, rc, err);
	if (r == 0) {
		sqlite3_bind_int64(st, 1, of->before ? (sqlite3_int64)of->before : INT64_MAX);
		sqlite3_bind_int64(st, 2, of->limit ? (sqlite3_int64)of->limit : -1);
		if (whose)
			bind(st, 3, whose);
		r = walk(s, st, fn, arg, err);
	}
	sqlite3_finalize(st);
	pthread_mutex_unlock(&s->lock);
	return r;
}
