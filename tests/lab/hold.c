/* Connections that are kept. A client opens so many to each address, and sends a request over each
 * of them again and again; a server answers them. Run by directors.sh, which takes away what is
 * between the two.
 *
 *	hold SECONDS CONNECTIONS ADDRESS...
 *	hold serve
 *
 * The client prints "opened" when all are open, and at the end "connections N requests N broken N":
 * a connection is broken that was closed, reset, or had no whole answer for 15 s. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256, PAUSE_MS = 300, PATIENCE_MS = 15000, TEXT_MAX = 4096 };

struct held {
	int fd; /* -1: broken */
	int64_t asked_ms, answered_ms;
	char text[TEXT_MAX]; /* of the answer that comes */
	size_t n;
	unsigned requests;
	bool waits; /* for an answer */
};

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int open_one(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
	struct timeval patience = {PATIENCE_MS / 1000, 0};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void breaks(struct held *h, const char *why)
{
	printf("broken after %u requests: %s\n", h->requests, why);
	close(h->fd);
	h->fd = -1;
}

static void ask(struct held *h)
{
	static const char request[] = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
	h->asked_ms = now_ms();
	h->waits = true;
	h->n = 0;
	if (send(h->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != sizeof(request) - 1)
		breaks(h, strerror(errno));
}

/* Is the answer whole: head, and as much as it says? */
static bool is_whole(const struct held *h)
{
	const char *end = strstr(h->text, "\r\n\r\n"), *length = strstr(h->text, "Content-Length:");
	return end && length && length < end &&
		(size_t)(end + 4 - h->text) + strtoul(length + 15, NULL, 10) <= h->n;
}

static void take(struct held *h)
{
	ssize_t n = recv(h->fd, h->text + h->n, TEXT_MAX - 1 - h->n, 0);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		breaks(h, n ? strerror(errno) : "closed");
		return;
	}
	h->n += (size_t)n;
	h->text[h->n] = '\0';
	if (!is_whole(h))
		return;
	h->waits = false;
	h->answered_ms = now_ms();
	h->requests += !strncmp(h->text, "HTTP/1.1 200", 12);
}

static void turn(struct held *all, unsigned n)
{
	struct pollfd fds[MOST];
	for (unsigned i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = all[i].fd, .events = POLLIN};
	poll(fds, n, 50);
	for (unsigned i = 0; i < n; i++) {
		struct held *h = &all[i];
		if (h->fd >= 0 && fds[i].revents)
			take(h);
		if (h->fd >= 0 && h->waits && now_ms() - h->asked_ms > PATIENCE_MS)
			breaks(h, "no answer");
		if (h->fd >= 0 && !h->waits && now_ms() - h->answered_ms > PAUSE_MS)
			ask(h);
	}
}

/* ---- the server ---- */

static void answer(int *fd)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	char request[TEXT_MAX];
	ssize_t n = recv(*fd, request, sizeof(request), 0);
	if (n > 0 && send(*fd, text, sizeof(text) - 1, MSG_NOSIGNAL) == sizeof(text) - 1)
		return;
	close(*fd);
	*fd = -1;
}

static int serve(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(80)};
	int here[MOST], one = 1, door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(door, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(door, MOST) < 0)
		return 1;
	memset(here, -1, sizeof(here));
	for (;;) {
		struct pollfd fds[MOST + 1];
		for (int i = 0; i < MOST; i++)
			fds[i] = (struct pollfd){.fd = here[i], .events = POLLIN};
		fds[MOST] = (struct pollfd){.fd = door, .events = POLLIN};
		poll(fds, MOST + 1, -1);
		for (int i = 0; i < MOST; i++)
			if (here[i] >= 0 && fds[i].revents)
				answer(&here[i]);
		for (int i = 0; fds[MOST].revents && i < MOST; i++)
			if (here[i] < 0) {
				here[i] = accept4(door, NULL, NULL, SOCK_CLOEXEC);
				break;
			}
	}
}

int main(int argc, char **argv)
{
	static struct held all[MOST];
	unsigned n = 0, requests = 0, broken = 0;
	int64_t until_ms;
	if (argc == 2 && !strcmp(argv[1], "serve"))
		return serve();
	if (argc < 4 || (argc - 3) * atoi(argv[2]) > MOST)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int a = 3; a < argc; a++)
		for (int i = 0; i < atoi(argv[2]); i++, n++)
			if ((all[n].fd = open_one(argv[a])) < 0)
				return 1;
	puts("opened");
	until_ms = now_ms() + atoi(argv[1]) * 1000;
	while (now_ms() < until_ms)
		turn(all, n);
	for (unsigned i = 0; i < n; i++) {
		requests += all[i].requests;
		broken += all[i].fd < 0;
	}
	printf("connections %u requests %u broken %u\n", n, requests, broken);
	return 0;
}
