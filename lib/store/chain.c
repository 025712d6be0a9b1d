/* The chain of the journal: each row holds a hash over the hash before it and
 * over all that it says, so that a changed, missing or foreign row is found,
 * whoever changed it: a disk, or a person with an editor. Called by store.c
 * for each event and at the start by verify.c. Never judges.
 *
 *	h = SHA-256(h before, seq, time, kind, node, event, actions)
 *
 * Numbers are 8 bytes, texts their length in 8 bytes and then themselves, most
 * significant byte first; who caused an event is in its text. The chain begins
 * at the hash of the last event that is not covered (or, of a new
 * journal, of its identity): it moves on when events are forgotten, and when
 * somebody accepts a journal that is not whole. */
#include "store/internal.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static bool add_number(EVP_MD_CTX *md, uint64_t n)
{
	uint8_t bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(n >> (56 - 8 * i));
	return EVP_DigestUpdate(md, bytes, sizeof(bytes)) == 1;
}

static bool add_text(EVP_MD_CTX *md, const char *text)
{
	size_t n = strlen(text);
	return add_number(md, n) && EVP_DigestUpdate(md, text, n) == 1;
}

static const uint8_t nothing[PHX_CHAIN_HASH];

static EVP_MD_CTX *begin(const uint8_t *before)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	if (md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
	    EVP_DigestUpdate(md, before, PHX_CHAIN_HASH) == 1)
		return md;
	EVP_MD_CTX_free(md);
	return NULL;
}

static int end(EVP_MD_CTX *md, bool whole, uint8_t ret[PHX_CHAIN_HASH])
{
	uint8_t hash[PHX_CHAIN_HASH];
	whole = whole && md && EVP_DigestFinal_ex(md, hash, NULL) == 1;
	EVP_MD_CTX_free(md);
	if (whole)
		memcpy(ret, hash, sizeof(hash));
	return whole ? 0 : -ENOMEM;
}

int phx_chain_next(const struct phx_chain *prev, const struct phx_store_event *ev,
		   struct phx_chain *ret)
{
	EVP_MD_CTX *md = begin(prev->hash);
	bool ok = md && add_number(md, ev->seq) && add_number(md, (uint64_t)ev->time_ms) &&
		add_text(md, ev->kind) && add_text(md, ev->node) && add_text(md, ev->event) &&
		add_text(md, ev->actions);
	uint64_t seq = ev->seq;
	int r = end(md, ok, ret->hash);
	if (r == 0)
		ret->seq = seq;
	return r;
}

int phx_chain_sum(uint64_t seq, const char *text, uint8_t ret[PHX_CHAIN_HASH])
{
	EVP_MD_CTX *md = begin(nothing);
	return end(md, md && add_number(md, seq) && add_text(md, text), ret);
}

int phx_chain_erasure(const struct phx_store_erasure *e, uint8_t ret[PHX_CHAIN_HASH])
{
	EVP_MD_CTX *md = begin(nothing);
	return end(md,
		   md && add_number(md, e->step_id) && add_text(md, e->node) &&
			   add_text(md, e->record) && add_text(md, e->signature),
		   ret);
}

int phx_chain_attestation(const struct phx_store_attestation *a, uint8_t ret[PHX_CHAIN_HASH])
{
	EVP_MD_CTX *md = begin(nothing);
	return end(md,
		   md && add_number(md, a->id) && add_number(md, (uint64_t)a->time_ms) &&
			   add_text(md, a->node) && add_text(md, a->from_owner) &&
			   add_text(md, a->to_owner) && add_text(md, a->text),
		   ret);
}

void phx_chain_hex(const uint8_t hash[PHX_CHAIN_HASH], char ret[2 * PHX_CHAIN_HASH + 1])
{
	phx_hex(hash, PHX_CHAIN_HASH, ret);
}

/* 32 hexadecimal digits. */
static int draw_id(char ret[PHX_STORE_ID_MAX], struct phx_err *err)
{
	uint8_t bytes[(PHX_STORE_ID_MAX - 1) / 2];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return phx_err_set(err, -EIO, "journal: the kernel gives no random bytes");
	phx_hex(bytes, sizeof(bytes), ret);
	return 0;
}

/* ---- where the chain begins: one row of table `chain` ---- */

static void bind_chain(sqlite3_stmt *st, const struct phx_chain *c)
{
	sqlite3_bind_int64(st, 1, (sqlite3_int64)c->seq);
	sqlite3_bind_blob(st, 2, c->hash, PHX_CHAIN_HASH, SQLITE_STATIC);
}

int phx_chain_begin_at(struct phx_store *s, const struct phx_chain *at, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, "UPDATE chain SET seq=?1,hash=?2", -1, &st, NULL);
	if (rc == SQLITE_OK) {
		bind_chain(st, at);
		rc = sqlite3_step(st);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : phx_store_failed(s, rc, err);
}

/* Reads an event's number and hash from the first row of `query`. */
static int read_chain(struct phx_store *s, const char *query, uint64_t seq, struct phx_chain *ret,
		      struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(s->db, query, -1, &st, NULL);
	if (rc == SQLITE_OK && sqlite3_bind_parameter_count(st))
		sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
	rc = rc == SQLITE_OK ? sqlite3_step(st) : rc;
	int r = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -ENOENT : phx_store_failed(s, rc, err);
	if (r == 0 && sqlite3_column_bytes(st, 1) != PHX_CHAIN_HASH)
		r = -ENOENT;
	if (r == 0) {
		ret->seq = (uint64_t)sqlite3_column_int64(st, 0);
		memcpy(ret->hash, sqlite3_column_blob(st, 1), PHX_CHAIN_HASH);
		if (sqlite3_column_count(st) > 2)
			snprintf(s->id, sizeof(s->id), "%s",
				 (const char *)sqlite3_column_text(st, 2));
	}
	sqlite3_finalize(st);
	return r;
}

int phx_chain_at(struct phx_store *s, uint64_t seq, struct phx_chain *ret, struct phx_err *err)
{
	if (seq == s->begin.seq) {
		*ret = s->begin;
		return 0;
	}
	return seq < s->begin.seq
		? -ENOENT
		: read_chain(s, "SELECT seq,hash FROM events WHERE seq=?1", seq, ret, err);
}

/* Begins the chain of a journal that has none: a new one, or one of an older Phoenix, whose events
 * are then not covered. */
static int begin_chain(struct phx_store *s, struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int r = draw_id(s->id, err);
	s->begin.seq = s->last;
	r = r ? r : phx_chain_sum(s->last, s->id, s->begin.hash);
	if (r < 0)
		return r;
	int rc = sqlite3_prepare_v2(s->db, "INSERT INTO chain(seq,hash,id) VALUES(?1,?2,?3)", -1,
				    &st, NULL);
	if (rc == SQLITE_OK) {
		bind_chain(st, &s->begin);
		sqlite3_bind_text(st, 3, s->id, -1, SQLITE_STATIC);
		rc = sqlite3_step(st);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : phx_store_failed(s, rc, err);
}

int phx_chain_open(struct phx_store *s, struct phx_err *err)
{
	int r = read_chain(s, "SELECT seq,hash,id FROM chain", 0, &s->begin, err);
	if (r == -ENOENT)
		r = begin_chain(s, err);
	if (r < 0)
		return r;
	r = phx_chain_at(s, s->last, &s->end, err);
	if (r == -ENOENT) { /* verify.c reports what is wrong */
		s->end = (struct phx_chain){.seq = s->last};
		r = 0;
	}
	return r;
}
