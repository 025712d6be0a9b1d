/* See service_log.h. Called by service_own.c. A stream is the output of one service
 * over all its starts, of which the last bytes are kept; a source is one pipe. */
#include "agent/service_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "agent/log.h"

enum { KEEP_MAX = 128 << 10, KEEP_MIN = 64 << 10, CHUNK = 4096, CHUNKS_AT_ONCE = 16, EVENTS = 16 };

struct stream {
	char name[PHX_NAME_MAX];
	char *data; /* KEEP_MAX */
	size_t n;
	uint64_t end; /* bytes written in all; the last n of them are kept */
	struct stream *next;
};

struct source {
	int fd;
	struct stream *stream;
	struct source *next;
};

struct service_logs {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	int epoll_fd, quit_fd;
	bool quit;
	uint64_t mark; /* tells our cursors from those of an earlier agent process */
	struct stream *streams;
	struct source *sources;
};

/* ---- streams; with the lock ---- */

/* The stream of service `name`, which is made at first; NULL: out of memory. */
static struct stream *stream_of(struct service_logs *l, const char *name)
{
	for (struct stream *at = l->streams; at; at = at->next)
		if (phx_str_eq(at->name, name))
			return at;
	struct stream *s = calloc(1, sizeof(*s));
	if (!s || !(s->data = malloc(KEEP_MAX))) {
		free(s);
		return NULL;
	}
	PHX_STR_SET(s->name, name);
	s->next = l->streams;
	return l->streams = s;
}

static void keep(struct stream *s, const char *data, size_t n)
{
	if (s->n + n > KEEP_MAX) {
		size_t drop = s->n - KEEP_MIN;
		memmove(s->data, s->data + drop, KEEP_MIN);
		s->n = KEEP_MIN;
	}
	memcpy(s->data + s->n, data, n);
	s->n += n;
	s->end += n;
}

/* Reads output that is in the pipe, a bounded amount; false at the end of the pipe. */
static bool drain(struct source *src)
{
	char chunk[CHUNK];
	for (int i = 0; i < CHUNKS_AT_ONCE; i++) {
		ssize_t n = read(src->fd, chunk, sizeof(chunk));
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		keep(src->stream, chunk, (size_t)n);
		(void)!write(STDERR_FILENO, chunk, (size_t)n);
	}
	return true;
}

/* ---- the thread ---- */

static void drop_source(struct service_logs *l, struct source *gone)
{
	struct source **at = &l->sources;
	while (*at && *at != gone)
		at = &(*at)->next;
	if (*at)
		*at = gone->next;
	epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, gone->fd, NULL);
	close(gone->fd);
	free(gone);
}

static void *run_thread(void *arg)
{
	struct service_logs *l = arg;
	struct epoll_event events[EVENTS];
	for (;;) {
		int n = epoll_wait(l->epoll_fd, events, EVENTS, -1);
		pthread_mutex_lock(&l->lock);
		bool quit = l->quit;
		for (int i = 0; i < n && !quit; i++)
			if (events[i].data.ptr && !drain(events[i].data.ptr))
				drop_source(l, events[i].data.ptr);
		pthread_cond_broadcast(&l->more);
		pthread_mutex_unlock(&l->lock);
		if (quit)
			return NULL;
	}
}

static int prepare(struct service_logs *l)
{
	struct epoll_event quit = {.events = EPOLLIN};
	pthread_mutex_init(&l->lock, NULL);
	phx_cond_init(&l->more);
	l->mark = (uint64_t)phx_wall_ms();
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->quit_fd = eventfd(0, EFD_CLOEXEC);
	if (l->epoll_fd < 0 || l->quit_fd < 0 ||
	    epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->quit_fd, &quit) < 0)
		return -errno;
	return -pthread_create(&l->thread, NULL, run_thread, l);
}

