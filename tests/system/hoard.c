/* Somebody who takes all the connections he can get, and never lets go: opens them, sends the
 * beginning of a request or nothing, and opens each again that is closed. Run by phxd_hostile.sh
 * and by the bench.
 *
 *	hoard [--uid N] [--connections N] [--send TEXT] PATH | ADDRESS:PORT
 *
 * Prints "ready" when each was tried once, or after ten seconds; ends with its standard input. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { READY_MS = 10000, ROUND_MS = 50, AGAIN_MAX = 200 /* opened again in a round */ };

struct target {
	struct sockaddr_storage sa;
	socklen_t n;
	const char *text;
};

static long now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int parse_target(const char *where, struct target *ret)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&ret->sa;
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->sa;
	const char *colon = strrchr(where, ':');
	char address[64];
	if (where[0] == '/') {
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", where);
		ret->n = sizeof(*un);
		return 0;
	}
	if (!colon || colon - where >= (long)sizeof(address))
		return -EINVAL;
	snprintf(address, sizeof(address), "%.*s", (int)(colon - where), where);
	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)atoi(colon + 1));
	ret->n = sizeof(*in);
	return inet_pton(AF_INET, address, &in->sin_addr) == 1 ? 0 : -EINVAL;
}

static int open_one(const struct target *t)
{
	int fd = socket(t->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    (connect(fd, (const struct sockaddr *)&t->sa, t->n) < 0 && errno != EINPROGRESS)) {
		close(fd);
		return -1;
	}
	if (t->text && t->sa.ss_family == AF_UNIX)
		(void)!send(fd, t->text, strlen(t->text), MSG_NOSIGNAL);
	return fd;
}

/* Opens what is closed, at most so many; how many were tried. */
static unsigned fill(const struct target *t, struct pollfd *p, unsigned n, unsigned max)
{
	unsigned tried = 0;
	for (unsigned i = 0; i < n && tried < max; i++) {
		if (p[i].fd >= 0)
			continue;
		p[i] = (struct pollfd){.fd = open_one(t), .events = POLLIN};
		tried++;
	}
	return tried;
}

static void reap(struct pollfd *p, unsigned n)
{
	char text[512];
	poll(p, n, 0);
	for (unsigned i = 0; i < n; i++) {
		if (p[i].fd < 0 || !p[i].revents ||
		    recv(p[i].fd, text, sizeof(text), MSG_DONTWAIT) > 0)
			continue;
		close(p[i].fd);
		p[i].fd = -1;
	}
}

static void hoard(const struct target *t, struct pollfd *p, unsigned n)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	long until = now_ms() + READY_MS;
	char c;
	for (unsigned i = 0; i < n; i++)
		p[i].fd = -1;
	for (unsigned tried = 0; tried < n && now_ms() < until;) {
		unsigned some = fill(t, p, n, n - tried);
		tried += some;
		reap(p, n);
		if (!some)
			break;
	}
	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, ROUND_MS) == 0 || read(STDIN_FILENO, &c, 1) > 0) {
		fill(t, p, n, AGAIN_MAX);
		reap(p, n);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"uid", required_argument, NULL, 'u'},
						{"connections", required_argument, NULL, 'n'},
						{"send", required_argument, NULL, 's'},
						{0}};
	struct target t = {0};
	unsigned n = 1000, uid = 0;
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
		if (c == 'u')
			uid = (unsigned)atoi(optarg);
		else if (c == 'n')
			n = (unsigned)atoi(optarg);
		else if (c == 's')
			t.text = optarg;
		else
			return 64;
	}
	struct rlimit files = {n + 64, n + 64};
	struct pollfd *p = calloc(n + 1, sizeof(*p));
	if (!p || optind != argc - 1 || parse_target(argv[optind], &t) < 0)
		return 64;
	signal(SIGPIPE, SIG_IGN);
	if (setrlimit(RLIMIT_NOFILE, &files) < 0 || (uid && (setgid(uid) < 0 || setuid(uid) < 0))) {
		perror("hoard");
		return 1;
	}
	hoard(&t, p, n);
	free(p);
	return 0;
}
