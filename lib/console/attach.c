/* A client of conserver, until it is attached: then its socket goes to the head. Called by answer.c
 * without the lock: it waits for conserver, for some seconds at most.
 *
 *   master: login, password, call NODE ─▶ a port ─▶ that process: login, password, call NODE
 *   ─▶ "[attached]" or "[spy]" ─▶ as was asked for ─▶ no sequence of conserver's works any more */
#include "console/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"

enum { WAIT_S = 4, REPLY_MAX = 2048 };

static int dial(unsigned port, int *ret)
{
	const struct sockaddr_in a = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval wait = {.tv_sec = WAIT_S};
	PHX_AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	*ret = fd;
	fd = -1;
	return 0;
}

/* Reads until the text ends a line; -EAGAIN: nothing came in time. */
static int hear_line(int fd, char *ret, size_t size)
{
	size_t n = 0;
	while (n + 1 < size && (!n || ret[n - 1] != '\n')) {
		ssize_t got = recv(fd, ret + n, 1, 0);
		if (got <= 0)
			return got < 0 ? -errno : -EPIPE;
		n++;
	}
	ret[n] = '\0';
	return 0;
}

/* Says a line, and reads the answer to it. */
static int ask(int fd, const char *fmt, const char *word, char reply[REPLY_MAX])
{
	char line[256];
	int n = snprintf(line, sizeof(line), fmt, word);
	int r = n < 0 || (size_t)n >= sizeof(line) ? -ENAMETOOLONG
						   : phx_write_all(fd, line, (size_t)n);
	explicit_bzero(line, sizeof(line));
	return r ? r : hear_line(fd, reply, REPLY_MAX);
}

static int log_in(const struct consoles *c, unsigned port, int *ret, char reply[REPLY_MAX])
{
	PHX_AUTO_CLOSE int fd = -1;
	int r = dial(port, &fd);
	r = r ? r : hear_line(fd, reply, REPLY_MAX);
	r = r ? r : ask(fd, "login %s\n", CONSOLES_USER, reply);
	r = r ? r : ask(fd, "%s\n", c->password, reply);
	if (r == 0 && !phx_str_starts(reply, "ok"))
		r = -EACCES;
	if (r < 0)
		return r;
	*ret = fd;
	fd = -1;
	return 0;
}

/* Reads up to the end of what conserver answers to an order of its sequence: what the console says
 * meanwhile stands before it, and is lost. */
static int hear_until(int fd, const char *end)
{
	char last[64] = "";
	const size_t n_end = strlen(end);
	size_t n = 0;
	for (unsigned i = 0; i < 1u << 20; i++) {
		if (n == sizeof(last)) {
			memmove(last, last + 1, --n);
		}
		ssize_t got = recv(fd, last + n, 1, 0);
		if (got <= 0)
			return got < 0 ? -errno : -EPIPE;
		n++;
		if (n >= n_end && !memcmp(last + n - n_end, end, n_end))
			return 0;
	}
	return -EPROTO;
}

static int order(int fd, const char *sequence, const char *end)
{
	int r = phx_write_all(fd, sequence, strlen(sequence));
	return r ? r : hear_until(fd, end);
}

/* "^Ec" is its sequence until we have made it two bytes that nobody types. Who writes, the head
 * says: to conserver the next best of those who read would be one when the writer leaves. */
static int take_mode(int fd, const char *reply, unsigned flags)
{
	static const char no_sequence[] = {
		5, 'c', 'e', (char)PHX_CONSOLE_BREAK, (char)PHX_CONSOLE_ORDER, 0};
	const bool spies = phx_str_starts(reply, "[spy]");
	int r = 0;
	if (!(flags & PHX_CONSOLES_WRITE))
		r = spies ? 0 : order(fd, "\005cs", "]");
	else if (spies)
		r = order(fd, "\005cf", "]");
	/* until it is asked for, conserver sends nothing of what the console says */
	r = r ? r : order(fd, "\005c;", "connected]\r\n");
	return r ? r : order(fd, no_sequence, "ok]\r\n");
}

static int call_node(const struct consoles *c, const char *node, unsigned flags, int *ret_fd)
{
	PHX_AUTO_CLOSE int master = -1;
	PHX_AUTO_CLOSE int fd = -1;
	char reply[REPLY_MAX];
	uint64_t port = 0;
	int r = log_in(c, c->config->port, &master, reply);
	r = r ? r : ask(master, "call %s\n", node, reply);
	reply[strcspn(reply, "\r\n")] = '\0';
	if (r == 0 && phx_u64_parse(reply, 1, UINT16_MAX, &port) < 0)
		r = -EAGAIN; /* it does not know it yet */
	r = r ? r : log_in(c, (unsigned)port, &fd, reply);
	r = r ? r : ask(fd, "call %s\n", node, reply);
	if (r == 0 && reply[0] != '[')
		r = -EAGAIN;
	r = r ? r : take_mode(fd, reply, flags);
	if (r < 0)
		return r;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int consoles_attach_to(const struct consoles *c, const char *node, unsigned flags, int *ret_fd,
		       struct phx_err *err)
{
	int r = call_node(c, node, flags, ret_fd);
	if (r == 0)
		return 0;
	return phx_err_set(err, -EAGAIN,
			   "conserver does not serve the console of %s just now (%s): it is "
			   "started again by itself",
			   node, strerror(-r));
}
