/* The journal and its snapshots, in SQLite (WAL, synchronous=FULL). One
 * transaction holds one or more events, the actions they caused and the erase
 * records, so that an answered command survives any crash. Decides nothing. One thread at
 * a time writes; readers of events may be other threads (internal lock). */
#ifndef PHX_STORE_STORE_H
#define PHX_STORE_STORE_H

#include "base/util.h"
#include "pki/anchor.h"

struct phx_store;

/** Opens or creates the database at `path` (":memory:" for tests), accessible to its owner and
 * group only, since events contain what users may not see. Upgrades an older schema. -EBADMSG: it
 * is damaged; -EPROTONOSUPPORT: a newer Phoenix wrote it; -EBUSY: another process has it open
 * (PATH.lock). */
int phx_store_open(const char *path, struct phx_store **ret, struct phx_err *err);
/** Opens it for reading only: neither creates nor upgrades a journal. */
int phx_store_open_read(const char *path, struct phx_store **ret, struct phx_err *err);
void phx_store_close(struct phx_store *s);

#define PHX_STORE_DAMAGE_MAX 256

/** Findings of phx_store_verify() that do not prevent a start. */
struct phx_store_findings {
	/* up to this event no hash covers the events; 0 = all are covered */
	uint64_t uncovered;
	/* the last acknowledged event according to PATH.mark; 0 = unknown */
	uint64_t marked;
	/* the mark is missing or damaged: events missing at the end would not be noticed */
	bool no_mark;
	char mark_trouble[PHX_STORE_DAMAGE_MAX]; /* why it cannot be read; "" = it does not exist */
	/* damage of the file outside its events: phx_store_rebuild() */
	char damage[PHX_STORE_DAMAGE_MAX];
};

/** Checks that every event, erase record and attestation is as it was written, and that the last
 * event is the last acknowledged one. Reads the whole journal; call it once, after opening.
 * -EBADMSG: an event was changed or is missing (the text names it); -ENODATA: acknowledged events
 * are missing at the end, or it is another journal. On success PATH.mark is up to date. */
int phx_store_verify(struct phx_store *s, struct phx_store_findings *ret, struct phx_err *err);

/** Accepts the journal as it is, whatever phx_store_verify() says: its chain begins anew after its
 * last event. *ret_missing: how many acknowledged events it lacks at its end, as far as that is
 * known. */
int phx_store_accept(struct phx_store *s, uint64_t *ret_missing, struct phx_err *err);

/** Sets the signer of the lines that say where the chain begins; what `arg` points to is borrowed.
 * Without a signer nothing is signed. */
void phx_store_sign_with(struct phx_store *s, const struct phx_signer *signer);

/** Adds a signed line that says where the chain begins and why (`kind`), unless that is the first
 * event or a line says it already. 1: signed now; 0: not needed. */
int phx_store_seal(struct phx_store *s, enum phx_anchor_kind kind, struct phx_err *err);

/** How far the journal has come, as an anchor for the caller to sign. -ENODATA: no event since the
 * chain began. */
int phx_store_reached(struct phx_store *s, struct phx_anchor *ret);

/** Repairs a damaged file, with `state_json` as the only snapshot; events, erase records and
 * attestations stay. Call it while nobody else uses the store. */
int phx_store_rebuild(struct phx_store *s, uint64_t seq, const char *state_json,
		      struct phx_err *err);

/** Is the file still the one that was opened? -ESTALE: it was removed or replaced, and no more
 * events may be acknowledged. Every append checks this, too. */
int phx_store_watch(struct phx_store *s, struct phx_err *err);

/** Does the store take events again? Tries a small commit that changes nothing. */
int phx_store_probe(struct phx_store *s, struct phx_err *err);

/** The journal's identity: hexadecimal digits drawn when it was created; borrowed. */
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

/** What is written for one event; all members are borrowed. */
struct phx_store_row {
	struct phx_store_event event;
	/* struct phx_word: whom the event is about beside event.node; phx_store_reader_about()
	 * finds it by each of these names */
	struct phx_list about;
	struct phx_store_erasure erasure;         /* record NULL: none */
	struct phx_store_attestation attestation; /* text NULL: none */
};

