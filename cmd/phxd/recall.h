/* Bringing the state back from the journal: the newest sound snapshot, then
 * the events after it. */
#ifndef PHXD_RECALL_H
#define PHXD_RECALL_H

#include "core/core.h"
#include "store/store.h"

struct recalled {
	struct phx_state state;
	uint64_t snapshot_seq; /* from which it was made; 0 = from nothing */
	struct phx_err damage; /* text set: a snapshot could not be used, and why */
};

/** `ret` (caller: phx_state_fini(&ret->state)) is what the journal says; the actions of events must come out as they
 * were recorded (-EPROTO otherwise, naming the event). -ENODATA: nothing leads there. */
int recall_state(struct phx_store *store, struct recalled *ret, struct phx_err *err);

#endif
