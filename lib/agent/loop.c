/* See loop.h. Every part of the agent stands on this; it knows none of them. */
#include "agent/loop.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { ACCURACY_US = 1000 };

struct work {
	loop_fn run;
	void *arg;
};

struct loop {
	pthread_mutex_t lock; /* held by whoever holds the loop */
	uint32_t depth;       /* how often it is held */
	pthread_cond_t news, more;
	sd_event *event;
	sd_event_source *wake;
	int wake_fd;
	bool asleep; /* a source that changes now must wake the loop */
	bool quit;
	struct phx_list works;   /* struct work: no worker has it yet */
	struct phx_list workers; /* pthread_t */
	uint32_t n_idle;
};

/* ---- state ---- */

void loop_hold(struct loop *l)
{
	pthread_mutex_lock(&l->lock);
	l->depth++;
}

void loop_release(struct loop *l)
{
	l->depth--;
	pthread_mutex_unlock(&l->lock);
}

void loop_news(struct loop *l)
{
	loop_hold(l);
	pthread_cond_broadcast(&l->news);
	loop_release(l);
}

static bool wait_for(struct loop *l, pthread_cond_t *what, int64_t due_ms)
{
	assert(l->depth == 1);
	l->depth = 0;
	bool in_time = phx_cond_until(what, &l->lock, due_ms);
	l->depth = 1;
	return in_time;
}

bool loop_wait(struct loop *l, int64_t due_ms)
{
	return wait_for(l, &l->news, due_ms);
}

void loop_take(struct loop *l, bool *busy)
{
	loop_hold(l);
	while (*busy)
		loop_wait(l, INT64_MAX);
	*busy = true;
	loop_release(l);
}

void loop_give(struct loop *l, bool *busy)
{
	loop_hold(l);
	*busy = false;
	loop_news(l);
	loop_release(l);
}

void loop_yield(struct loop *l, bool *busy, int64_t due_ms)
{
	loop_hold(l);
	loop_give(l, busy);
	loop_wait(l, due_ms);
	loop_release(l);
	loop_take(l, busy);
}

/* ---- turning ---- */

/* Wakes loop_run(): its poll() does not see that a source has changed. */
static void wake(struct loop *l)
{
	uint64_t one = 1;
	if (l->asleep)
		(void)!write(l->wake_fd, &one, sizeof(one));
	l->asleep = false;
}

static void on_wake(void *arg)
{
	struct loop *l = arg;
	uint64_t count;
	(void)!read(l->wake_fd, &count, sizeof(count));
	loop_watch_again(l, l->wake);
}

/* Sleeps outside of sd-event, which allows no other thread to change sources while it waits. */
int loop_run(struct loop *l)
{
	struct pollfd event = {.fd = sd_event_get_fd(l->event), .events = POLLIN};
	int r = 0;
	loop_hold(l);
	while (r >= 0 && !l->quit) {
		r = sd_event_run(l->event, 0);
		if (r != 0 || l->quit)
			continue;
		l->asleep = true;
		loop_release(l);
		poll(&event, 1, -1);
		loop_hold(l);
		l->asleep = false;
	}
	loop_release(l);
	return r < 0 ? r : 0;
}

void loop_quit(struct loop *l)
{
	loop_hold(l);
	l->quit = true;
	wake(l);
	loop_release(l);
}

/* ---- work ---- */

static void *run_worker(void *arg)
{
	struct loop *l = arg;
	loop_hold(l);
	for (;;) {
		l->n_idle++;
		while (!l->works.n && !l->quit)
			wait_for(l, &l->more, INT64_MAX);
		l->n_idle--;
		if (!l->works.n)
			break;
		struct work w = *PHX_LIST_AT(&l->works, struct work, 0);
		phx_list_remove(&l->works, sizeof(w), 0);
		loop_release(l);
		w.run(w.arg);
		loop_hold(l);
	}
	loop_release(l);
	return NULL;
}

static int add_worker(struct loop *l)
{
	pthread_t *t = phx_list_push(&l->workers, sizeof(*t));
	if (t && pthread_create(t, NULL, run_worker, l) == 0)
		return pthread_setname_np(*t, "phx-worker"), 0;
	if (t)
		phx_list_remove(&l->workers, sizeof(*t), l->workers.n - 1);
	return -EAGAIN;
}

