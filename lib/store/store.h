/* The journal and its snapshots, in SQLite (WAL, synchronous=FULL). One
 * transaction holds one or more events, the actions they caused and the erase
 * records, so that an answered command survives any crash. Decides nothing. One thread at
 * a time writes; readers of events may be other threads (internal lock). */
#ifndef PHX_STORE_STORE_H
#define PHX_STORE_STORE_H

#include "base/util.h"
#include "pki/anchor.h"

struct phx_store;

/** Open or make the database at `path` (":memory:" for tests); it is for its owner and group alone,
 * since events hold what users may not see. An older schema is brought up to date. -EBADMSG when it
 * is damaged, -EPROTONOSUPPORT when a newer Phoenix wrote it, -EBUSY when somebody else has it open
 * (PATH.lock). */
int phx_store_open(const char *path, struct phx_store **ret, struct phx_err *err);
/** The same to read only: makes no journal and brings none up to date. */
int phx_store_open_read(const char *path, struct phx_store **ret, struct phx_err *err);
void phx_store_close(struct phx_store *s);

#define PHX_STORE_DAMAGE_MAX 256

/** What phx_store_verify() found that is no reason to stop. */
struct phx_store_findings {
	/* up to this event no hash says that it is as it was written; 0 = all are covered */
	uint64_t uncovered;
	/* the last event that was acknowledged, as PATH.mark says; 0 = unknown */
	uint64_t marked;
	/* there was none, or it was damaged: what is missing at the end is not known */
	bool no_mark;
	char mark_trouble[PHX_STORE_DAMAGE_MAX]; /* why it cannot be read; "" = it is not there */
	/* of the file, where it holds no event: phx_store_rebuild() */
	char damage[PHX_STORE_DAMAGE_MAX];
};

/** Is every event and erase record the one that was written, and the last one the last that was
 * acknowledged? Reads the whole journal; call it once, after opening. -EBADMSG: an event was
 * changed or is missing (the text names it); -ENODATA: acknowledged events are missing at the end,
 * or it is another journal. On success PATH.mark is up to date. */
int phx_store_verify(struct phx_store *s, struct phx_store_findings *ret, struct phx_err *err);

/** Take the journal as it is, whatever phx_store_verify() says: its chain begins anew after its
 * last event. *ret_missing: how many acknowledged events it lacks at its end, as far as that is
 * known. */
int phx_store_accept(struct phx_store *s, uint64_t *ret_missing, struct phx_err *err);

/** What signs where the chain begins from now on; what `arg` points to is borrowed. Without it
 * nothing is signed. */
void phx_store_sign_with(struct phx_store *s, const struct phx_signer *signer);

/** Sign where the chain begins, where that is not the first event and no line says it yet: `kind`
 * says why. 1: signed now; 0: there was no need. */
int phx_store_seal(struct phx_store *s, enum phx_anchor_kind kind, struct phx_err *err);

/** How far the journal is, to be signed by the caller. -ENODATA: nothing came since the chain
 * began. */
int phx_store_reached(struct phx_store *s, struct phx_anchor *ret);

/** Make a damaged file sound again, with `state_json` as the only snapshot; events and erase
 * records stay. Call it while nobody else uses the store. */
int phx_store_rebuild(struct phx_store *s, uint64_t seq, const char *state_json,
		      struct phx_err *err);

/** Is the file still where it was opened? -ESTALE: it was removed or replaced, and nothing more is
 * to be acknowledged. Every append asks too. */
int phx_store_watch(struct phx_store *s, struct phx_err *err);

/** Does it take events again? Found out by a small commit that changes nothing. */
int phx_store_probe(struct phx_store *s, struct phx_err *err);

/** The journal's identity, hexadecimal digits drawn when it was made; borrowed. */
const char *phx_store_id(const struct phx_store *s);

/** A signed erase record. */
struct phx_store_erasure {
	uint64_t step_id;
	const char *node;
	const char *record;    /* JSON text, signed */
	const char *signature; /* hex */
};

/** A signed attestation: pki/attestation.h. */
struct phx_store_attestation {
	uint64_t id; /* the step of the last erase */
	int64_t time_ms;
	const char *node, *from_owner, *to_owner;
	const char *text; /* the document */
};

/** One journalled event, as stored. */
struct phx_store_event {
	uint64_t seq;
	int64_t time_ms;
	const char *kind, *node, *event, *actions;
};

/** What is written of one event; all is borrowed. */
struct phx_store_row {
	struct phx_store_event event;
	/* struct phx_word: whom it is about beside event.node; phx_store_reader_about() finds it
	 * under each of these names */
	struct phx_list about;
	struct phx_store_erasure erasure;         /* record NULL: none */
	struct phx_store_attestation attestation; /* text NULL: none */
};

/** phx_store_append() cannot say whether the events last: the commit reported a failure that may
 * leave them on the disk, where the next start finds them. The text says why. Nothing more is to be
 * appended by this process. */
#define PHX_STORE_DOUBT 1

/** Append `n` events, each of which must follow the one before it (-EPROTO), in one transaction:
 * all last, or none. 0, or PHX_STORE_DOUBT; negative: nothing was written, but for -ESTALE, where
 * they may lie in the file that was removed. */
int phx_store_append(struct phx_store *s, const struct phx_store_row *rows, uint32_t n,
		     struct phx_err *err);

/** Keep `state_json` as the state after event `seq`; older snapshots but the last one go. */
int phx_store_snapshot(struct phx_store *s, uint64_t seq, const char *state_json,
		       struct phx_err *err);

