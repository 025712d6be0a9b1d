/* Core time: the wall clock at the start, monotonic from there, never before the last event
 * (faults.md 32). At a start, a wall clock far ahead of the last event is believed only if the
 * kernel says that it is synchronised, or an administrator vouches for it; until then time
 * continues from the last event. Reads no clock itself: the source is an argument. Not
 * thread-safe. */
#ifndef PHX_JOURNAL_CORE_CLOCK_H
#define PHX_JOURNAL_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/** How far the wall clock may be ahead at a start without further evidence: a week's downtime. */
#define PHX_CLOCK_STEP_MAX_MS (7LL * 24 * 3600 * 1000)

/** Where time comes from; all in milliseconds, called with `arg`. */
struct phx_clock_source {
	int64_t (*wall_ms)(void *arg);
	int64_t (*mono_ms)(void *arg); /* never goes back */
	/* does the kernel say that a time service keeps the wall clock synchronised? */
	bool (*synchronised)(void *arg);
	void *arg;
};

struct phx_core_clock {
	struct phx_clock_source source;
	int64_t base_ms; /* core time = base + monotonic */
	int64_t held_ms; /* how far the wall clock is ahead; 0 = it is believed */
	/* monotonic: from this time on people must have noticed a large step */
	int64_t settled_ms;
	int64_t look_ms; /* monotonic: when `synchronised` is called next */
};

/** Initialises at a start; `last_ms` is the last event's time, 0 = no event. `accept`: the wall
 * clock is believed, however far it is ahead. */
void phx_core_clock_begin(struct phx_core_clock *c, const struct phx_clock_source *source,
			  int64_t last_ms, bool accept);
/** Core time now: never before `last_ms`. */
int64_t phx_core_clock_now(const struct phx_core_clock *c, int64_t last_ms);
/** True once, when a doubted wall clock comes to be believed: core time has stepped forward. Cheap:
 * asks the source once a second. */
bool phx_core_clock_believe(struct phx_core_clock *c);
/** May old events be forgotten? Not while the wall clock is doubted, nor within a day of a large
 * step. */
bool phx_core_clock_settled(const struct phx_core_clock *c);

#endif
