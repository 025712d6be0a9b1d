/* How late the head itself is. If the head gets no processor time it hears no node, and beats that
 * were sent in time wait unread: neither is a node's silence. The daemon reports the times of its
 * timer and of beats; this file reads no clock. All times are milliseconds of one monotonic clock.
 */
#ifndef PHX_NODE_LATENESS_H
#define PHX_NODE_LATENESS_H

#include <stdint.h>

/** Zero-initialise. */
struct phx_lateness {
	int64_t away_ms;  /* the sum of the delays of the head's timer */
	int64_t queue_ms; /* the moving average of the delay with which beats are read */
};

/** The head's timer was due at `due_ms`, and fires at `now_ms`. */
void phx_lateness_turned(struct phx_lateness *l, int64_t due_ms, int64_t now_ms);

/** At `now_ms` the head reads a beat that the node could have sent since `free_ms`. One beat counts
 * for at most `most_ms`, since the node itself may have been late. */
void phx_lateness_read(struct phx_lateness *l, int64_t free_ms, int64_t now_ms, int64_t most_ms);

/** How much of a node's silence is the head's own delay. `away_ms`: the value of l->away_ms when
 * the node was last heard. Unread beats count for at most `most_ms`. */
int64_t phx_lateness_own_ms(const struct phx_lateness *l, int64_t away_ms, int64_t most_ms);

#endif
