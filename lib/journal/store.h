/* What the journal needs of the place where events are kept: SQLite
 * (lib/store) for the daemon, memory for the fault simulation and tests. */
#ifndef PHX_JOURNAL_STORE_H
#define PHX_JOURNAL_STORE_H

#include "store/store.h"

/** The calls of a store; each is as the function of store/store.h with its name, and gets `arg`. */
struct phx_journal_store {
	/** The event and, unless NULL, its erase record: both or none. */
	int (*append)(void *arg, const struct phx_store_event *ev,
		      const struct phx_store_erasure *erasure, struct phx_err *err);
	int (*snapshot)(void *arg, uint64_t seq, const char *state_json, struct phx_err *err);
	int (*latest_before)(void *arg, uint64_t seq, uint64_t *ret_seq, char **ret_json,
			     struct phx_err *err);
	int (*events)(void *arg, uint64_t after, phx_store_event_fn fn, void *fn_arg,
		      struct phx_err *err);
	int (*first)(void *arg, uint64_t *ret_seq, struct phx_err *err);
	uint64_t (*last)(void *arg);
	/** Does it take events again? 0, or why not; `probe`: found out by writing. */
	int (*ready)(void *arg, bool probe, struct phx_err *err);
	/** May be NULL: nothing is ever forgotten. */
	void (*forget)(void *arg, int64_t before_ms);
	void *arg;
};

/** On a store of lib/store; borrowed. */
struct phx_journal_store phx_journal_on_sqlite(struct phx_store *store);

/** What becomes of one write to the store in memory. */
enum phx_memory_fate {
	PHX_MEMORY_WRITTEN,
	PHX_MEMORY_FULL,  /* refused, and nothing of it is there */
	PHX_MEMORY_CUT,   /* a part is there: a start passes over it */
	PHX_MEMORY_LOST,  /* it cannot be said whether it is there; it is not */
	PHX_MEMORY_LASTS, /* it cannot be said whether it is there; it is */
};
/** The writes of an append are a row, perhaps a record, and the commit. */
enum phx_memory_write {
	PHX_MEMORY_ROW,
	PHX_MEMORY_RECORD,
	PHX_MEMORY_COMMIT,
	PHX_MEMORY_SNAPSHOT,
	PHX_MEMORY_PROBE
};

/** A store in memory: outlives the journals that use it. Zero-initialise. Keeps two snapshots, and
 * the events that lead from the older one. Not thread-safe. */
struct phx_memory {
	struct phx_list
		/* struct phx_store_event; owns event and actions, kind is borrowed from the core's
		 * table */
		events;
	struct {
		uint64_t seq;
		char *state;
	} snapshots[2]; /* newest first */
	uint64_t last, n_records;
	/** What becomes of the next write; NULL: all are written. */
	enum phx_memory_fate (*fate)(void *arg, enum phx_memory_write write);
	void *fate_arg;
};
void phx_memory_fini(struct phx_memory *m);
struct phx_journal_store phx_journal_on_memory(struct phx_memory *m);

#endif