static void dispose(struct service_logs *l)
{
	while (l->sources)
		drop_source(l, l->sources);
	for (struct stream *s = l->streams, *next; s; s = next) {
		next = s->next;
		free(s->data);
		free(s);
	}
	phx_close_fd(&l->epoll_fd);
	phx_close_fd(&l->quit_fd);
	pthread_cond_destroy(&l->more);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int service_logs_new(struct service_logs **ret, struct phx_err *err)
{
	struct service_logs *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	int r = prepare(l);
	if (r < 0) {
		dispose(l);
		return phx_err_set(err, r, "logs of services: %s", strerror(-r));
	}
	*ret = l;
	return 0;
}

void service_logs_free(struct service_logs *l)
{
	uint64_t one = 1;
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->quit = true;
	pthread_mutex_unlock(&l->lock);
	(void)!write(l->quit_fd, &one, sizeof(one));
	pthread_join(l->thread, NULL);
	dispose(l);
}

/* With the lock. */
static int add_source(struct service_logs *l, const char *name, int fd)
{
	struct stream *stream = stream_of(l, name);
	struct source *src = stream ? calloc(1, sizeof(*src)) : NULL;
	if (!src)
		return -ENOMEM;
	*src = (struct source){fd, stream, l->sources};
	struct epoll_event in = {.events = EPOLLIN, .data.ptr = src};
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &in) < 0) {
		free(src);
		return -errno;
	}
	l->sources = src;
	return 0;
}

int service_logs_open(struct service_logs *l, const char *name)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	int r = fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
	pthread_mutex_lock(&l->lock);
	r = r ? r : add_source(l, name, fds[0]);
	pthread_mutex_unlock(&l->lock);
	if (r == 0)
		return fds[1];
	close(fds[0]);
	close(fds[1]);
	return r;
}

/* ---- reading ---- */

/* Reads output that is in the stream's pipes: it was written before the question. */
static void drain_stream(struct service_logs *l, const struct stream *s)
{
	for (struct source *src = l->sources; src; src = src->next)
		if (src->stream == s)
			drain(src); /* the thread sees the end of a pipe itself */
}

/* False when the time is up. */
static bool wait_more(struct service_logs *l, int64_t due_ms)
{
	return !l->quit && phx_cond_until(&l->more, &l->lock, due_ms);
}

/* Where the last lines of the stream begin. */
static size_t last_lines(const struct stream *s, uint32_t lines)
{
	size_t at = s->n;
	for (uint32_t seen = 0; at > 0; at--)
		if (s->data[at - 1] == '\n' && at < s->n && ++seen == lines)
			break;
	return lines ? at : s->n;
}

/* Where output after the cursor begins. Bytes that are no longer kept are skipped; a cursor of
 * another agent process counts as none. */
static size_t first_byte(const struct service_logs *l, const struct stream *s,
			 const struct service_log_ask *ask)
{
	uint64_t mark, at;
	if (sscanf(ask->cursor, "%" SCNu64 ":%" SCNu64, &mark, &at) != 2 || mark != l->mark ||
	    at > s->end)
		return last_lines(s, ask->lines);
	uint64_t kept_from = s->end - s->n;
	return at < kept_from ? 0 : (size_t)(at - kept_from);
}

int service_logs_read(struct service_logs *l, const char *name, const struct service_log_ask *ask,
		      struct phx_buf *ret_text, char ret_cursor[SERVICE_CURSOR_MAX],
		      struct phx_err *err)
{
	int64_t due_ms = phx_clock_ms() + ask->wait_ms;
	pthread_mutex_lock(&l->lock);
	struct stream *s = stream_of(l, name);
	if (!s) {
		pthread_mutex_unlock(&l->lock);
		return phx_err_set(err, -ENOMEM, "out of memory");
	}
	drain_stream(l, s);
	size_t from = first_byte(l, s, ask);
	while (ask->cursor[0] && ask->wait_ms && from >= s->n && wait_more(l, due_ms))
		from = first_byte(l, s, ask);
	size_t n = s->n - from < SERVICE_LOG_MAX ? s->n - from : SERVICE_LOG_MAX;
	if (!ask->cursor[0])
		from = s->n - n; /* the end of the output, so that later answers leave no gap */
	phx_buf_add(ret_text, s->data + from, n);
	snprintf(ret_cursor, SERVICE_CURSOR_MAX, "%" PRIu64 ":%" PRIu64, l->mark,
		 s->end - s->n + from + n);
	pthread_mutex_unlock(&l->lock);
	return 0;
}
