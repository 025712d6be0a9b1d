/* Core time: the wall clock at the start, monotonic from there, never before
 * the last event (faults.md 32). A clock that is far ahead of the last event
 * at a start is believed only when somebody vouches for it: the kernel (it is
 * synchronised), or an administrator. Until then time goes on from the last
 * event. Reads no clock itself: a source is an argument. Not thread-safe. */
#ifndef PHX_JOURNAL_CORE_CLOCK_H
#define PHX_JOURNAL_CORE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/** How far a clock may be ahead at a start without more evidence: a week's downtime. */
#define PHX_CLOCK_STEP_MAX_MS (7LL * 24 * 3600 * 1000)

/** Where time comes from; all in milliseconds, called with `arg`. */
struct phx_clock_source {
	int64_t (*wall_ms)(void *arg);
	int64_t (*mono_ms)(void *arg); /* never goes back */
	/* does somebody keep the wall clock right, as far as is known? */
	bool (*synchronised)(void *arg);
	void *arg;
};

struct phx_core_clock {
	struct phx_clock_source source;
	int64_t base_ms; /* core time = base + monotonic */
	int64_t held_ms; /* the wall clock is so far ahead, and not believed; 0 = it is */
	/* monotonic: from then on a step has been there for long enough to be noticed */
	int64_t settled_ms;
	int64_t look_ms; /* monotonic: when it is next asked whether it is synchronised */
};

/** Begin at a start: `last_ms` is the last event's time, 0 = there is none. `accept`: however far
 * ahead the clock is.
 */
void phx_core_clock_begin(struct phx_core_clock *c, const struct phx_clock_source *source,
			  int64_t last_ms, bool accept);
/** Core time now: never before `last_ms`. */
int64_t phx_core_clock_now(const struct phx_core_clock *c, int64_t last_ms);
/** True once, when a clock that was not believed now is: time has stepped forward. Cheap: asks once
 * a second. */
bool phx_core_clock_believe(struct phx_core_clock *c);
/** May what is old be forgotten? Not while the clock is doubted, nor within a day of a large
 * step. */
bool phx_core_clock_settled(const struct phx_core_clock *c);

#endif
