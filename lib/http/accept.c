/* Taking connections: one thread a listener accepts, looks who it is, and gives the connection
 * to one of libmicrohttpd's threads when the books (guard.h) allow it. It never reads what a
 * peer sends, so nobody can keep it waiting; and libmicrohttpd, which would stop listening for
 * everybody when it is full, never is. Once a second it cuts who kept a listener waiting.
 * Started by server.c. */
#include "http/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { TICK_MS = 1000, TURNED_AWAY = 64, SHUT_MS = 20 };

/* Those who were refused, until they have read why: a socket that is closed with something
 * unread in it takes its last words with it. */
struct leavers {
	int fds[TURNED_AWAY];
	size_t next;
	bool any;
};

static void let_go(struct leavers *w)
{
	for (size_t i = 0; i < TURNED_AWAY; i++)
		phx_close_fd(&w->fds[i]);
	w->any = false;
}

/* ---- refusing ---- */

static void say_why(int fd, int code)
{
	const char *text = code == -EDQUOT ? "you have as many connections open as one may: close "
					     "some, or try again when they have ended"
					   : "all connections are taken: try again in some seconds";
	char body[256], answer[512];
	int n = snprintf(body, sizeof(body), "{\"error\": \"%s\", \"code\": \"%s\"}", text,
			 phx_http_code_name(code));
	n = snprintf(answer, sizeof(answer),
		     "HTTP/1.1 %s\r\nContent-Type: application/json\r\nRetry-After: 5\r\n"
		     "Connection: close\r\nContent-Length: %d\r\n\r\n%s",
		     code == -EDQUOT ? "429 Too Many Requests" : "503 Service Unavailable", n,
		     body);
	(void)!send(fd, answer, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	shutdown(fd, SHUT_WR);
}

/* Takes `fd`. Over TLS nothing can be said. */
static void turn_away(const struct phx_http_listener_state *l, struct leavers *w, int fd, int code)
{
	if (l->which == PHX_HTTP_TLS) {
		close(fd);
		return;
	}
	say_why(fd, code);
	phx_close_fd(&w->fds[w->next]);
	w->fds[w->next] = fd;
	w->next = (w->next + 1) % TURNED_AWAY;
	w->any = true;
}

/* ---- arriving ---- */

/* Administrators of this machine have threads of their own: no request of a user is ever before
 * theirs. */
static struct MHD_Daemon *daemon_for(struct phx_http_listener_state *l,
				     struct phx_http_connection *c)
{
	bool shared = l->which != PHX_HTTP_UNIX;
	unsigned n = shared ? l->n_daemons : l->n_daemons / 2;
	unsigned first = !shared && c->entry.rank == PHX_HTTP_ADMIN ? n : 0;
	c->thread = first + l->next_daemon++ % n;
	return l->daemons[c->thread];
}

/* Takes `fd`. */
static void welcome(struct phx_http_listener_state *l, struct leavers *w, int fd,
		    const struct sockaddr *sa, socklen_t n)
{
	char key[PHX_HTTP_KEY_MAX];
	struct phx_http_connection *c = phx_http_peer_new(l, fd, sa);
	enum phx_http_rank rank = c ? phx_http_peer_rank(c, key) : PHX_HTTP_STRANGER;
	int r = c ? phx_http_guard_admit(l->guard, &c->entry, fd, key, rank, phx_clock_ms())
		  : -EAGAIN;
	if (r == 0 && !phx_http_arrival_put(l, c))
		r = -EAGAIN;
	if (r < 0) {
		phx_http_connection_free(c);
		turn_away(l, w, fd, r);
	} else if (MHD_add_connection(daemon_for(l, c), fd, sa, n) != MHD_YES) {
		phx_http_connection_free(phx_http_arrival_take(l, fd)); /* closed already */
	}
}

/* All who stand before the door. False: some stay there, others must close something first. */
static bool accept_all(struct phx_http_listener_state *l, struct leavers *w)
{
	for (;;) {
		struct sockaddr_storage ss = {0};
		socklen_t n = sizeof(ss);
		int fd = accept4(l->fd, (struct sockaddr *)&ss, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			welcome(l, w, fd, (const struct sockaddr *)&ss, n);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			 errno == ENOMEM) {
			let_go(w);
			phx_http_guard_refuse(l->guard, PHX_HTTP_LIMIT_FILES, "");
			return false;
		} else if (errno != EINTR && errno != ECONNABORTED)
			return true;
	}
}

static void *run(void *arg)
{
	struct phx_http_listener_state *l = arg;
	struct leavers leavers;
	memset(leavers.fds, -1, sizeof(leavers.fds));
	leavers.next = 0;
	leavers.any = false;
	struct pollfd p[] = {{.fd = l->fd, .events = POLLIN}, {.fd = l->stop_fd, .events = POLLIN}};
	int64_t tick_ms = phx_clock_ms() + TICK_MS;
	bool shut = false; /* there was no descriptor for who stands there */
	while (!p[1].revents) {
		int64_t left = tick_ms - phx_clock_ms();
		/* who comes next comes through here */
		bool rests = !leavers.any && phx_http_guard_idle(l->guard);
		p[0].fd = shut ? -1 : l->fd;
		if (shut)
			left = left < SHUT_MS ? left : SHUT_MS;
		poll(p, PHX_ARRAY_SIZE(p), rests && !shut ? -1 : left > 0 ? (int)left : 0);
		int64_t now = phx_clock_ms();
		tick_ms = rests ? now + TICK_MS : tick_ms;
		shut = p[0].revents && !accept_all(l, &leavers);
		if (now < tick_ms)
			continue;
		phx_http_guard_tick(l->guard, now);
		let_go(&leavers);
		tick_ms = now + TICK_MS;
	}
	let_go(&leavers);
	return NULL;
}

int phx_http_accept_start(struct phx_http_listener_state *l, struct phx_err *err)
{
	l->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->stop_fd < 0)
		return phx_err_set(err, -errno, "eventfd: %s", strerror(errno));
	int r = pthread_create(&l->acceptor, NULL, run, l);
	l->accepting = r == 0;
	return r ? phx_err_set(err, -r, "no thread for a listener: %s", strerror(r)) : 0;
}

void phx_http_accept_stop(struct phx_http_listener_state *l)
{
	uint64_t one = 1;
	if (l->accepting) {
		(void)!write(l->stop_fd, &one, sizeof(one));
		pthread_join(l->acceptor, NULL);
		l->accepting = false;
	}
	phx_close_fd(&l->stop_fd);
	phx_close_fd(&l->fd);
}
