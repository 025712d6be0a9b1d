/* How late the head itself is. A head that got no processor heard nobody for that long, and beats
 * that were sent in time wait unread: none of that is the silence of a node. Told by the daemon
 * what its own timer and the beats say; reads no clock. All times are milliseconds of one
 * monotonic clock. */
#ifndef PHX_NODE_LATENESS_H
#define PHX_NODE_LATENESS_H

#include <stdint.h>

/** Zero-initialise. */
struct phx_lateness {
	int64_t away_ms;  /* in all: for how long the head was not there when its timer was due */
	int64_t queue_ms; /* how late the beats come that are read now, an average */
};

/** The head, which wanted to turn at `due_ms`, turns at `now_ms`. */
void phx_lateness_turned(struct phx_lateness *l, int64_t due_ms, int64_t now_ms);

/** A beat is read at `now_ms` of a node that could send it since `free_ms`. One beat counts for no
 * more than `most_ms`, whatever kept its node. */
void phx_lateness_read(struct phx_lateness *l, int64_t free_ms, int64_t now_ms, int64_t most_ms);

/** How much of the silence of a node is the head's own, of one that was heard when away_ms was
 * `away_ms`; what waits unread counts for `most_ms` at most. */
int64_t phx_lateness_own_ms(const struct phx_lateness *l, int64_t away_ms, int64_t most_ms);

#endif
