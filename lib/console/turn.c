/* The loop of the process that has the consoles: waits for descriptors and for the next due time.
 * Its thread starts all programs, so that they end with it. Started by serve.c.
 *
 * An event names a console by its place, never by its address: one that was dropped meanwhile is
 * another one's, or none's, and whoever reads from it finds nothing. */
#include "console/internal.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"

enum { EVENTS = 64, LONG_MS = 60000 };

static int timeout_of(const struct consoles *c, int64_t keep_ms, int64_t now)
{
	int64_t next = consoles_due_ms(c);
	next = next < keep_ms ? next : keep_ms;
	return next <= now ? 0 : next - now < LONG_MS ? (int)(next - now) : LONG_MS;
}

static void act(struct consoles *c, const struct epoll_event *ev)
{
	const enum source what = ev->data.u64 & ((1 << SOURCE_BITS) - 1);
	uint64_t n;
	if (what == OF_WAKE)
		(void)!read(c->wake, &n, sizeof(n));
	else if (what == OF_CONSERVER)
		consoles_keep_ended(c);
	else
		consoles_line_event(c, (uint32_t)(ev->data.u64 >> SOURCE_BITS), what);
}

void *consoles_turn(void *consoles)
{
	struct consoles *c = consoles;
	struct epoll_event events[EVENTS];
	uint32_t at;
	for (;;) {
		pthread_mutex_lock(&c->lock);
		int64_t now = phx_clock_ms();
		while (consoles_due_take(c, now, &at))
			consoles_line_due(c, at, now);
		int timeout = timeout_of(c, consoles_keep_due(c, now), now);
		pthread_mutex_unlock(&c->lock);
		int n = epoll_wait(c->epoll, events, EVENTS, timeout);
		pthread_mutex_lock(&c->lock);
		for (int i = 0; i < n; i++)
			act(c, &events[i]);
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}
