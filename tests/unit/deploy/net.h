/* Two network namespaces joined by a veth pair: the test (and what it starts) is in the server's,
 * with 10.9.0.1 on v0; sockets can be made in the client's, with v1. Both end with the test
 * program. */
#ifndef TESTS_DEPLOY_NET_H
#define TESTS_DEPLOY_NET_H

#include "unit/deploy/help.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/spawn.h"

struct net {
	int server, client; /* namespaces */
	pid_t holder;       /* keeps the client's */
};

static inline void net_run(const char *const *argv)
{
	const struct phx_run run = {.argv = argv};
	struct phx_err err = {0};
	int r = phx_run_check(&run, NULL, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(r, 0);
}
#define IP(...) net_run((const char *const[]){"ip", __VA_ARGS__, NULL})

static inline void net_enter(int ns)
{
	assert_int_equal(setns(ns, CLONE_NEWNET), 0);
}

static inline pid_t net_hold(void)
{
	int p[2];
	char c;
	assert_int_equal(pipe(p), 0);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) < 0)
			_exit(1);
		(void)!write(p[1], "x", 1);
		for (;;)
			pause();
	}
	close(p[1]);
	assert_int_equal(read(p[0], &c, 1), 1);
	close(p[0]);
	return pid;
}

static inline void net_make(struct net *n)
{
	char pid[16], path[64];
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	n->server = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	n->holder = net_hold();
	snprintf(pid, sizeof(pid), "%d", (int)n->holder);
	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	n->client = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(n->server >= 0 && n->client >= 0);
	IP("link", "set", "lo", "up");
	IP("link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", pid);
	IP("addr", "add", "10.9.0.1/24", "dev", "v0");
	IP("link", "set", "v0", "up");
	net_enter(n->client);
	IP("link", "set", "lo", "up");
	IP("link", "set", "v1", "up");
	net_enter(n->server);
}

static inline void net_remove(struct net *n)
{
	close(n->server);
	close(n->client);
	kill(n->holder, SIGKILL);
	waitpid(n->holder, NULL, 0);
}

static inline void sleep_ms(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&ts, NULL);
}

#endif
