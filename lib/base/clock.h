/* Clocks and waiting. Not for pure rooms, which are told the time. What reads a clock may be called
 * in a signal handler. */
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

/** Sleep for `ms`; signals do not shorten it. The one sleep of the tree: who may call it, and why
 * there is nothing to wait for, stands in tests/check-sleeps. */
void phx_sleep_ms(uint32_t ms);

/** Asking again what can only be asked, for it tells of no change by itself (a BMC, a port, a head
 * that is away): after `first_ms`, and half as late again each time, up to `most_ms`. */
struct phx_again {
	uint32_t first_ms, most_ms;
	uint32_t last_ms; /* the last pause; 0 at first */
};
/** How long the next pause is, for those who have something else to wait for meanwhile. */
uint32_t phx_again_ms(struct phx_again *a);
/** Sleep that long, but not beyond end_ms of phx_clock_ms() (INT64_MAX: no end). False, at once,
 * when that has come. */
bool phx_again(struct phx_again *a, int64_t end_ms);

/** A condition whose timed waits go by phx_clock_ms(), so that a step of the wall clock neither
 * ends nor prolongs them. The caller destroys it. */
void phx_cond_init(pthread_cond_t *c);
/** Wait for such a condition, with its lock held, until `due_ms` of phx_clock_ms() at the latest;
 * INT64_MAX: for ever. False when the time is up; true may have no cause. */
bool phx_cond_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t due_ms);
/** The instant `ms` from now (in the past when negative), for pthread_cond_timedwait() on such a
 * condition. */
struct timespec phx_clock_in(int64_t ms);

#endif
