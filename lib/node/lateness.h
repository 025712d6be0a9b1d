/* How late the head itself is. A head without a processor hears no node, and beats that were sent
 * in time wait unread: neither is the silence of a node. The daemon reports the times of its timer
 * and of beats; this file reads no clock. All times are milliseconds of one monotonic clock. */
#ifndef PHX_NODE_LATENESS_H
#define PHX_NODE_LATENESS_H

#include <stdint.h>

/** Zero-initialise. */
struct phx_lateness {
	int64_t away_ms;  /* the sum of delays between a due timer and its turn */
	int64_t queue_ms; /* the average delay of beats that are read now */
};

/** The head's timer was due at `due_ms`, and the head turns at `now_ms`. */
void phx_lateness_turned(struct phx_lateness *l, int64_t due_ms, int64_t now_ms);

/** At `now_ms` the head reads a beat that its node could send since `free_ms`. One beat counts for
 * `most_ms` at most, since the node itself may have been late. */
void phx_lateness_read(struct phx_lateness *l, int64_t free_ms, int64_t now_ms, int64_t most_ms);

/** How much of a node's silence is the head's own delay. `away_ms`: the member away_ms when the
 * node was last heard. Unread beats count for `most_ms` at most. */
int64_t phx_lateness_own_ms(const struct phx_lateness *l, int64_t away_ms, int64_t most_ms);

#endif
