/* When the loop turns next: at the earliest moment that a part of phxd asked for, on any thread. If
 * none asks, the loop sleeps. Called by the loop, the API's threads and the drivers' callbacks. */
#include "phxd/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

struct wake {
	int fd;
	pthread_mutex_t lock;
	int64_t due_ms; /* by the monotonic clock; INT64_MAX: never */
};

int wake_new(struct wake **ret)
{
	struct wake *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->fd < 0) {
		free(w);
		return -errno;
	}
	pthread_mutex_init(&w->lock, NULL);
	w->due_ms = INT64_MAX;
	*ret = w;
	return 0;
}

void wake_free(struct wake *w)
{
	if (!w)
		return;
	phx_close_fd(&w->fd);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int wake_fd(const struct wake *w)
{
	return w->fd;
}

void wake_in(struct wake *w, int ms)
{
	if (ms == WAKE_NEVER)
		return;
	int64_t due_ms = phx_clock_ms() + (ms > 0 ? ms : 1);
	pthread_mutex_lock(&w->lock);
	if (due_ms < w->due_ms) {
		struct itimerspec t = {
			.it_value = {.tv_sec = due_ms / 1000, .tv_nsec = due_ms % 1000 * 1000000}};
		w->due_ms = due_ms;
		timerfd_settime(w->fd, TFD_TIMER_ABSTIME, &t, NULL);
	}
	pthread_mutex_unlock(&w->lock);
}

int64_t wake_begin(struct wake *w)
{
	uint64_t n;
	pthread_mutex_lock(&w->lock);
	(void)!read(w->fd, &n, sizeof(n));
	int64_t due_ms = w->due_ms;
	w->due_ms = INT64_MAX;
	pthread_mutex_unlock(&w->lock);
	return due_ms;
}
