/* One event into a store, by itself: for tests of lib/store and benches. */
#ifndef FAKE_APPEND_ONE_H
#define FAKE_APPEND_ONE_H

#include "store/store.h"

static inline int append_one(struct phx_store *s, uint64_t seq, int64_t time_ms, const char *kind,
			     const char *node, const char *event, const char *actions,
			     const struct phx_store_erasure *erasure, struct phx_err *err)
{
	struct phx_store_row row = {.event = {seq, time_ms, kind, node, event, actions}};
	if (erasure)
		row.erasure = *erasure;
	return phx_store_append(s, &row, 1, err);
}

#endif
