/* The journal and its snapshots, in SQLite (WAL, synchronous=FULL). One
 * transaction holds an event, the actions it caused and the erase records, so
 * that an answered command survives any crash. Decides nothing. One thread at
 * a time writes; readers of events may be other threads (internal lock). */
#ifndef PHX_STORE_STORE_H
#define PHX_STORE_STORE_H

#include "base/util.h"

struct phx_store;

/** Open or make the database at `path` (":memory:" for tests); it is for its owner and group alone, since events hold what
 * users may not see. -EBADMSG when it is damaged, -EPROTONOSUPPORT when a
 * newer Phoenix wrote it, -EBUSY when somebody else has it open (PATH.lock). */
int phx_store_open(const char *path, struct phx_store **ret, struct phx_err *err);
void phx_store_close(struct phx_store *s);

/** A signed erase record. */
struct phx_store_erasure {
	uint64_t step_id;
	const char *node;
	const char *record; /* JSON text, signed */
	const char *signature; /* hex */
};

/** Append event `seq` (must follow the last one: -EPROTO) with its actions. `erasure` may be NULL. -ENOSPC, -EIO,
 * -EROFS: nothing was written. */
int phx_store_append(struct phx_store *s, uint64_t seq, int64_t time_ms, const char *kind, const char *node,
		     const char *event_json, const char *actions_json, const struct phx_store_erasure *erasure,
		     struct phx_err *err);

/** Keep `state_json` as the state after event `seq`; older snapshots but the last one go. */
int phx_store_snapshot(struct phx_store *s, uint64_t seq, const char *state_json, struct phx_err *err);

/** Newest snapshot, malloc'd; *ret_seq 0 and *ret_json NULL when there is none. */
int phx_store_latest(struct phx_store *s, uint64_t *ret_seq, char **ret_json, struct phx_err *err);
/** The same of those older than event `seq`: where the newest is damaged. */
int phx_store_latest_before(struct phx_store *s, uint64_t seq, uint64_t *ret_seq, char **ret_json,
			    struct phx_err *err);

/** One journalled event, as stored. Borrowed during the callback; a non-zero return ends the walk and is returned. */
struct phx_store_event {
	uint64_t seq;
	int64_t time_ms;
	const char *kind, *node, *event, *actions;
};
typedef int (*phx_store_event_fn)(void *arg, const struct phx_store_event *ev);
/** Walk events with seq > after, oldest first, at most `limit` (0 = all); `node` filters (NULL = all). */
int phx_store_events(struct phx_store *s, uint64_t after, uint32_t limit, const char *node, phx_store_event_fn fn,
		     void *arg, struct phx_err *err);
uint64_t phx_store_last(struct phx_store *s);

/** Forget events from before that time, at most 10,000 at once: of those that the older of two snapshots contains, so that
 * a start needs none of them even where the newest snapshot is damaged. Erase records stay. How many, or a negative
 * errno. */
int phx_store_prune(struct phx_store *s, int64_t before_ms, struct phx_err *err);
/** The oldest event that is kept; 0 and 0 without any. */
int phx_store_first(struct phx_store *s, uint64_t *ret_seq, int64_t *ret_time_ms, struct phx_err *err);

typedef int (*phx_store_erasure_fn)(void *arg, const struct phx_store_erasure *e);
int phx_store_erasures(struct phx_store *s, const char *node, phx_store_erasure_fn fn, void *arg, struct phx_err *err);

#endif
