/* The consoles: each with its program, its socket for conserver, its log. Called by turn.c for what
 * happens, by answer.c for what the head asks; under the lock.
 *
 *   waits ──due──▶ runs ──program ends──▶ waits (back-off) ──▶ runs ...
 *                    │ too much comes: paused, until its rate allows more
 *
 * What a node prints costs a bounded part of a processor and of a disk, however much it is: it is
 * read at a bounded rate, and a program whose terminal is full waits. */
#include "console/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum {
	READ_BYTES = 4096,
	RATE = 64 << 10, /* bytes a second of one console; a serial line has about 11,000 */
	BURST = 256 << 10,
	PAUSE_MS = 100,
	QUIET_MS = 1000, /* a line that has no end yet is taken for one */
	UP_MS = 3000,    /* a program that runs for so long has its line */
	STEADY_MS = 30000,
	BACKOFF_MIN_MS = 1000,
	BACKOFF_MAX_MS = 60000,
	APART_MS = 20, /* between two starts */
	TIME_MAX = 24,
};

/* ---- what is stored and shown ---- */

struct batch {
	struct consoles *c;
	struct node_line *l;
	struct phx_buf text;
	char time[TIME_MAX];
};

static void begin_batch(struct batch *b, struct consoles *c, struct node_line *l)
{
	time_t now = (time_t)(phx_wall_ms() / 1000);
	struct tm tm;
	*b = (struct batch){.c = c, .l = l};
	gmtime_r(&now, &tm);
	strftime(b->time, sizeof(b->time), "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* A full disk costs lines, nothing else. */
static void end_batch(struct batch *b)
{
	if (b->text.n && !b->text.failed)
		(void)phx_console_log_put(&b->l->log, b->text.data, b->text.n);
	phx_buf_fini(&b->text);
}

static void put_mark(struct batch *b, const char *line, const struct phx_console_mark *m)
{
	struct consoles *c = b->c;
	struct phx_console_marked *to = &c->marks[++c->last_mark % MARKS_MAX];
	*to = (struct phx_console_marked){.seq = c->last_mark, .wall_ms = phx_wall_ms()};
	PHX_STR_SET(to->node, b->l->node);
	snprintf(to->line, sizeof(to->line), "%.*s", (int)sizeof(to->line) - 1, line);
	PHX_STR_SET(to->meaning, m->meaning);
	pthread_cond_broadcast(&c->marked);
}

static void put_line(void *arg, const char *line)
{
	struct batch *b = arg;
	const struct phx_console_mark *m = phx_console_mark_of(line);
	phx_buf_addf(&b->text, "%s %s\n", b->time, line);
	if (m && phx_console_mark_news(&b->l->marked, m, phx_clock_ms()))
		put_mark(b, line, m);
}

/* To who is attached. One who does not read loses it, and nobody waits for him. */
static void show(struct node_line *l, const char *data, size_t n)
{
	if (l->client >= 0)
		(void)!send(l->client, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Our own words, in the console's stream and in its log. */
__attribute__((format(printf, 3, 4))) static void say(struct consoles *c, struct node_line *l,
						      const char *fmt, ...)
{
	char text[300], shown[320];
	struct batch b;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	int n = snprintf(shown, sizeof(shown), "\r\n[phx: %s]\r\n", text);
	show(l, shown, (size_t)n);
	begin_batch(&b, c, l);
	phx_console_cut_flush(&l->cut, put_line, &b);
	phx_buf_addf(&b.text, "%s [phx: %s]\n", b.time, text);
	end_batch(&b);
}

/* ---- found by name ---- */

struct node_line *consoles_line_find(struct consoles *c, const char *node, uint32_t *ret_at)
{
	const uint32_t hash = phx_hash_text(node);
	uint32_t i;
	for (uint32_t at = hash; phx_hash_next(&c->by_name, hash, &at, &i);)
		if (!strcmp(c->lines[i]->node, node)) {
			*ret_at = i;
			return c->lines[i];
		}
	return NULL;
}

static int take_place(struct consoles *c, struct node_line *l, uint32_t *ret_at)
{
	uint32_t at = 0;
	while (at < c->n_lines && c->lines[at])
		at++;
	if (at == c->n_lines) {
		const uint32_t more = c->n_lines ? c->n_lines * 2 : 64;
		struct node_line **lines = reallocarray(c->lines, more, sizeof(*lines));
		if (!lines)
			return -ENOMEM;
		memset(lines + c->n_lines, 0, (more - c->n_lines) * sizeof(*lines));
		c->lines = lines;
		c->n_lines = more;
	}
	int r = phx_hash_put(&c->by_name, phx_hash_text(l->node), at);
	if (r == 0)
		c->lines[ *ret_at = at] = l;
	return r;
}

/* ---- had, and not had any more ---- */

static void line_free(struct node_line *l)
{
	consoles_program_end(l);
	phx_close_fd(&l->listen);
	phx_close_fd(&l->client);
	free(l);
}

static int listen_for(struct consoles *c, struct node_line *l, struct phx_err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (phx_console_socket(c->sockets, l->node, a.sun_path, sizeof(a.sun_path)) < 0)
		return phx_err_set(err, -ENAMETOOLONG,
				   "%s/%s is too long a path for a socket: a shorter run_dir is "
				   "wanted",
				   c->sockets, l->node);
	unlink(a.sun_path);
	l->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->listen < 0 || bind(l->listen, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(l->listen, 4) < 0)
		return phx_err_set(err, -errno, "%s: %s", a.sun_path, strerror(errno));
	return 0;
}

static struct node_line *line_new(struct consoles *c, const char *node)
{
	struct node_line *l = calloc(1, sizeof(*l));
	char secret[sizeof(c->secrets) + PHX_NAME_MAX + 1];
	if (!l)
		return NULL;
	*l = (struct node_line){.listen = -1,
				.client = -1,
				.pty = -1,
				.program.pidfd = -1,
				.due_ms = INT64_MAX,
				.rate = {.per_s = RATE, .burst = BURST}};
	PHX_STR_SET(l->node, node);
	phx_console_log_init(&l->log, c->logs, node, (uint64_t)c->config->log_mb << 20);
	/* whom it is taken from is ourselves, before we were killed */
	snprintf(secret, sizeof(secret), "%s/%s", c->secrets, node);
	l->steal = access(secret, F_OK) == 0;
	return l;
}

/* Many consoles that come at once are not opened in one moment. */
static void start_soon(struct consoles *c, struct node_line *l, uint32_t at)
{
	int64_t now = phx_clock_ms();
	c->next_start_ms = (c->next_start_ms > now ? c->next_start_ms : now) + APART_MS;
	consoles_due(c, l, at, c->next_start_ms);
	consoles_wake(c);
}

static int add(struct consoles *c, struct node_line *l, uint32_t *ret_at, struct phx_err *err)
{
	int r = listen_for(c, l, err);
	r = r ? r : take_place(c, l, ret_at);
	r = r ? r : consoles_watch(c, l->listen, OF_LISTEN, *ret_at);
	if (r == 0)
		consoles_keep_changed(c);
	return r;
}

int consoles_line_put(struct consoles *c, const char *node, const struct phx_bmc *bmc,
		      struct phx_err *err)
{
	enum phx_console_driver driver;
	uint32_t at = 0;
	int r = phx_console_driver_of(bmc, &driver, err);
	if (r == 0 && driver == PHX_CONSOLE_none)
		consoles_line_drop(c, node);
	if (r < 0 || driver == PHX_CONSOLE_none)
		return r;
	struct node_line *l = consoles_line_find(c, node, &at);
	if (l && phx_record_equal(&phx_bmc_record, &l->bmc, bmc))
		return 0;
	if (!l) {
		l = line_new(c, node);
		r = l ? add(c, l, &at, err) : -ENOMEM;
		if (r < 0 && l)
			line_free(l);
		if (r < 0)
			return r;
	} else {
		consoles_program_end(l);
		l->steal = true; /* from who ran a moment ago */
	}
	l->bmc = *bmc;
	l->driver = driver;
	l->backoff_ms = 0;
	l->said[0] = '\0';
	start_soon(c, l, at);
	return 0;
}

void consoles_line_drop(struct consoles *c, const char *node)
{
	char path[sizeof(c->secrets) + PHX_NAME_MAX + 1];
	uint32_t at;
	struct node_line *l = consoles_line_find(c, node, &at);
	if (!l)
		return;
	phx_hash_drop(&c->by_name, phx_hash_text(node), at);
	c->lines[at] = NULL;
	snprintf(path, sizeof(path), "%s/%s", c->secrets, node);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%s", c->sockets, node);
	unlink(path);
	line_free(l);
	consoles_keep_changed(c);
}

/* ---- its program ---- */

static void told_up(struct consoles *c, struct node_line *l)
{
	if (l->up)
		return;
	l->up = true;
	if (l->said[0])
		say(c, l, "the console is open again");
	l->said[0] = '\0';
}

/* Says why it is not open, once, and when it is tried again. */
static void told_down(struct consoles *c, struct node_line *l, uint32_t at, const char *why)
{
	int64_t now = phx_clock_ms();
	bool steady = l->started_ms && now - l->started_ms >= STEADY_MS;
	l->backoff_ms = steady || !l->backoff_ms     ? BACKOFF_MIN_MS
		: l->backoff_ms < BACKOFF_MAX_MS / 2 ? l->backoff_ms * 2
						     : BACKOFF_MAX_MS;
	if (l->up || strcmp(why, l->said) != 0)
		say(c, l, "the console is not open: %s; it is tried again by itself", why);
	snprintf(l->said, sizeof(l->said), "%.*s", (int)sizeof(l->said) - 1, why);
	l->up = false;
	l->restarts++;
	consoles_due(c, l, at, now + l->backoff_ms);
}

static void keep_tail(struct node_line *l, const char *data, size_t n)
{
	if (n > sizeof(l->tail)) {
		data += n - sizeof(l->tail);
		n = sizeof(l->tail);
	}
	size_t stays = l->n_tail + n > sizeof(l->tail) ? sizeof(l->tail) - n : l->n_tail;
	memmove(l->tail, l->tail + l->n_tail - stays, stays);
	memcpy(l->tail + stays, data, n);
	l->n_tail = stays + n;
}

static void watch_pty(struct consoles *c, struct node_line *l, uint32_t at, bool on)
{
	struct epoll_event ev = {.events = on ? EPOLLIN : 0,
				 .data.u64 = (uint64_t)at << SOURCE_BITS | OF_PTY};
	if (l->pty >= 0)
		epoll_ctl(c->epoll, EPOLL_CTL_MOD, l->pty, &ev);
	l->paused = !on;
}

static void hear(struct consoles *c, struct node_line *l, const char *data, size_t n)
{
	static const char established[] = "[SOL established]";
	struct batch b;
	keep_tail(l, data, n);
	if (!l->up &&
	    (l->driver != PHX_CONSOLE_ipmi ||
	     memmem(l->tail, l->n_tail, established, sizeof(established) - 1)))
		told_up(c, l);
	show(l, data, n);
	begin_batch(&b, c, l);
	phx_console_cut_put(&l->cut, data, n, put_line, &b);
	end_batch(&b);
}

static void read_pty(struct consoles *c, struct node_line *l, uint32_t at)
{
	char data[READ_BYTES];
	int64_t now = phx_clock_ms();
	size_t may = l->pty < 0 ? 0 : phx_console_rate_take(&l->rate, now, sizeof(data));
	size_t most = phx_console_rate_take(&c->rate, now, may);
	phx_console_rate_back(&l->rate, may - most);
	if (l->pty < 0)
		return;
	if (!most) {
		watch_pty(c, l, at, false);
		consoles_due(c, l, at, now + PAUSE_MS);
		return;
	}
	ssize_t n = read(l->pty, data, most);
	phx_console_rate_back(&l->rate, most - (n > 0 ? (size_t)n : 0));
	phx_console_rate_back(&c->rate, most - (n > 0 ? (size_t)n : 0));
	if (n > 0) {
		hear(c, l, data, (size_t)n);
		if (l->due_ms == INT64_MAX || l->cut.n)
			consoles_due(c, l, at, now + QUIET_MS);
	} else if (n == 0 || errno != EAGAIN) {
		phx_close_fd(&l->pty); /* nobody has its other end: its end comes */
		phx_process_signal(l->program.pidfd, SIGKILL);
	}
}

static void ended(struct consoles *c, struct node_line *l, uint32_t at)
{
	if (l->program.pidfd < 0 || phx_process_wait(l->program.pidfd, 0) < 0)
		return;
	char data[READ_BYTES];
	ssize_t n = l->pty >= 0 ? read(l->pty, data, sizeof(data)) : 0;
	if (n > 0)
		hear(c, l, data, (size_t)n);
	int status = phx_process_status(l->program.pidfd);
	phx_close_fd(&l->program.pidfd);
	kill(-l->program.pid, SIGKILL); /* what it has started */
	consoles_program_end(l);
	told_down(c, l, at, phx_console_why(l->driver, l->tail, l->n_tail, status));
}

void consoles_line_due(struct consoles *c, uint32_t at, int64_t now_ms)
{
	struct node_line *l = c->lines[at];
	struct phx_err err = {0};
	struct batch b;
	if (l->program.pidfd >= 0) {
		if (l->paused)
			watch_pty(c, l, at, true);
		begin_batch(&b, c, l);
		phx_console_cut_flush(&l->cut, put_line, &b);
		end_batch(&b);
		if (!l->up && l->driver != PHX_CONSOLE_ipmi && now_ms - l->started_ms >= UP_MS)
			told_up(c, l);
		return;
	}
	int r = consoles_program_start(c, l, at, &err);
	if (r == -ENOENT)
		phx_err_set(&err, r, "its program is not installed");
	if (r < 0)
		told_down(c, l, at, err.text[0] ? err.text : strerror(-r));
	else
		consoles_due(c, l, at, l->started_ms + UP_MS);
}

/* ---- conserver's side ---- */

static void take_client(struct consoles *c, struct node_line *l, uint32_t at)
{
	int fd = accept4(l->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	phx_close_fd(&l->client); /* a former conserver's */
	l->client = fd;
	if (consoles_watch(c, fd, OF_CLIENT, at) < 0)
		phx_close_fd(&l->client);
}

static void read_client(struct node_line *l)
{
	char data[READ_BYTES];
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	ssize_t n = l->client < 0 ? -1 : recv(l->client, data, sizeof(data), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && l->client >= 0 && errno != EAGAIN)) {
		phx_close_fd(&l->client);
		return;
	}
	if (n > 0)
		phx_console_typed(l->driver, data, (size_t)n, &l->typed, &b);
	/* a program that does not read loses what was typed, and nobody waits for it */
	if (b.n && l->pty >= 0)
		(void)!write(l->pty, b.data, b.n);
}

void consoles_line_event(struct consoles *c, uint32_t at, enum source what)
{
	struct node_line *l = at < c->n_lines ? c->lines[at] : NULL;
	if (!l)
		return;
	if (what == OF_LISTEN)
		take_client(c, l, at);
	else if (what == OF_CLIENT)
		read_client(l);
	else if (what == OF_PTY)
		read_pty(c, l, at);
	else if (what == OF_END)
		ended(c, l, at);
}

void consoles_line_attach(struct consoles *c, struct node_line *l, uint32_t at, bool steal)
{
	l->steal = l->steal || steal;
	if (l->program.pidfd >= 0)
		return;
	l->backoff_ms = 0;
	consoles_due(c, l, at, phx_clock_ms());
	consoles_wake(c);
}