/** phx_store_append() cannot say whether the events are durable: the commit reported a failure that
 * may leave them on disk, where the next start finds them. The text says why. This process must
 * append nothing more. */
#define PHX_STORE_DOUBT 1

/** Appends `n` events, each of which must follow the one before it (-EPROTO), in one transaction:
 * all or none. 0, or PHX_STORE_DOUBT; negative: nothing was written, except for -ESTALE, where the
 * events may be in the removed file. */
int phx_store_append(struct phx_store *s, const struct phx_store_row *rows, uint32_t n,
		     struct phx_err *err);

/** Stores `state_json` as the state after event `seq`; of the older snapshots only the last one is
 * kept. */
int phx_store_snapshot(struct phx_store *s, uint64_t seq, const char *state_json,
		       struct phx_err *err);

/** The form in which a snapshot is written. */
struct phx_store_packed {
	void *bytes; /* malloc'd, the caller's; NULL: the text itself is written */
	size_t n;
	uint8_t hash[32];
};
/** The two halves of phx_store_snapshot(): the first takes longer and touches no store, so it
 * blocks nobody. -ENOMEM. */
int phx_store_snapshot_pack(uint64_t seq, const char *state_json, struct phx_store_packed *ret);
int phx_store_snapshot_write(struct phx_store *s, uint64_t seq, const char *state_json,
			     const struct phx_store_packed *packed, struct phx_err *err);

/** The newest snapshot, malloc'd; *ret_seq 0 and *ret_json NULL if there is none. */
int phx_store_latest(struct phx_store *s, uint64_t *ret_seq, char **ret_json, struct phx_err *err);
/** The newest snapshot before event `seq`, for when a newer one is damaged. -EBADMSG: this one is
 * damaged, too; *ret_seq is its event, 0 if not even that can be read. */
int phx_store_latest_before(struct phx_store *s, uint64_t seq, uint64_t *ret_seq, char **ret_json,
			    struct phx_err *err);

/** Called with each event of a walk, which is borrowed during the call; a non-zero return ends the
 * walk and is returned. */
typedef int (*phx_store_event_fn)(void *arg, const struct phx_store_event *ev);
/** Walks events with seq > after, oldest first, at most `limit` (0 = all); only those of `node` if
 * given, by an index. */
int phx_store_events(struct phx_store *s, uint64_t after, uint32_t limit, const char *node,
		     phx_store_event_fn fn, void *arg, struct phx_err *err);
/** Walks events of one kind, newest first, by an index. */
int phx_store_events_of(struct phx_store *s, const char *kind, phx_store_event_fn fn, void *arg,
			struct phx_err *err);
uint64_t phx_store_last(struct phx_store *s);

enum { PHX_STORE_VERSION_MAX = 64 };
/** The head has started as this version of Phoenix, which decides all events from here on. */
int phx_store_note_version(struct phx_store *s, const char *version, struct phx_err *err);
/** Which version decided event `seq`. -ENOENT, and "": it is not recorded, as in journals of
 * before. */
int phx_store_version_of(struct phx_store *s, uint64_t seq, char ret[PHX_STORE_VERSION_MAX]);

/** What a copy of a journal holds. */
struct phx_store_copied {
	uint64_t seq; /* its last event; 0: none */
	char id[64];  /* phx_store_id() */
};
/** Copies the journal at `path`, which another process may be writing and is not held up, into the
 * new file `to`, as it is at one event. -ENOENT; -EBADMSG: it is none, or damaged. On an error
 * there is no file `to`. */
int phx_store_copy(const char *path, const char *to, struct phx_store_copied *ret,
		   struct phx_err *err);

/** A reader of events beside the daemon's writing, with a connection of its own, so that neither
 * waits for the other. Used by one thread at a time. */
struct phx_store_reader;
/** Opens a reader; `path` is that of an open journal, not ":memory:". Errors as of
 * phx_store_open(). */
