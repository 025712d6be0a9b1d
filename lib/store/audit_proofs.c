/* What a copy of a journal has as proofs of erases: records and attestations lie in tables of their
 * own, which no hash of an event covers. Each that an event made must be there, of the node and
 * the owners that the event names, and each must be as its own hash says. Called by audit.c when
 * all events fit. */
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/audit.h"

#define TEXT(st, at) ((const char *)sqlite3_column_text(st, at))

struct question {
	const char *sql;
	/* 0: this row is fine; PHX_AUDIT_ROW with a text; negative errno */
	int (*look)(sqlite3_stmt *st, char *ret, size_t size);
};

static int say(char *ret, size_t size, const char *what, sqlite3_stmt *st, int at, const char *how)
{
	snprintf(ret, size, "the %s of step %lld %s", what, sqlite3_column_int64(st, at), how);
	return PHX_AUDIT_ROW;
}

/* Every row that the query yields is a fault. */
static int lacks_record(sqlite3_stmt *st, char *ret, size_t size)
{
	snprintf(ret, size,
		 "the erase record of step %lld is missing, or is of another node: event %lld made "
		 "it",
		 sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 0));
	return PHX_AUDIT_ROW;
}

static int lacks_attestation(sqlite3_stmt *st, char *ret, size_t size)
{
	snprintf(ret, size,
		 "attestation %lld is missing, or is of another node or other owners: event %lld "
		 "made it",
		 sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 0));
	return PHX_AUDIT_ROW;
}

/* As at a start: rows of before chains, and of an accepted journal, have only their signature. */
static int record_fits(sqlite3_stmt *st, char *ret, size_t size)
{
	uint8_t hash[PHX_CHAIN_HASH];
	bool whole = phx_store_has_texts(st, 1, 3);
	if (whole && sqlite3_column_type(st, 4) == SQLITE_NULL)
		return 0;
	const struct phx_store_erasure e = {(uint64_t)sqlite3_column_int64(st, 0), TEXT(st, 1),
					    TEXT(st, 2), TEXT(st, 3)};
	int r = whole ? phx_chain_erasure(&e, hash) : 0;
	return r < 0 ? r
		: whole && phx_store_has_hash(st, 4, hash)
		? 0
		: say(ret, size, "erase record", st, 0, "is not as it was written");
}

static int attestation_fits(sqlite3_stmt *st, char *ret, size_t size)
{
	uint8_t hash[PHX_CHAIN_HASH];
	bool whole = sqlite3_column_type(st, 1) == SQLITE_INTEGER && phx_store_has_texts(st, 2, 5);
	if (whole && sqlite3_column_type(st, 6) == SQLITE_NULL)
		return 0;
	const struct phx_store_attestation a = {(uint64_t)sqlite3_column_int64(st, 0),
						sqlite3_column_int64(st, 1),
						TEXT(st, 2),
						TEXT(st, 3),
						TEXT(st, 4),
						TEXT(st, 5)};
	int r = whole ? phx_chain_attestation(&a, hash) : 0;
	return r < 0 ? r
		: whole && phx_store_has_hash(st, 6, hash)
		? 0
		: say(ret, size, "attestation", st, 0, "is not as it was written");
}

/* Actions of events that end a step, and whose row is missing; empty members are left out of an
 * action. */
#define MADE(kind, row) \
	"SELECT seq,of_step FROM (SELECT e.seq seq,json_extract(x.value,'$.step_id') of_step," \
	"COALESCE(json_extract(x.value,'$.node'),'') of_node," \
	"COALESCE(json_extract(x.value,'$.from_owner'),'') of_from," \
	"COALESCE(json_extract(x.value,'$.to_owner'),'') of_to " \
	"FROM events e,json_each(e.actions) x WHERE e.kind='step_result' AND " \
	"json_extract(x.value,'$.kind')='" kind "') WHERE NOT EXISTS(SELECT 1 FROM " row ")"

static const struct question questions[] = {
	{"SELECT step_id,node,record,signature,hash FROM erasures", record_fits},
	{"SELECT id,time_ms,node,from_owner,to_owner,text,hash FROM attestations",
	 attestation_fits},
	{MADE("erased", "erasures WHERE step_id=of_step AND node=of_node"), lacks_record},
	{MADE("attest",
	      "attestations WHERE id=of_step AND node=of_node AND "
	      "from_owner=of_from AND to_owner=of_to"),
	 lacks_attestation},
};

static int ask(sqlite3 *db, const struct question *q, char *ret, size_t size)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, q->sql, -1, &st, NULL), r = rc == SQLITE_OK ? 0 : -EIO;
	while (r == 0 && (rc = sqlite3_step(st)) != SQLITE_DONE)
		r = rc == SQLITE_ROW ? q->look(st, ret, size) : -EIO;
	sqlite3_finalize(st);
	return r;
}

int phx_audit_proofs(sqlite3 *db, char *ret, size_t size)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(questions); i++)
		r = ask(db, &questions[i], ret, size);
	return r;
}
