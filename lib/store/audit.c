/* Verifies a copy of a journal: see audit.h. Called by phx journal verify. It walks the events
 * once, in their order, with two lists beside it:
 *
 *	events   1 2 3 4 5 6 7 8 9 ...
 *	begins   ▲ where the chain begins (anew): signed lines in the journal
 *	anchors      ▲     ▲     ▲   the hash of an event when it left the head
 *
 * An event that does not fit ends the walk, unless the journal was accepted at a later event and no
 * anchor covers what lies between. Never repairs. */
#include "store/audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/internal.h"

struct audit {
	sqlite3 *db;
	const char *pub;
	const struct phx_list *anchors; /* struct phx_anchor by event */
	uint32_t next_anchor;
	struct phx_list begins; /* struct phx_anchor by event: where the chain begins anew */
	uint32_t next_begin;
	char id[PHX_STORE_ID_MAX];
	struct phx_chain told; /* where the chain begins, by the journal's unsigned record */
	struct phx_chain at;   /* the last event that fits */
	bool lost; /* an event did not fit: nothing is known until the chain begins anew */
	struct phx_audit *found;
	struct phx_err *err;
};

static int find(struct audit *a, int what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int find(struct audit *a, int what, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(a->found->text, sizeof(a->found->text), fmt, ap);
	va_end(ap);
	return what;
}

/* ---- opening ---- */

static int failed(struct audit *a, int rc)
{
	int code = (rc & 0xff) == SQLITE_CANTOPEN                               ? -ENOENT
		: (rc & 0xff) == SQLITE_NOTADB || (rc & 0xff) == SQLITE_CORRUPT ? -EBADMSG
		: (rc & 0xff) == SQLITE_BUSY                                    ? -EBUSY
										: -EIO;
	return phx_err_set(a->err, code, "journal: %s", sqlite3_errmsg(a->db));
}

/* Escapes a path for a URI: the characters that end a path, and the percent sign. */
static char *uri_of(const char *path, bool alone)
{
	struct phx_buf b = {0};
	phx_buf_addf(&b, "file:");
	for (const char *p = path; *p; p++)
		phx_buf_addf(&b, strchr("?#%", *p) ? "%%%02x" : "%c", (unsigned char)*p);
	phx_buf_addf(&b, "?mode=ro%s", alone ? "&immutable=1" : "");
	return phx_buf_take(&b);
}

/* A copy without a write-ahead log is complete, and may lie in a read-only place. */
static int open_copy(struct audit *a, const char *path)
{
	PHX_AUTO_FREE char *log = NULL;
	if (asprintf(&log, "%s-wal", path) < 0)
		return -ENOMEM;
	PHX_AUTO_FREE char *uri = uri_of(path, access(log, F_OK) < 0);
	if (!uri)
		return -ENOMEM;
	int rc = sqlite3_open_v2(
		uri, &a->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
	sqlite3_busy_timeout(a->db, 5000);
	return rc == SQLITE_OK ? 0 : failed(a, rc);
}

typedef int (*row_fn)(struct audit *a, sqlite3_stmt *st);

static int each_row(struct audit *a, const char *query, row_fn fn)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(a->db, query, -1, &st, NULL);
	int r = rc == SQLITE_OK ? 0 : failed(a, rc);
	while (r == 0 && (rc = sqlite3_step(st)) != SQLITE_DONE)
		r = rc == SQLITE_ROW ? fn(a, st) : failed(a, rc);
	sqlite3_finalize(st);
	return r;
}

#define TEXT(st, at) ((const char *)sqlite3_column_text(st, at))

/* ---- where the chain begins ---- */

static int read_chain(struct audit *a, sqlite3_stmt *st)
{
	snprintf(a->id, sizeof(a->id), "%s", TEXT(st, 0) ? TEXT(st, 0) : "");
	a->told.seq = (uint64_t)sqlite3_column_int64(st, 1);
	if (sqlite3_column_bytes(st, 2) == PHX_CHAIN_HASH)
		memcpy(a->told.hash, sqlite3_column_blob(st, 2), PHX_CHAIN_HASH);
	return 0;
}

static int has_tables(struct audit *a, sqlite3_stmt *st)
{
	return sqlite3_column_int(st, 0) == 2
		? 0
		: phx_err_set(a->err, -EBADMSG,
			      "it has no chain that is signed: a Phoenix of before wrote it, and "
			      "none of now has opened it yet");
}

static int read_begin(struct audit *a, sqlite3_stmt *st)
{
	struct phx_anchor line, *to;
	struct phx_err why = {0};
	unsigned long long seq = (unsigned long long)sqlite3_column_int64(st, 0);
	int r = phx_anchor_parse(TEXT(st, 1) ? TEXT(st, 1) : "", &line, &why);
	r = r ? r : phx_anchor_verify(&line, a->pub, &why);
	if (r == -ENOENT || r == -EACCES || r == -ENOMEM)
		return phx_err_set(a->err, r, "%s", why.text);
	if (r < 0 || line.seq != seq || strcmp(line.journal, a->id) ||
	    line.kind == PHX_ANCHOR_REACHED)
		return find(a, PHX_AUDIT_ROW,
			    "the journal says that its chain begins after event %llu, and that is "
			    "not signed%s%s",
			    seq, why.text[0] ? ": " : "", why.text);
	to = phx_list_push(&a->begins, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = line;
	return 0;
}

static struct phx_anchor *begin_at(struct audit *a, uint32_t i)
{
	return i < a->begins.n ? PHX_LIST_AT(&a->begins, struct phx_anchor, i) : NULL;
}

static struct phx_chain place_of(const struct phx_anchor *from)
{
	struct phx_chain at = {.seq = from->seq};
	for (size_t i = 0; i < PHX_CHAIN_HASH; i++) {
		unsigned byte = 0;
		sscanf(from->hash + 2 * i, "%2x", &byte);
		at.hash[i] = (uint8_t)byte;
	}
	return at;
}

/* The unsigned record, which the head uses, must agree with the last signed line, or with the very
 * beginning. */
static int check_told(struct audit *a)
{
	struct phx_chain at = {0};
	const struct phx_anchor *last = a->begins.n ? begin_at(a, a->begins.n - 1) : NULL;
	int r = last ? 0 : phx_chain_sum(0, a->id, at.hash);
	at = last ? place_of(last) : at;
	if (r == 0 && (at.seq != a->told.seq || memcmp(at.hash, a->told.hash, sizeof(at.hash))))
		r = find(a, PHX_AUDIT_ROW,
			 "the journal says that its chain begins after event %llu, and nothing "
			 "that is signed says so",
			 (unsigned long long)a->told.seq);
	return r;
}

/* The first signed line says where the events begin, unless it is of an acceptance, which lies
 * behind some events. */
static int begin_chain(struct audit *a)
{
	const struct phx_anchor *first = begin_at(a, 0);
	int r = check_told(a);
	if (r)
		return r;
	if (!first || first->kind == PHX_ANCHOR_ACCEPTED)
		return phx_chain_sum(0, a->id, a->at.hash);
	a->at = place_of(first);
	a->next_begin = 1;
	if (first->kind == PHX_ANCHOR_BEGUN) {
		a->found->uncovered = first->seq;
	} else {
		a->found->forgotten = first->seq;
		a->found->forgotten_ms = first->time_ms;
	}
	return 0;
}

/* ---- anchors from elsewhere ---- */

static int by_event(const void *a, const void *b)
{
	const struct phx_anchor *x = a, *y = b;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static const struct phx_anchor *next_anchor(const struct audit *a)
{
	return a->next_anchor < a->anchors->n
		? PHX_LIST_AT(a->anchors, struct phx_anchor, a->next_anchor)
		: NULL;
}

static int contradicts(struct audit *a, const struct phx_anchor *anchor, const char *why)
{
	return find(a, PHX_AUDIT_ANCHOR,
		    "the anchor of event %llu says otherwise: %s; up to event %llu the anchors fit",
		    (unsigned long long)anchor->seq, why, (unsigned long long)a->found->proven);
}

static int check_anchors_of_others(struct audit *a)
{
	PHX_LIST_EACH(struct phx_anchor, anchor, a->anchors)
		if (strcmp(anchor->journal, a->id))
			return find(a, PHX_AUDIT_ANCHOR,
				    "the anchor of event %llu is of journal %.8s, and this one is "
				    "%.8s: another one was put in its place, or these anchors are "
				    "of another head",
				    (unsigned long long)anchor->seq, anchor->journal, a->id);
	return 0;
}

/* Skips anchors of events before the first: these were forgotten, or else the chain claims to be
 * younger. */
static int pass_forgotten(struct audit *a)
{
	const struct phx_anchor *anchor;
	while ((anchor = next_anchor(a)) && anchor->seq < a->at.seq) {
		if (a->found->uncovered)
			return contradicts(a, anchor, "the chain is said to begin after it");
		a->found->n_forgotten++;
		a->next_anchor++;
	}
	return 0;
}

/* Compares the anchors of the event at a->at. */
static int compare_anchors(struct audit *a)
{
	char hash[2 * PHX_CHAIN_HASH + 1];
	const struct phx_anchor *anchor;
	phx_chain_hex(a->at.hash, hash);
	for (; (anchor = next_anchor(a)) && anchor->seq == a->at.seq; a->next_anchor++) {
		if (strcmp(anchor->hash, hash))
			return contradicts(a, anchor,
					   "that event, or one before it, was another one");
		a->found->proven = anchor->seq;
		a->found->proven_ms = anchor->time_ms;
		a->found->n_proofs++;
	}
	return 0;
}

/* ---- the events ---- */

/* An event does not fit. If the journal was accepted later, the events up to there are unknown; but
 * events that an anchor covers must be there. */
static int lose(struct audit *a, uint64_t seq, const char *how)
{
	const struct phx_anchor *begin = begin_at(a, a->next_begin), *anchor = next_anchor(a);
	a->found->unfit = a->found->unfit ? a->found->unfit : seq;
	if (!begin || begin->seq < seq)
		return find(a, PHX_AUDIT_ROW, "event %llu %s", (unsigned long long)seq, how);
	if (anchor && anchor->seq <= begin->seq)
		return find(a, PHX_AUDIT_ROW,
			    "event %llu %s (the journal was accepted as it was, up to event %llu), "
			    "and the anchor of event %llu says that it was whole",
			    (unsigned long long)seq, how, (unsigned long long)begin->seq,
			    (unsigned long long)anchor->seq);
	a->lost = true;
	return 0;
}

static int begin_anew(struct audit *a)
{
	const struct phx_anchor *begin = begin_at(a, a->next_begin);
	a->next_begin++;
	a->found->accepted = begin->seq;
	a->found->accepted_ms = begin->time_ms;
	a->at = place_of(begin);
	a->lost = false;
	return 0;
}

static bool is_whole(sqlite3_stmt *st)
{
	return sqlite3_column_type(st, 1) == SQLITE_INTEGER && phx_store_has_texts(st, 2, 5);
}

/* Checks the event that must come now. */
static int fit_event(struct audit *a, sqlite3_stmt *st, uint64_t seq)
{
	bool whole = is_whole(st); /* must be first: reading a column as text changes its type */
	struct phx_store_event ev = {seq,         sqlite3_column_int64(st, 1),
				     TEXT(st, 2), TEXT(st, 3),
				     TEXT(st, 4), TEXT(st, 5)};
	struct phx_chain next;
	int r = whole ? phx_chain_next(&a->at, &ev, &next) : 0;
	if (r < 0)
		return r;
	if (!whole || !phx_store_has_hash(st, 6, next.hash))
		return lose(a, seq, "is not as it was written");
	a->at = next;
	return compare_anchors(a);
}

static int look_at_event(struct audit *a, sqlite3_stmt *st)
{
	uint64_t seq = (uint64_t)sqlite3_column_int64(st, 0);
	const struct phx_anchor *begin;
	if (a->found->uncovered && seq <= a->found->uncovered) {
		a->found->first = a->found->first ? a->found->first : seq;
		return 0;
	}
	if (seq <= a->found->forgotten)
		return find(a, PHX_AUDIT_ROW, "event %llu was forgotten, and is there",
			    (unsigned long long)seq);
	/* the chain may begin anew before this event */
	while ((begin = begin_at(a, a->next_begin)) && begin->seq < seq) {
		int r = a->lost || a->at.seq == begin->seq ? 0
							   : lose(a, a->at.seq + 1, "is missing");
		r = r ? r : begin_anew(a);
		if (r)
			return r;
	}
	a->found->first = a->found->first ? a->found->first : seq;
	a->found->last = seq;
	if (a->lost)
		return 0;
	return seq == a->at.seq + 1 ? fit_event(a, st, seq) : lose(a, a->at.seq + 1, "is missing");
}

/* Handles signed lines and anchors behind the last event. */
static int look_at_end(struct audit *a)
{
	const struct phx_anchor *anchor;
	while (begin_at(a, a->next_begin)) {
		int r = a->lost || a->at.seq == begin_at(a, a->next_begin)->seq
			? 0
			: lose(a, a->at.seq + 1, "is missing");
		r = r ? r : begin_anew(a);
		if (r)
			return r;
	}
	a->found->last = a->found->last ? a->found->last : a->at.seq;
	if (!(anchor = next_anchor(a)))
		return 0;
	return find(a, PHX_AUDIT_ROW,
		    "event %llu is missing: the journal ends with event %llu, and the anchor of "
		    "event %llu says that it was there",
		    (unsigned long long)a->at.seq + 1, (unsigned long long)a->at.seq,
		    (unsigned long long)anchor->seq);
}

static int look(struct audit *a, const char *path)
{
	int r = open_copy(a, path);
	r = r ? r
	      : each_row(a, "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('chain','begins')",
			 has_tables);
	r = r ? r : each_row(a, "SELECT id,seq,hash FROM chain", read_chain);
	r = r ? r : check_anchors_of_others(a);
	r = r ? r : each_row(a, "SELECT seq,line FROM begins ORDER BY seq,rowid", read_begin);
	r = r ? r : begin_chain(a);
	r = r ? r : pass_forgotten(a);
	r = r ? r : compare_anchors(a);
	r = r ? r
	      : each_row(a,
			 "SELECT seq,time_ms,kind,node,event,actions,hash FROM events ORDER BY seq",
			 look_at_event);
	r = r ? r : look_at_end(a);
	r = r ? r : phx_audit_proofs(a->db, a->found);
	return r == -EIO ? failed(a, sqlite3_errcode(a->db)) : r;
}

int phx_store_audit(const char *path, struct phx_list *anchors, const char *pub,
		    struct phx_audit *ret, struct phx_err *err)
{
	struct audit a = {.pub = pub, .anchors = anchors, .found = ret, .err = err};
	*ret = (struct phx_audit){0};
	if (anchors->n)
		qsort(anchors->items, anchors->n, sizeof(struct phx_anchor), by_event);
	int r = look(&a, path);
	sqlite3_close(a.db);
	phx_list_fini(&a.begins);
	return r < 0 ? phx_err_prefix(err, r, "%s", path) : r;
}
