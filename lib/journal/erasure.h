/* The erase record, which is signed. */
#ifndef PHX_JOURNAL_ERASURE_H
#define PHX_JOURNAL_ERASURE_H

#include "base/json.h"
#include "core/core.h"

/** Makes the record of the erase of `act` (kind ERASED) of event `ev`, in the state after it: whose
 * disk, between which owners, how it was erased and read back, and every disk that the node is
 * known to have. The caller owns it; NULL: out of memory. */
json_t *phx_erasure_json(const struct phx_state *s, const struct phx_event *ev,
			 const struct phx_action *act);

#endif
