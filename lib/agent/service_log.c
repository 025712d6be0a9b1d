/* See service_log.h. Called by service_own.c. A stream is the output of one service
 * over all its starts, of which the last bytes are kept; a source is one pipe. Output is copied to
 * our stderr, which may block: a worker does that, and no pipe is watched meanwhile. */
#include "agent/service_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "agent/log.h"

enum { KEEP_MAX = 128 << 10, KEEP_MIN = 64 << 10, CHUNK = 4096, CHUNKS_AT_ONCE = 16 };

struct stream {
	char name[PHX_NAME_MAX];
	char *data; /* KEEP_MAX */
	size_t n;
	uint64_t end; /* bytes written in all; the last n of them are kept */
	struct stream *next;
};

struct source {
	int fd;
	sd_event_source *output;
	struct stream *stream;
	struct source *next;
};

struct service_logs {
	struct loop *loop;
	bool busy;     /* somebody reads pipes: streams and sources are his */
	bool draining; /* a worker is to read them all */
	uint64_t mark; /* tells our cursors from those of an earlier agent process */
	struct stream *streams;
	struct source *sources;
};

/* ---- streams; for whoever has taken `busy` ---- */

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

/* ---- pipes ---- */

static void drop_source(struct service_logs *l, struct source *gone)
{
	struct source **at = &l->sources;
	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	loop_forget(l->loop, &gone->output);
	close(gone->fd);
	free(gone);
}

static void watch_all(struct service_logs *l)
{
	for (struct source *src = l->sources; src; src = src->next)
		loop_watch_again(l->loop, src->output);
}

/* In a worker. */
static void drain_all(void *arg)
{
	struct service_logs *l = arg;
	loop_take(l->loop, &l->busy);
	for (struct source *src = l->sources, *next; src; src = next) {
		next = src->next;
		if (!drain(src))
			drop_source(l, src);
	}
	LOOP_HELD(l->loop);
	watch_all(l);
	l->draining = false;
	loop_give(l->loop, &l->busy);
}

static void on_output(void *arg)
{
	struct service_logs *l = arg;
	l->draining = l->draining || loop_work(l->loop, drain_all, l) == 0;
	if (!l->draining)
		watch_all(l);
}

int service_logs_new(struct loop *loop, struct service_logs **ret)
{
	struct service_logs *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct service_logs){.loop = loop, .mark = (uint64_t)phx_wall_ms()};
	*ret = l;
	return 0;
}

void service_logs_free(struct service_logs *l)
{
	if (!l)
		return;
	loop_hold(l->loop);
	while (l->draining)
		loop_wait(l->loop, INT64_MAX);
	while (l->sources)
		drop_source(l, l->sources);
	loop_release(l->loop);
	for (struct stream *s = l->streams, *next; s; s = next) {
		next = s->next;
		free(s->data);
		free(s);
	}
	free(l);
}

/* Takes the descriptor. */
static int add_source(struct service_logs *l, const char *name, int fd)
{
	struct stream *stream = stream_of(l, name);
	struct source *src = stream ? calloc(1, sizeof(*src)) : NULL;
	if (!src)
		return -ENOMEM;
	*src = (struct source){.fd = fd, .stream = stream, .next = l->sources};
	int r = loop_watch(l->loop, fd, on_output, l, &src->output);
	if (r < 0)
		free(src);
	else
		l->sources = src;
	return r;
}

int service_logs_open(struct service_logs *l, const char *name)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	int r = fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
	loop_take(l->loop, &l->busy);
	r = r ? r : add_source(l, name, fds[0]);
	loop_give(l->loop, &l->busy);
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
			drain(src); /* drain_all() sees the end of a pipe itself */
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
	loop_take(l->loop, &l->busy);
	struct stream *s = stream_of(l, name);
	if (!s) {
		loop_give(l->loop, &l->busy);
		return phx_err_set(err, -ENOMEM, "out of memory");
	}
	drain_stream(l, s);
	size_t from = first_byte(l, s, ask);
	while (ask->cursor[0] && from >= s->n && phx_clock_ms() < due_ms) {
		loop_yield(l->loop, &l->busy, due_ms);
		from = first_byte(l, s, ask);
	}
	size_t n = s->n - from < SERVICE_LOG_MAX ? s->n - from : SERVICE_LOG_MAX;
	if (!ask->cursor[0])
		from = s->n - n; /* the end of the output, so that later answers leave no gap */
	phx_buf_add(ret_text, s->data + from, n);
	snprintf(ret_cursor, SERVICE_CURSOR_MAX, "%" PRIu64 ":%" PRIu64, l->mark,
		 s->end - s->n + from + n);
	loop_give(l->loop, &l->busy);
	return 0;
}
