/* The store where a journal keeps its events, as a table of functions: SQLite
 * (lib/store) for the daemon, memory for the fault simulation and tests. */
#ifndef PHX_JOURNAL_STORE_H
#define PHX_JOURNAL_STORE_H

#include "store/store.h"

/** The calls of a store; each does what the function of its name in store/store.h does, with
 * `arg`; snapshot() what phx_store_snapshot_write() does. */
struct phx_journal_store {
	int (*append)(void *arg, const struct phx_store_row *rows, uint32_t n, struct phx_err *err);
	/** Makes the form in which snapshot() writes the text: takes long and blocks nobody. NULL:
	 * the text is written as it is. */
	int (*pack)(uint64_t seq, const char *state_json, struct phx_store_packed *ret);
	int (*snapshot)(void *arg, uint64_t seq, const char *state_json,
			const struct phx_store_packed *packed, struct phx_err *err);
	int (*latest_before)(void *arg, uint64_t seq, uint64_t *ret_seq, char **ret_json,
			     struct phx_err *err);
	int (*events)(void *arg, uint64_t after, phx_store_event_fn fn, void *fn_arg,
		      struct phx_err *err);
	int (*first)(void *arg, uint64_t *ret_seq, struct phx_err *err);
	uint64_t (*last)(void *arg);
	/** For attestations: the erases of a plan, and the node's last attestation; NULL: not
	 * kept. */
	int (*erasures_from)(void *arg, const char *node, uint64_t first, uint64_t last,
			     phx_store_erasure_fn fn, void *fn_arg, struct phx_err *err);
	int (*attestations)(void *arg, const struct phx_store_attestations *of,
			    phx_store_attestation_fn fn, void *fn_arg, struct phx_err *err);
	/** Does the store take events? 0, or an error; `probe`: tries a write. */
	int (*ready)(void *arg, bool probe, struct phx_err *err);
	/** Drops events before `before_ms`. NULL: the store keeps all events. */
	void (*forget)(void *arg, int64_t before_ms);
	void *arg;
};

/** The calls for a store of lib/store, which is borrowed. */
struct phx_journal_store phx_journal_on_sqlite(struct phx_store *store);

/** The fate of one write to the store in memory. */
enum phx_memory_fate {
	PHX_MEMORY_WRITTEN,
	PHX_MEMORY_FULL,  /* the write is refused; nothing is stored */
	PHX_MEMORY_CUT,   /* only a part is stored: a start skips it */
	PHX_MEMORY_LOST,  /* the write fails in doubt; it is not stored */
	PHX_MEMORY_LASTS, /* the write fails in doubt; it is stored */
};
/** The writes of an append are, for each event, a row and perhaps a record, and then the commit. */
enum phx_memory_write {
	PHX_MEMORY_ROW,
	PHX_MEMORY_RECORD,
	PHX_MEMORY_COMMIT,
	PHX_MEMORY_SNAPSHOT,
	PHX_MEMORY_PROBE
};

/** A store in memory, which outlives the journals that use it. Zero-initialise. Keeps two
 * snapshots, and the events after the older one. Not thread-safe. */
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
	/** Decides the fate of each write; NULL: all are written. */
	enum phx_memory_fate (*fate)(void *arg, enum phx_memory_write write);
	void *fate_arg;
};
void phx_memory_fini(struct phx_memory *m);
struct phx_journal_store phx_journal_on_memory(struct phx_memory *m);

#endif
