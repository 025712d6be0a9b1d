/* The one place that reads clocks: see clock.h. Called by drivers and programs. */
#include "base/clock.h"

#include <errno.h>

enum { NS_PER_MS = 1000000 };

static int64_t read_us(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t phx_clock_ms(void)
{
	return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t phx_clock_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t phx_clock_boot_ms(void)
{
	return read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t phx_wall_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000;
}

void phx_sleep_ms(uint32_t ms)
{
	struct timespec left = {ms / 1000, (long)(ms % 1000) * NS_PER_MS};
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

uint32_t phx_again_ms(struct phx_again *a)
{
	uint64_t ms = a->last_ms ? (uint64_t)a->last_ms * 3 / 2 + 1 : a->first_ms;
	a->last_ms = ms < a->most_ms ? (uint32_t)ms : a->most_ms;
	return a->last_ms;
}

bool phx_again(struct phx_again *a, int64_t end_ms)
{
	int64_t left_ms = end_ms - phx_clock_ms(), ms = phx_again_ms(a);
	if (left_ms > 0)
		phx_sleep_ms((uint32_t)(ms < left_ms ? ms : left_ms));
	return left_ms > 0;
}

void phx_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
}

bool phx_cond_until(pthread_cond_t *c, pthread_mutex_t *lock, int64_t due_ms)
{
	const struct timespec until = {due_ms / 1000, due_ms % 1000 * NS_PER_MS};
	if (due_ms == INT64_MAX)
		return pthread_cond_wait(c, lock) == 0;
	return pthread_cond_timedwait(c, lock, &until) != ETIMEDOUT;
}

struct timespec phx_clock_in(int64_t ms)
{
	int64_t at_us = phx_clock_us() + ms * 1000;
	at_us = at_us > 0 ? at_us : 0;
	return (struct timespec){at_us / 1000000, at_us % 1000000 * 1000};
}
