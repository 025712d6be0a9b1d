/* Clocks and waiting. Not for pure rooms, which get the time as an argument. Functions that read a
 * clock may be called in a signal handler. */
#ifndef PHX_BASE_CLOCK_H
#define PHX_BASE_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Milliseconds of a clock that never goes back and stands while the machine is suspended. */
int64_t phx_clock_ms(void);
/** The same clock in microseconds. */
int64_t phx_clock_us(void);
/** Milliseconds since the machine started: it never goes back and counts suspended time, too. */
int64_t phx_clock_boot_ms(void);
/** Milliseconds since 1970, as the machine knows them. This clock may step either way. */
int64_t phx_wall_ms(void);

/** Sleeps for `ms`; signals do not shorten it. The only sleep of the tree: tests/check-sleeps lists
 * who may call it, and why there is nothing to wait for instead. */
void phx_sleep_ms(uint32_t ms);

/** Polling, with growing pauses, of what reports no change by itself (a BMC, a port, a head that
 * does not answer): the first pause is `first_ms`, each later one half as long again, up to
 * `most_ms`. */
struct phx_again {
	uint32_t first_ms, most_ms;
	uint32_t last_ms; /* the last pause; 0 at first */
};
/** The length of the next pause, for callers that wait for something else meanwhile. */
uint32_t phx_again_ms(struct phx_again *a);
/** Sleeps that long, but not beyond end_ms of phx_clock_ms() (INT64_MAX: no end). False, at once,
 * if end_ms has passed. */
bool phx_again(struct phx_again *a, int64_t end_ms);

/** A condition whose timed waits go by phx_clock_ms(), so that a step of the wall clock neither
 * ends nor prolongs them. The caller destroys it. */
void phx_cond_init(pthread_cond_t *c);
/** Waits for such a condition, with its lock held, until `due_ms` of phx_clock_ms() at the latest;
 * INT64_MAX: for ever. False when the time is up; true may be a spurious wakeup. */
bool phx_cond_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t due_ms);
/** The instant `ms` from now (in the past when negative), for pthread_cond_timedwait() on such a
 * condition. */
struct timespec phx_clock_in(int64_t ms);

#endif
