/* See hang_ups.h. Called by the threads that hold requests: waits.c, holds.c, asks.c. Answers none.
 */
#include "phxd/hang_ups.h"

#include <errno.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

int hang_ups_init(struct hang_ups *h)
{
	*h = (struct hang_ups){.news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .room = 1};
	h->fds = calloc(h->room, sizeof(*h->fds));
	return h->news < 0 ? -errno : h->fds ? 0 : -ENOMEM;
}

void hang_ups_fini(struct hang_ups *h)
{
	phx_close_fd(&h->news);
	free(h->fds);
	h->fds = NULL;
}

void hang_ups_tell(struct hang_ups *h)
{
	static const uint64_t one = 1;
	(void)!write(h->news, &one, sizeof(one));
}

void hang_ups_clear(struct hang_ups *h)
{
	h->n = 0;
}

void hang_ups_add(struct hang_ups *h, const struct phx_http_request *q)
{
	if (h->n + 1 >= h->room) {
		struct pollfd *fds = reallocarray(h->fds, 2 * h->room + 1, sizeof(*fds));
		if (!fds)
			return;
		h->fds = fds;
		h->room = 2 * h->room + 1;
	}
	h->fds[++h->n] = phx_http_hang_up(q);
}

void hang_ups_wait(struct hang_ups *h, int64_t until_ms)
{
	uint64_t n_news;
	int64_t ms = until_ms == INT64_MAX ? -1 : until_ms - phx_clock_ms();
	if (until_ms != INT64_MAX)
		ms = ms < 0 ? 0 : ms < INT_MAX ? ms : INT_MAX;
	h->fds[0] = (struct pollfd){.fd = h->news, .events = POLLIN};
	poll(h->fds, h->n + 1, (int)ms);
	(void)!read(h->news, &n_news, sizeof(n_news));
}

bool hang_ups_has(const struct hang_ups *h, uint32_t i)
{
	return i < h->n && h->fds[i + 1].revents;
}
