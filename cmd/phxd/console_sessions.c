/* People who are attached to consoles. What a console says is kept for each of them, 64 KiB at
 * most, until he asks for what came behind what he has: a request that is held until something
 * comes. Who does not ask for a while is gone. One of a console's people writes; the others read.
 * Called by api_console.c; a thread of its own reads the sockets to conserver. */
#include "phxd/consoles.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/clock.h"
#include "base/file.h"

enum {
	SESSIONS_MAX = 64,
	OF_PERSON_MAX = 8,
	KEPT_MAX = 64 << 10,
	GONE_MS = 60000,
	ENDED_MS = 10000,
	READ_BYTES = 8192,
	TURN_MS = 2000,
	ENDED_MAX = 160,
};

struct session {
	char id[SESSION_ID_MAX], node[PHX_NAME_MAX], identity[PHX_IDENTITY_MAX];
	bool used, writes, held;
	int fd;
	struct phx_http_request *q; /* waits for what comes after byte `after`; NULL */
	uint64_t after;
	int64_t until_ms, seen_ms;
	uint64_t total; /* bytes that came; the last `n` of them are kept */
	size_t n;
	char *kept; /* KEPT_MAX bytes */
	char ended[ENDED_MAX];
};

struct sessions {
	struct daemon *d;
	pthread_mutex_t lock;
	pthread_t thread;
	bool running, stopped;
	int news; /* eventfd */
	struct session all[SESSIONS_MAX];
};

static void tell_thread(struct sessions *s)
{
	const uint64_t one = 1;
	(void)!write(s->news, &one, sizeof(one));
}

/* ---- one session; under the lock ---- */

static void put(struct session *x, const char *data, size_t n)
{
	x->total += n;
	if (n > KEPT_MAX) {
		data += n - KEPT_MAX;
		n = KEPT_MAX;
	}
	size_t stays = x->n + n > KEPT_MAX ? KEPT_MAX - n : x->n;
	memmove(x->kept, x->kept + x->n - stays, stays);
	memcpy(x->kept + stays, data, n);
	x->n = stays + n;
}

__attribute__((format(printf, 2, 3))) static void say(struct session *x, const char *fmt, ...)
{
	char text[200], shown[220];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put(x, shown, (size_t)snprintf(shown, sizeof(shown), "\r\n[phx: %s]\r\n", text));
}

/* What came after the byte that he has, and how many bytes he came too late for. */
static json_t *answer_of(const struct session *x, uint64_t after)
{
	const uint64_t first = x->total - x->n;
	const uint64_t from = after > x->total ? x->total : after < first ? first : after;
	const size_t n = (size_t)(x->total - from);
	PHX_AUTO_FREE char *text = malloc((n + 2) / 3 * 4 + 1);
	if (!text)
		return NULL;
	EVP_EncodeBlock((unsigned char *)text,
			(const unsigned char *)x->kept + (size_t)(from - first), (int)n);
	return json_pack("{s:s,s:I,s:I,s:b,s:s}", "data", n ? text : "", "at", (json_int_t)x->total,
			 "lost", (json_int_t)(after < from ? from - after : 0), "writes", x->writes,
			 "ended", x->ended);
}

static void answer(struct session *x)
{
	struct phx_http_request *q = PHX_TAKE(x->q);
	PHX_AUTO_JSON json_t *j = answer_of(x, x->after);
	phx_http_reply_json(q, 200, j);
}

static void close_session(struct session *x)
{
	if (x->q)
		answer(x);
	phx_close_fd(&x->fd);
	free(x->kept);
	*x = (struct session){.fd = -1};
}

/* ---- the thread ---- */

static void hear(struct session *x)
{
	char data[READ_BYTES];
	ssize_t n = recv(x->fd, data, sizeof(data), MSG_DONTWAIT);
	if (n > 0) {
		put(x, data, phx_console_wire_in(data, (size_t)n, &x->held));
	} else if (n == 0 || errno != EAGAIN) {
		phx_close_fd(&x->fd);
		snprintf(x->ended, sizeof(x->ended),
			 "conserver has ended, or this console is not had any more");
		x->seen_ms = phx_clock_ms() - GONE_MS + ENDED_MS;
	}
}

