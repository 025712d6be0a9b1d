/* Searches events of the journal, newest first, by whom they are about, who caused them, their kind
 * or their time: each by its index, so that no search visits all events. Uses a connection of its
 * own, as reader.c. Called by the daemon's threads that answer auditors. */
#include "store/internal.h"

#include <errno.h>
#include <stdio.h>

#define EVENTS "SELECT seq,time_ms,kind,node,event,actions FROM events WHERE "

/* Separate statements, not one with optional conditions: only so each uses its index. */
const char *const phx_store_search_sql[PHX_SEARCH_WAYS] = {
	[PHX_SEARCH_ALL] = EVENTS "seq<?1 AND seq>?2 ORDER BY seq DESC LIMIT ?3",
	[PHX_SEARCH_KIND] = EVENTS "kind=?4 AND seq<?1 AND seq>?2 ORDER BY seq DESC LIMIT ?3",
	[PHX_SEARCH_ABOUT] = EVENTS
	"seq IN (SELECT seq FROM (SELECT seq FROM events WHERE node=?4 AND seq<?1 AND "
	"seq>?2 ORDER BY seq DESC LIMIT ?3) UNION SELECT seq FROM (SELECT seq FROM "
	"about WHERE name=?4 AND seq<?1 AND seq>?2 ORDER BY seq DESC LIMIT ?3)) "
	"ORDER BY seq DESC LIMIT ?3",
};

static int number(struct phx_store_reader *r, const char *sql, int64_t arg, int64_t *ret,
		  struct phx_err *err)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(r->db, sql, -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, arg);
		rc = sqlite3_step(st);
		if (rc == SQLITE_ROW)
			*ret = sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : phx_store_reader_failed(r, rc, err);
}

/* Binary search, since times rise with the numbers: twenty steps for a million events. */
int phx_store_search_time(struct phx_store_reader *r, int64_t time_ms, uint64_t *ret_seq,
			  struct phx_err *err)
{
	int64_t low = 0, high = 0;
	int code = number(r, "SELECT MIN(seq) FROM events", 0, &low, err);
	code = code ? code : number(r, "SELECT MAX(seq)+1 FROM events", 0, &high, err);
	while (code == 0 && low < high) {
		int64_t middle = low + (high - low) / 2, at = INT64_MIN;
		code = number(r, "SELECT time_ms FROM events WHERE seq>=?1 ORDER BY seq LIMIT 1",
			      middle, &at, err);
		if (at < time_ms)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_seq = (uint64_t)low;
	return code;
}

/* The search that visits the fewest events. For older events it was not recorded whom they are
 * about and who caused them. */
static enum phx_search_way way_of(struct phx_store_reader *r, const struct phx_store_search *of,
				  char ret_key[PHX_SEARCH_KEY_MAX])
{
	int64_t unsaid = INT64_MAX;
	snprintf(ret_key, PHX_SEARCH_KEY_MAX, "%s", of->kind ? of->kind : "");
	if (of->name && of->after >= r->unsaid) {
		snprintf(ret_key, PHX_SEARCH_KEY_MAX, "%s", of->name);
		return PHX_SEARCH_ABOUT;
	}
	if (of->who &&
	    number(r, "SELECT COALESCE(MAX(seq),0) FROM unsaid_by", 0, &unsaid, NULL) == 0 &&
	    (int64_t)of->after >= unsaid) {
		snprintf(ret_key, PHX_SEARCH_KEY_MAX, PHX_STORE_BY "%s", of->who);
		return PHX_SEARCH_ABOUT;
	}
	return of->kind ? PHX_SEARCH_KIND : PHX_SEARCH_ALL;
}

int phx_store_search(struct phx_store_reader *r, const struct phx_store_search *of,
		     phx_store_event_fn fn, void *arg, struct phx_err *err)
{
	char key[PHX_SEARCH_KEY_MAX];
	sqlite3_stmt *st = NULL;
	enum phx_search_way way = way_of(r, of, key);
	int rc = sqlite3_prepare_v2(r->db, phx_store_search_sql[way], -1, &st, NULL);
	if (rc != SQLITE_OK)
		return phx_store_reader_failed(r, rc, err);
	sqlite3_bind_int64(st, 1,
			   of->before && of->before < INT64_MAX ? (int64_t)of->before : INT64_MAX);
	sqlite3_bind_int64(st, 2, (int64_t)of->after);
	sqlite3_bind_int64(st, 3, of->limit);
	if (way != PHX_SEARCH_ALL)
		sqlite3_bind_text(st, 4, key, -1, SQLITE_STATIC);
	int code = phx_store_reader_walk(r, st, fn, arg, err);
	sqlite3_finalize(st);
	return code;
}
