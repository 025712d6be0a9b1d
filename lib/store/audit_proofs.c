/* What a copy of a journal has as proofs of erases: records and attestations lie in tables of their
 * own, which no hash of an event covers. Each that an event made must be there, of the node and
 * the owners that the event names, and each must be as its own hash says. Rows of before chains and
 * of an accepted journal have none: those alone may lack it. Called by audit.c when all events fit.
 */
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>

#include "store/audit.h"

/* Yields rows with the number of the step first. ?1: up to this event rows may lack their hashes;
 * ?2: up to this one events are forgotten. */
struct question {
	const char *sql;
	int (*fits)(sqlite3_stmt *st); /* 0: the row is fine; -EBADMSG */
	const char *fault;             /* "... step %lld ... event %lld" */
};

/* For the steps of the rows that the query yields, a row is missing. */
static int is_a_fault(sqlite3_stmt *st)
{
	(void)st;
	return -EBADMSG;
}

/* Actions of events that end a step, and whose row is missing; empty members are left out of an
 * action. */
#define MADE(kind, row) \
	"SELECT of_step,seq FROM (SELECT e.seq seq,json_extract(x.value,'$.step_id') of_step," \
	"COALESCE(json_extract(x.value,'$.node'),'') of_node," \
	"COALESCE(json_extract(x.value,'$.from_owner'),'') of_from," \
	"COALESCE(json_extract(x.value,'$.to_owner'),'') of_to " \
	"FROM events e,json_each(e.actions) x WHERE e.kind='step_result' AND " \
	"json_extract(x.value,'$.kind')='" kind "') WHERE NOT EXISTS(SELECT 1 FROM " row ")"

#define HAS_HASH "(hash IS NOT NULL OR seq<=?1)"

/* Rows without a hash that no event up to ?1 made: behind the first one that has a hash, or in a
 * journal all of whose events are covered. */
#define BARE(kind, id, table) \
	"SELECT " id " FROM " table " WHERE hash IS NULL AND (?1+?2=0 OR " id ">(SELECT MIN(" id \
	") FROM " table " WHERE hash IS NOT NULL)) AND " id " NOT IN (SELECT COALESCE(" \
	"json_extract(x.value,'$.step_id'),0) FROM events e,json_each(e.actions) x WHERE " \
	"e.seq<=?1 AND e.kind='step_result' AND json_extract(x.value,'$.kind')='" kind "')"

static const struct question questions[] = {
	{phx_store_all_erasures, phx_store_erasure_fits,
	 "the erase record of step %lld is not as it was written"},
	{phx_store_all_attestations, phx_store_attestation_fits,
	 "the attestation of step %lld is not as it was written"},
	{MADE("erased", "erasures WHERE step_id=of_step AND node=of_node AND " HAS_HASH),
	 is_a_fault,
	 "the erase record of step %lld is missing, has no hash, or is of another node: event %lld "
	 "made it"},
	{MADE("attest",
	      "attestations WHERE id=of_step AND node=of_node AND "
	      "from_owner=of_from AND to_owner=of_to AND " HAS_HASH),
	 is_a_fault,
	 "attestation %lld is missing, has no hash, or is of another node or other owners: event "
	 "%lld made it"},
	{BARE("erased", "step_id", "erasures"), is_a_fault,
	 "the erase record of step %lld has no hash, and one was written with it"},
	{BARE("attest", "id", "attestations"), is_a_fault,
	 "attestation %lld has no hash, and one was written with it"},
};

static int look(sqlite3_stmt *st, const struct question *q, char *ret, size_t size)
{
	int r = q->fits(st);
	if (r != -EBADMSG)
		return r;
	snprintf(ret, size, q->fault, sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1));
	return PHX_AUDIT_ROW;
}

static int ask(sqlite3 *db, const struct question *q, struct phx_audit *of)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, q->sql, -1, &st, NULL), r = rc == SQLITE_OK ? 0 : -EIO;
	/* a question that lacks one of them does not ask for it */
	sqlite3_bind_int64(st, 1, (sqlite3_int64)(of->accepted ? of->accepted : of->uncovered));
	sqlite3_bind_int64(st, 2, (sqlite3_int64)of->forgotten);
	while (r == 0 && (rc = sqlite3_step(st)) != SQLITE_DONE)
		r = rc == SQLITE_ROW ? look(st, q, of->text, sizeof(of->text)) : -EIO;
	sqlite3_finalize(st);
	return r;
}

int phx_audit_proofs(sqlite3 *db, struct phx_audit *of)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(questions); i++)
		r = ask(db, &questions[i], of);
	return r;
}
