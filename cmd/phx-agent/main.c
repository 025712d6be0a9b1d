/* phx-agent: the program on a node. --deploy: child of /init in the deploy
 * initramfs; otherwise the service phx-agent of the running system. This file:
 * start, signals, end. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "agent/start.h"
#include "agent/log.h"

enum { EXIT_CONFIG = 78, WATCHDOG_S = 5 };

/* Waits for the order to end; tells the watchdog that we are alive. */
static void wait_signal(const sigset_t *set)
{
	struct timespec period = {WATCHDOG_S, 0};
	int sig;
	sd_notify(0, "READY=1");
	do {
		sig = sigtimedwait(set, NULL, &period);
		if (sig < 0 && errno == EAGAIN)
			sd_notify(0, "WATCHDOG=1");
	} while (sig != SIGTERM && sig != SIGINT);
	sd_notify(0, "STOPPING=1");
}

/* Small nodes: few heaps for many threads, and stacks no larger than needed. */
static void save_memory(void)
{
	pthread_attr_t attr;
	mallopt(M_ARENA_MAX, 2);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 * 1024);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

static void block_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, ret, NULL);
	sigdelset(ret, SIGPIPE);
}

int main(int argc, char **argv)
{
	struct agent a = {0};
	struct phx_err err = {0};
	sigset_t signals;
	int r = agent_config_init(argc, argv, &a.cfg, &err);
	if (r != 0) {
		if (r < 0)
			agent_log("%s", err.text);
		return r < 0 ? EXIT_CONFIG : 0;
	}
	/* there is no udev in the deploy initramfs for libdevmapper to wait for */
	if (a.cfg.deploy)
		setenv("DM_DISABLE_UDEV", "1", 1);
	save_memory();
	block_signals(&signals);
	r = agent_start(&a, &err);
	if (r == 0)
		wait_signal(&signals);
	else
		agent_log("%s", err.text[0] ? err.text : strerror(-r));
	agent_finish(&a);
	/* in the deploy initramfs, /init starts the agent again unless it is to leave */
	_exit(r < 0 ? 1 : a.cfg.deploy && !atomic_load(&a.leave) ? 2 : 0);
}