static void look(struct sessions *s, struct session *x, int64_t now)
{
	bool due = x->q && (x->total > x->after || x->ended[0] || now >= x->until_ms);
	/* who may not attach any more reads nothing either */
	if (x->q && due && !person_has_all(s->d, phx_http_peer(x->q), PHX_RIGHT_nodes)) {
		phx_http_reply_error(PHX_TAKE(x->q), -EACCES,
				     "consoles are for who may power nodes");
		close_session(x);
		return;
	}
	if (due)
		answer(x);
	if (x->q && phx_http_gone(x->q))
		answer(x);
	if (!x->q && now - x->seen_ms >= GONE_MS)
		close_session(x);
}

static void *run(void *arg)
{
	struct sessions *s = arg;
	struct pollfd fds[SESSIONS_MAX + 1];
	for (bool goes_on = true; goes_on;) {
		pthread_mutex_lock(&s->lock);
		fds[0] = (struct pollfd){s->news, POLLIN, 0};
		for (int i = 0; i < SESSIONS_MAX; i++)
			fds[i + 1] = (struct pollfd){s->all[i].used ? s->all[i].fd : -1, POLLIN, 0};
		pthread_mutex_unlock(&s->lock);
		poll(fds, SESSIONS_MAX + 1, TURN_MS);
		uint64_t n;
		if (fds[0].revents)
			(void)!read(s->news, &n, sizeof(n));
		pthread_mutex_lock(&s->lock);
		int64_t now = phx_clock_ms();
		for (int i = 0; i < SESSIONS_MAX; i++) {
			struct session *x = &s->all[i];
			if (x->used && x->fd >= 0 && x->fd == fds[i + 1].fd && fds[i + 1].revents)
				hear(x);
			if (x->used)
				look(s, x, now);
		}
		goes_on = !s->stopped;
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

/* ---- people ---- */

static struct session *find(struct sessions *s, const char *node, const char *id,
			    const char *identity)
{
	for (int i = 0; i < SESSIONS_MAX; i++) {
		struct session *x = &s->all[i];
		if (x->used && !strcmp(x->id, id) && !strcmp(x->node, node) &&
		    !strcmp(x->identity, identity))
			return x;
	}
	return NULL;
}

static struct session *writer(struct sessions *s, const char *node)
{
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (s->all[i].used && s->all[i].writes && s->all[i].fd >= 0 &&
		    !strcmp(s->all[i].node, node))
			return &s->all[i];
	return NULL;
}

static int take_place(struct sessions *s, const struct sessions_wish *wish, struct session **ret,
		      struct phx_err *err)
{
	struct session *to = NULL;
	unsigned own = 0;
	for (int i = 0; i < SESSIONS_MAX; i++) {
		own += s->all[i].used && !strcmp(s->all[i].identity, wish->identity);
		if (!s->all[i].used)
			to = &s->all[i];
	}
	if (s->stopped)
		return phx_err_set(err, -EAGAIN, "phxd is ending");
	if (!to || own >= OF_PERSON_MAX)
		return phx_err_set(err, -EDQUOT,
				   "too many are attached to consoles: %d in all, %d of one person",
				   SESSIONS_MAX, OF_PERSON_MAX);
	*ret = to;
	return 0;
}

static int put_session(struct sessions *s, const struct sessions_wish *wish, int fd,
		       char ret_before[PHX_IDENTITY_MAX], char ret_id[SESSION_ID_MAX],
		       struct phx_err *err)
{
	uint8_t raw[SESSION_ID_MAX / 2];
	struct session *x = NULL, *before = writer(s, wish->node);
	int r = take_place(s, wish, &x, err);
	char *kept = r == 0 ? malloc(KEPT_MAX) : NULL;
	if (r < 0 || !kept || getrandom(raw, sizeof(raw), 0) != sizeof(raw)) {
		free(kept);
		return r ? r : -ENOMEM;
	}
	*x = (struct session){.used = true, .fd = fd, .kept = kept, .seen_ms = phx_clock_ms()};
	x->writes = wish->flags & PHX_CONSOLES_WRITE;
	phx_hex(raw, sizeof(raw), x->id);
	PHX_STR_SET(x->node, wish->node);
	PHX_STR_SET(x->identity, wish->identity);
	if (before) {
		phx_str_copy(ret_before, PHX_IDENTITY_MAX, before->identity);
		if (x->writes) {
			before->writes = false;
			say(before, "%s has taken this console: you only read now", wish->identity);
		}
	}
	phx_str_copy(ret_id, SESSION_ID_MAX, x->id);
	return 0;
}

/* Who writes there, if that keeps this one from writing. */
static int check_writer(struct sessions *s, const struct sessions_wish *wish, struct phx_err *err)
{
	const bool takes = !(wish->flags & PHX_CONSOLES_WRITE) || wish->flags & PHX_CONSOLES_STEAL;
	pthread_mutex_lock(&s->lock);
	const struct session *x = takes ? NULL : writer(s, wish->node);
	int r = x ? phx_err_set(err, -EBUSY,
				"%s writes on the console of %s: --steal takes it, --read reads "
				"beside",
				x->identity, wish->node)
		  : 0;
	pthread_mutex_unlock(&s->lock);
	return r;
}

int sessions_attach(struct sessions *s, struct phx_consoles *process,
		    const struct sessions_wish *wish, char ret_id[SESSION_ID_MAX],
		    char ret_before[PHX_IDENTITY_MAX], struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = -1;
	ret_before[0] = '\0';
	int r = check_writer(s, wish, err);
	r = r ? r : phx_consoles_attach(process, wish->node, wish->flags, &fd, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	r = put_session(s, wish, fd, ret_before, ret_id, err);
	pthread_mutex_unlock(&s->lock);
	if (r == 0)
		fd = -1;
	tell_thread(s);
	return r;
}

void sessions_read(struct sessions *s, struct phx_http_request *q, const char *node, const char *id,
		   const char *identity, uint64_t after, int64_t wait_ms)
{
	pthread_mutex_lock(&s->lock);
	struct session *x = find(s, node, id, identity);
	if (!x) {
		pthread_mutex_unlock(&s->lock);
		phx_http_reply_error(q, -ENOENT, "you are not attached to this console any more");
		return;
	}
	if (x->q) /* one reads: a former request of his is answered */
		answer(x);
	x->q = q;
	x->after = after;
	x->seen_ms = phx_clock_ms();
	x->until_ms = x->seen_ms + wait_ms;
	phx_http_suspend(q);
	pthread_mutex_unlock(&s->lock);
	tell_thread(s);
}

int sessions_type(struct sessions *s, const char *node, const char *id, const char *identity,
		  const char *data, size_t n, bool as_break, struct phx_err *err)
{
	static const char order[] = {(char)PHX_CONSOLE_BREAK, 'B'};
	PHX_AUTO_FREE char *out = malloc(n + sizeof(order));
	if (!out)
		return -ENOMEM;
	memcpy(out, data, n);
	n = phx_console_wire_out(out, n);
	if (as_break) {
		memcpy(out + n, order, sizeof(order));
		n += sizeof(order);
	}
	pthread_mutex_lock(&s->lock);
	struct session *x = find(s, node, id, identity);
	int r = !x || x->fd < 0
		? phx_err_set(err, -ENOENT, "you are not attached to this console any more")
		: !x->writes ? phx_err_set(err, -EPERM, "you only read this console")
		: n && send(x->fd, out, n, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)n
		? phx_err_set(err, -EAGAIN, "the console takes no more just now")
		: 0;
	if (x)
		x->seen_ms = phx_clock_ms();
	pthread_mutex_unlock(&s->lock);
	return r;
}

int sessions_end(struct sessions *s, const char *node, const char *id, const char *identity)
{
	pthread_mutex_lock(&s->lock);
	struct session *x = find(s, node, id, identity);
	if (x)
		close_session(x);
	pthread_mutex_unlock(&s->lock);
	tell_thread(s);
	return x ? 0 : -ENOENT;
}

/* ---- start and end ---- */

int sessions_new(struct daemon *d, struct sessions **ret)
{
	struct sessions *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->d = d;
	for (int i = 0; i < SESSIONS_MAX; i++)
		s->all[i].fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	s->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = s->news < 0 ? -errno : -pthread_create(&s->thread, NULL, run, s);
	s->running = r == 0;
	if (r < 0)
		sessions_free(s);
	else
		*ret = s;
	return r;
}

void sessions_stop(struct sessions *s)
{
	if (!s || !s->running)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	pthread_mutex_unlock(&s->lock);
	tell_thread(s);
	pthread_join(s->thread, NULL);
	s->running = false;
	for (int i = 0; i < SESSIONS_MAX; i++)
		if (s->all[i].used)
			close_session(&s->all[i]);
}

void sessions_free(struct sessions *s)
{
	if (!s)
		return;
	sessions_stop(s);
	phx_close_fd(&s->news);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