int phx_store_reader_open(const char *path, struct phx_store_reader **ret, struct phx_err *err);
void phx_store_reader_close(struct phx_store_reader *r);
/** As phx_store_events(). */
int phx_store_reader_events(struct phx_store_reader *r, uint64_t after, uint32_t limit,
			    const char *node, phx_store_event_fn fn, void *arg,
			    struct phx_err *err);
/** Likewise the events of node `name`, and those recorded as being about that name. */
int phx_store_reader_about(struct phx_store_reader *r, uint64_t after, uint32_t limit,
			   const char *name, phx_store_event_fn fn, void *arg, struct phx_err *err);

/** A person who caused an event is in phx_store_row.about as this prefix and the event's `by`. No
 * node or RE has such a name. */
#define PHX_STORE_BY "@"
/** Search terms; all borrowed. The index may cover only some of them, so the caller must check the
 * events that it gets. */
struct phx_store_search {
	const char *name; /* node or RE that the event is about; NULL: any */
	const char *who;  /* who caused it, as the event's `by`; NULL: anybody */
	const char *kind; /* NULL: any */
	uint64_t before;  /* only lower numbers; 0: from the newest on */
	uint64_t after;   /* only higher numbers */
	uint32_t limit;
};
/** Walks events that may match, newest first, at most `limit`. */
int phx_store_search(struct phx_store_reader *r, const struct phx_store_search *of,
		     phx_store_event_fn fn, void *arg, struct phx_err *err);
/** The first event at or after that time; one past the last event if there is none. */
int phx_store_search_time(struct phx_store_reader *r, int64_t time_ms, uint64_t *ret_seq,
			  struct phx_err *err);
/** The newest snapshot before event `before`, malloc'd; *ret_seq 0 and *ret_json NULL: there is
 * none. -EBADMSG: it cannot be unpacked. Whether it is as it was written nobody looks here. */
int phx_store_reader_snapshot(struct phx_store_reader *r, uint64_t before, uint64_t *ret_seq,
			      char **ret_json, struct phx_err *err);
/** Up to this event it is not recorded whom events are about: an older Phoenix wrote them. */
uint64_t phx_store_reader_unsaid(const struct phx_store_reader *r);

/** Forgets events before that time, at most 10,000 at once, and only those that the older of two
 * snapshots contains, so that no start needs them even if the newest snapshot is damaged. Erase
 * records stay. Returns how many, or a negative errno. */
int phx_store_prune(struct phx_store *s, int64_t before_ms, struct phx_err *err);
/** The oldest event that is kept; 0 and 0 if there is none. */
int phx_store_first(struct phx_store *s, uint64_t *ret_seq, int64_t *ret_time_ms,
		    struct phx_err *err);

typedef int (*phx_store_erasure_fn)(void *arg, const struct phx_store_erasure *e);
int phx_store_erasures(struct phx_store *s, const char *node, phx_store_erasure_fn fn, void *arg,
		       struct phx_err *err);
/** Those of one plan: of the steps `first` to `last`. */
int phx_store_erasures_from(struct phx_store *s, const char *node, uint64_t first, uint64_t last,
			    phx_store_erasure_fn fn, void *arg, struct phx_err *err);

/** Called with each attestation of a walk, which is borrowed during the call; a non-zero return
 * ends the walk and is returned. */
typedef int (*phx_store_attestation_fn)(void *arg, const struct phx_store_attestation *a);
/** Search terms. All members are borrowed. */
struct phx_store_attestations {
	const char *node; /* NULL: of all nodes */
	const char
		*owner; /* owner of the node before or after; NULL: any. Not together with `node` */
	uint64_t before; /* only lower ids; 0: from the newest on */
	uint32_t limit;
};
/** Walks attestations, newest first; each search term has an index. */
int phx_store_attestations(struct phx_store *s, const struct phx_store_attestations *of,
			   phx_store_attestation_fn fn, void *arg, struct phx_err *err);

#endif