/** The form in which a snapshot is written. */
struct phx_store_packed {
	void *bytes; /* malloc'd, the caller's; NULL: the text itself is written */
	size_t n;
	uint8_t hash[32];
};
/** The two halves of phx_store_snapshot(): the first takes the longer and touches no store, so that
 * a caller holds nobody up by it. -ENOMEM. */
int phx_store_snapshot_pack(uint64_t seq, const char *state_json, struct phx_store_packed *ret);
int phx_store_snapshot_write(struct phx_store *s, uint64_t seq, const char *state_json,
			     const struct phx_store_packed *packed, struct phx_err *err);

/** Newest snapshot, malloc'd; *ret_seq 0 and *ret_json NULL when there is none. */
int phx_store_latest(struct phx_store *s, uint64_t *ret_seq, char **ret_json, struct phx_err *err);
/** The same of those older than event `seq`: where the newest is damaged. -EBADMSG: so is this one;
 * *ret_seq is its event, 0 when not even that can be read. */
int phx_store_latest_before(struct phx_store *s, uint64_t seq, uint64_t *ret_seq, char **ret_json,
			    struct phx_err *err);

/** Called with each event of a walk, which is borrowed during the call; a non-zero return ends the
 * walk and is returned. */
typedef int (*phx_store_event_fn)(void *arg, const struct phx_store_event *ev);
/** Walk events with seq > after, oldest first, at most `limit` (0 = all); those of one `node` are
 * found by an index (NULL = all). */
int phx_store_events(struct phx_store *s, uint64_t after, uint32_t limit, const char *node,
		     phx_store_event_fn fn, void *arg, struct phx_err *err);
/** Walk events of one kind, newest first: for questions that are asked seldom, since it looks at
 * every event. */
int phx_store_events_of(struct phx_store *s, const char *kind, phx_store_event_fn fn, void *arg,
			struct phx_err *err);
uint64_t phx_store_last(struct phx_store *s);

/** Somebody who reads events beside the daemon's own writing: a connection of its own, so that
 * neither waits for the other. Used by one thread at a time. */
struct phx_store_reader;
/** `path` is that of an open journal, no ":memory:". Errors as of phx_store_open(). */
int phx_store_reader_open(const char *path, struct phx_store_reader **ret, struct phx_err *err);
void phx_store_reader_close(struct phx_store_reader *r);
/** As phx_store_events(). */
int phx_store_reader_events(struct phx_store_reader *r, uint64_t after, uint32_t limit,
			    const char *node, phx_store_event_fn fn, void *arg,
			    struct phx_err *err);
/** The same of the events of node `name`, and those that were said to be about that name. */
int phx_store_reader_about(struct phx_store_reader *r, uint64_t after, uint32_t limit,
			   const char *name, phx_store_event_fn fn, void *arg, struct phx_err *err);

/** How a person who caused an event stands in phx_store_row.about: this and the event's `by`. No
 * node or RE has such a name. */
#define PHX_STORE_BY "@"
/** What is searched for; all borrowed. What an index does not know is walked: the caller looks
 * again at what he is told. */
struct phx_store_search {
	const char *name; /* whom it is about, a node or an RE; NULL: whoever */
	const char *who;  /* who caused it, as the event's `by` has it; NULL: whoever */
	const char *kind; /* NULL: any */
	uint64_t before;  /* of lower numbers; 0: from the newest on */
	uint64_t after;   /* of higher numbers */
	uint32_t limit;
};
/** Walk events that may be such, newest first, at most `limit`. */
int phx_store_search(struct phx_store_reader *r, const struct phx_store_search *of,
		     phx_store_event_fn fn, void *arg, struct phx_err *err);
/** The first event of that time or later; behind the last one where there is none. */
int phx_store_search_time(struct phx_store_reader *r, int64_t time_ms, uint64_t *ret_seq,
			  struct phx_err *err);
/** Of events up to this one it is not known whom they are about: they are of a time before. */
uint64_t phx_store_reader_unsaid(const struct phx_store_reader *r);

/** Forget events from before that time, at most 10,000 at once: of those that the older of two
 * snapshots contains, so that a start needs none of them even where the newest snapshot is damaged.
 * Erase records stay. How many, or a negative errno. */
int phx_store_prune(struct phx_store *s, int64_t before_ms, struct phx_err *err);
/** The oldest event that is kept; 0 and 0 without any. */
int phx_store_first(struct phx_store *s, uint64_t *ret_seq, int64_t *ret_time_ms,
		    struct phx_err *err);

typedef int (*phx_store_erasure_fn)(void *arg, const struct phx_store_erasure *e);
int phx_store_erasures(struct phx_store *s, const char *node, phx_store_erasure_fn fn, void *arg,
		       struct phx_err *err);
/** Those of one plan: of the steps from `first` to `last`. */
int phx_store_erasures_from(struct phx_store *s, const char *node, uint64_t first, uint64_t last,
			    phx_store_erasure_fn fn, void *arg, struct phx_err *err);

/** Called with each attestation of a walk, which is borrowed during the call; a non-zero return
 * ends the walk and is returned. */
typedef int (*phx_store_attestation_fn)(void *arg, const struct phx_store_attestation *a);
/** Which are asked for. All of it borrowed. */
struct phx_store_attestations {
	const char *node;  /* NULL: of all nodes */
	const char *owner; /* who had it before, or has it next; NULL: whoever. Not with `node` */
	uint64_t before;   /* of lower ids than that; 0: from the newest on */
	uint32_t limit;
};
/** Walk attestations, newest first; each way to ask has its index. */
int phx_store_attestations(struct phx_store *s, const struct phx_store_attestations *of,
			   phx_store_attestation_fn fn, void *arg, struct phx_err *err);

#endif