int loop_work(struct loop *l, loop_fn run, void *arg)
{
	loop_hold(l);
	struct work *w = phx_list_push(&l->works, sizeof(*w));
	int r = !w ? -EAGAIN : l->works.n > l->n_idle ? add_worker(l) : 0;
	if (w)
		*w = (struct work){run, arg};
	if (w && r < 0)
		phx_list_remove(&l->works, sizeof(*w), l->works.n - 1);
	pthread_cond_signal(&l->more);
	loop_release(l);
	return r;
}

/* ---- sources ---- */

sd_event *loop_event(struct loop *l)
{
	return l->event;
}

static int on_time(sd_event_source *s, uint64_t us, void *arg)
{
	const struct work *w = arg;
	(void)s;
	(void)us;
	w->run(w->arg);
	return 0;
}

static int on_fd(sd_event_source *s, int fd, uint32_t events, void *arg)
{
	const struct work *w = arg;
	(void)s;
	(void)fd;
	(void)events;
	w->run(w->arg);
	return 0;
}

/* The function that a source calls; freed with the source. */
static struct work *call_of(loop_fn fn, void *arg)
{
	struct work *w = malloc(sizeof(*w));
	if (w)
		*w = (struct work){fn, arg};
	return w;
}

static int keep_call(int r, sd_event_source *s, struct work *w)
{
	if (r < 0)
		free(w);
	return r < 0 ? r : sd_event_source_set_destroy_callback(s, free);
}

int loop_timer(struct loop *l, loop_fn fn, void *arg, sd_event_source **ret)
{
	LOOP_HELD(l);
	struct work *w = call_of(fn, arg);
	int r = w ? sd_event_add_time(l->event, ret, CLOCK_MONOTONIC, UINT64_MAX, ACCURACY_US,
				      on_time, w)
		  : -ENOMEM;
	return keep_call(r, *ret, w);
}

void loop_arm(struct loop *l, sd_event_source *timer, int64_t due_ms)
{
	LOOP_HELD(l);
	sd_event_source_set_time(timer, due_ms == INT64_MAX ? UINT64_MAX : (uint64_t)due_ms * 1000);
	sd_event_source_set_enabled(timer, due_ms == INT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
	if (due_ms != INT64_MAX) /* else it may wake for nothing once, but not at each beat */
		wake(l);
}

int loop_watch(struct loop *l, int fd, loop_fn fn, void *arg, sd_event_source **ret)
{
	LOOP_HELD(l);
	struct work *w = call_of(fn, arg);
	int r = w ? sd_event_add_io(l->event, ret, fd, POLLIN, on_fd, w) : -ENOMEM;
	r = keep_call(r, *ret, w);
	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_ONESHOT);
}

void loop_watch_again(struct loop *l, sd_event_source *fd)
{
	LOOP_HELD(l);
	sd_event_source_set_enabled(fd, SD_EVENT_ONESHOT);
	wake(l);
}

void loop_forget(struct loop *l, sd_event_source **s)
{
	LOOP_HELD(l);
	*s = sd_event_source_disable_unref(*s);
}

/* ---- life ---- */

static int prepare(struct loop *l)
{
	pthread_mutexattr_t nests;
	pthread_mutexattr_init(&nests);
	pthread_mutexattr_settype(&nests, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&l->lock, &nests);
	pthread_mutexattr_destroy(&nests);
	phx_cond_init(&l->news);
	phx_cond_init(&l->more);
	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = l->wake_fd < 0 ? -errno : sd_event_new(&l->event);
	return r < 0 ? r : loop_watch(l, l->wake_fd, on_wake, l, &l->wake);
}

int loop_new(struct loop **ret, struct phx_err *err)
{
	struct loop *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	int r = prepare(l);
	if (r < 0) {
		loop_free(l);
		return phx_err_set(err, r, "event loop: %s", strerror(-r));
	}
	*ret = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	loop_quit(l);
	loop_hold(l);
	pthread_cond_broadcast(&l->more);
	loop_release(l);
	PHX_LIST_EACH(pthread_t, t, &l->workers)
		pthread_join(*t, NULL);
	loop_forget(l, &l->wake);
	sd_event_unref(l->event);
	phx_close_fd(&l->wake_fd);
	phx_list_fini(&l->works);
	phx_list_fini(&l->workers);
	pthread_cond_destroy(&l->news);
	pthread_cond_destroy(&l->more);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
