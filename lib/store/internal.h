/* Declarations that the files of lib/store share. */
#ifndef PHX_STORE_INTERNAL_H
#define PHX_STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "store/store.h"

enum {
	PHX_STORE_PATH_MAX = 4096,
	PHX_CHAIN_HASH = 32,
	PHX_STORE_ID_MAX = 33,
	PHX_STORE_STATEMENTS = 14
};

/** A place in the chain: event `seq` and its hash. */
struct phx_chain {
	uint64_t seq;
	uint8_t hash[PHX_CHAIN_HASH];
};

/** The mark beside the journal: chain.seq is the last acknowledged event. */
struct phx_mark {
	char id[PHX_STORE_ID_MAX];
	struct phx_chain chain;
};

struct phx_marks {
	int fd; /* -1: none */
	int64_t synced_ms;
};

struct phx_store {
	sqlite3 *db;
	sqlite3_stmt *st[PHX_STORE_STATEMENTS]; /* by enum statement of store.c */
	bool writes;                            /* opened by the daemon for writing */
	uint64_t last;
	struct phx_chain end;     /* of the last event */
	struct phx_chain begin;   /* where the chain begins: older events are not covered */
	struct phx_signer signer; /* sign NULL: nothing is signed */
	char id[PHX_STORE_ID_MAX];
	char path[PHX_STORE_PATH_MAX];
	dev_t dev; /* of the file that is open */
	ino_t ino, wal_ino;
	struct phx_marks marks;
	int lock_fd; /* held locked: one daemon per journal */
	pthread_mutex_t lock;
};

/* ---- sql.c ---- */

/** SQL that creates missing indexes. */
extern const char phx_store_indexes[];
/** SQL that creates the table of whom events are about (by name), and notes from which event on it
 * is filled. */
extern const char phx_store_about[];
/** SQL that notes from which event on that table also says who caused them. */
extern const char phx_store_unsaid_by[];

/** Sets the text of SQLite's last failure, and returns it as an errno. */
int phx_store_failed(struct phx_store *s, int rc, struct phx_err *err);
int phx_store_execute(struct phx_store *s, const char *text, struct phx_err *err);
/** The first number that `query` yields; *ret is unchanged if it yields none. */
int phx_store_number(struct phx_store *s, const char *query, int64_t *ret, struct phx_err *err);

/** Does column `at` of the row contain exactly this hash? */
bool phx_store_has_hash(sqlite3_stmt *st, int at, const uint8_t hash[PHX_CHAIN_HASH]);
/** Are these columns texts, and nothing hidden behind their ends? A blob reads like a text but does
 * not compare like one, and one flipped bit turns one into the other. */
bool phx_store_has_texts(sqlite3_stmt *st, int first, int last);

/** SQL that yields all records of erases, and all attestations. */
extern const char phx_store_all_erasures[], phx_store_all_attestations[];
/** Is the row, one of those, as it was written? 0; -EBADMSG: no; other errors. Rows of before
 * chains, and those of an accepted journal, have only their signature. */
int phx_store_erasure_fits(sqlite3_stmt *st);
int phx_store_attestation_fits(sqlite3_stmt *st);

/* ---- audit_proofs.c ---- */

struct phx_audit;
/** Looks for records of erases and attestations that are changed or missing, or have lost their
 * hashes: 0, PHX_AUDIT_ROW with the text in `of`, negative errno (SQLite has its text). `of` says
 * up to which event there are none. */
int phx_audit_proofs(sqlite3 *db, struct phx_audit *of);

/* ---- reader.c ---- */

enum { PHX_READER_STATEMENTS = 3 };
extern const char *const phx_store_reader_sql[PHX_READER_STATEMENTS];
struct phx_store_reader {
	sqlite3 *db;
	sqlite3_stmt *st[PHX_READER_STATEMENTS];
	uint64_t unsaid;
};
/** The reader's last failure, as an errno with a text. */
int phx_store_reader_failed(struct phx_store_reader *r, int rc, struct phx_err *err);
/** Passes each event of the statement to `fn`; a non-zero return of `fn` ends the walk and is
 * returned. The statement is not reset. */
int phx_store_reader_walk(struct phx_store_reader *r, sqlite3_stmt *st, phx_store_event_fn fn,
			  void *arg, struct phx_err *err);

/* ---- search.c ---- */

enum phx_search_way { PHX_SEARCH_ALL, PHX_SEARCH_KIND, PHX_SEARCH_ABOUT, PHX_SEARCH_WAYS };
enum { PHX_SEARCH_KEY_MAX = 2 * PHX_NAME_MAX };
extern const char *const phx_store_search_sql[PHX_SEARCH_WAYS];

/* ---- pack.c ---- */

/** Packs `text`; *ret is malloc'd, or NULL if the text is too small for that. -ENOMEM. */
int phx_store_pack(const char *text, void **ret, size_t *ret_n);
/** The text in column `at` of the row, packed or not; malloc'd. -EBADMSG: it cannot be unpacked
 * (also for lack of memory); -ENOMEM. */
int phx_store_unpack(sqlite3_stmt *st, int at, char **ret_text, struct phx_err *err);

/* ---- chain.c ---- */

/** The hash of the row that follows `prev`. */
int phx_chain_next(const struct phx_chain *prev, const struct phx_store_event *ev,
		   struct phx_chain *ret);
/** The hash of a text outside the chain, such as the snapshot of event `seq`; and of an erase
 * record, and of an attestation. */
int phx_chain_sum(uint64_t seq, const char *text, uint8_t ret[PHX_CHAIN_HASH]);
int phx_chain_erasure(const struct phx_store_erasure *e, uint8_t ret[PHX_CHAIN_HASH]);
int phx_chain_attestation(const struct phx_store_attestation *a, uint8_t ret[PHX_CHAIN_HASH]);
/** Reads the journal's identity and where its chain begins and ends. A new journal gets an
 * identity. */
int phx_chain_open(struct phx_store *s, struct phx_err *err);
/** Makes the chain begin after `at`, within a transaction of the caller. */
int phx_chain_begin_at(struct phx_store *s, const struct phx_chain *at, struct phx_err *err);
/** The hash of event `seq`. -ENOENT: the event is not kept or not covered. */
int phx_chain_at(struct phx_store *s, uint64_t seq, struct phx_chain *ret, struct phx_err *err);

/** As hexadecimal digits. */
void phx_chain_hex(const uint8_t hash[PHX_CHAIN_HASH], char ret[2 * PHX_CHAIN_HASH + 1]);

/* ---- attestations.c ---- */

/** Writes an attestation, within a transaction of the caller. */
int phx_attestations_insert(struct phx_store *s, const struct phx_store_attestation *a,
			    struct phx_err *err);

/* ---- mark.c ---- */

/** Reads PATH.mark. -ENOENT: there is none; -EBADMSG: it is damaged. */
int phx_mark_read(const char *journal, struct phx_mark *ret, struct phx_err *err);
/** Writes it; synced at once if `sync`, else by the first write at least a second after the last
 * sync. */
int phx_mark_write(struct phx_store *s, bool sync, struct phx_err *err);
void phx_mark_close(struct phx_store *s);

#endif
