/* The journal on SQLite: implements the calls of journal/store.h by lib/store. Given to the journal
 * by phxd; has no rule of its own. */
#include "journal/store.h"

static int append(void *arg, const struct phx_store_row *rows, uint32_t n, struct phx_err *err)
{
	return phx_store_append(arg, rows, n, err);
}

static int snapshot(void *arg, uint64_t seq, const char *state_json,
		    const struct phx_store_packed *packed, struct phx_err *err)
{
	return phx_store_snapshot_write(arg, seq, state_json, packed, err);
}

static int latest_before(void *arg, uint64_t seq, uint64_t *ret_seq, char **ret_json,
			 struct phx_err *err)
{
	return phx_store_latest_before(arg, seq, ret_seq, ret_json, err);
}

static int events(void *arg, uint64_t after, phx_store_event_fn fn, void *fn_arg,
		  struct phx_err *err)
{
	return phx_store_events(arg, after, 0, NULL, fn, fn_arg, err);
}

static int first(void *arg, uint64_t *ret_seq, struct phx_err *err)
{
	int64_t time_ms;
	return phx_store_first(arg, ret_seq, &time_ms, err);
}

static uint64_t last(void *arg)
{
	return phx_store_last(arg);
}

static int erasures_from(void *arg, const char *node, uint64_t from, uint64_t to,
			 phx_store_erasure_fn fn, void *fn_arg, struct phx_err *err)
{
	return phx_store_erasures_from(arg, node, from, to, fn, fn_arg, err);
}

static int attestations(void *arg, const struct phx_store_attestations *of,
			phx_store_attestation_fn fn, void *fn_arg, struct phx_err *err)
{
	return phx_store_attestations(arg, of, fn, fn_arg, err);
}

static int ready(void *arg, bool probe, struct phx_err *err)
{
	int r = phx_store_watch(arg, err);
	return r == 0 && probe ? phx_store_probe(arg, err) : r;
}

/* An error is ignored: old events are pruned again after the next snapshot. */
static void forget(void *arg, int64_t before_ms)
{
	phx_store_prune(arg, before_ms, NULL);
}

struct phx_journal_store phx_journal_on_sqlite(struct phx_store *store)
{
	return (struct phx_journal_store){.append = append,
					  .pack = phx_store_snapshot_pack,
					  .snapshot = snapshot,
					  .latest_before = latest_before,
					  .events = events,
					  .first = first,
					  .last = last,
					  .erasures_from = erasures_from,
					  .attestations = attestations,
					  .ready = ready,
					  .forget = forget,
					  .arg = store};
}
