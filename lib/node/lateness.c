/* How late the head itself is: see lateness.h. The daemon's liveness calls it before it reports a
 * node as quiet or missing. Pure. */
#include "node/lateness.h"

enum {
	TURN_MS = 100, /* a turn of the loop that is at most so late counts as in time */
	BEAT_MS = 500, /* so does a beat: agents pause between beats */
	BEATS = 16,    /* the average is over about so many beats */
};

void phx_lateness_turned(struct phx_lateness *l, int64_t due_ms, int64_t now_ms)
{
	int64_t late_ms = now_ms - due_ms;
	if (late_ms > TURN_MS)
		l->away_ms += late_ms;
}

void phx_lateness_read(struct phx_lateness *l, int64_t free_ms, int64_t now_ms, int64_t most_ms)
{
	int64_t late_ms = now_ms - free_ms;
	late_ms = late_ms < BEAT_MS ? 0 : late_ms < most_ms ? late_ms : most_ms;
	l->queue_ms += (late_ms - l->queue_ms) / BEATS;
}

/* The beats that are read last have waited for longer than the average: for twice as long. */
int64_t phx_lateness_own_ms(const struct phx_lateness *l, int64_t away_ms, int64_t most_ms)
{
	int64_t waits_ms = 2 * l->queue_ms < most_ms ? 2 * l->queue_ms : most_ms;
	return l->away_ms - away_ms + waits_ms;
}
