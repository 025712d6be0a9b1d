/* phx-agent: the program on a node. --deploy: child of /init in the deploy initramfs; otherwise
 * the service phx-agent of the running system; --tasks: the keeper of its tasks. This file: start,
 * signals, end. Does nothing else: lib/agent does. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "agent/anchors.h"
#include "agent/start.h"
#include "agent/log.h"
#include "agent/task_keeper.h"

enum { EXIT_CONFIG = 78 };

/* of a thread; ThreadSanitizer keeps its own books there */
#ifdef __SANITIZE_THREAD__
enum { STACK_BYTES = 8 << 20 };
#else
enum { STACK_BYTES = 512 << 10 };
#endif

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *loop)
{
	(void)s;
	(void)si;
	loop_quit(loop);
	return 0;
}

/* Turns the loop until the agent is to end. */
static int turn(struct loop *loop)
{
	loop_hold(loop);
	int r = sd_event_add_signal(loop_event(loop), NULL, SIGTERM, on_signal, loop);
	r = r < 0 ? r : sd_event_add_signal(loop_event(loop), NULL, SIGINT, on_signal, loop);
	r = r < 0 ? r : sd_event_set_watchdog(loop_event(loop), true);
	loop_release(loop);
	sd_notify(0, "READY=1");
	r = r < 0 ? r : loop_run(loop);
	sd_notify(0, "STOPPING=1");
	return r;
}

/* Small nodes: few heaps for many threads, and stacks no larger than needed. */
static void save_memory(void)
{
	pthread_attr_t attr;
	mallopt(M_ARENA_MAX, 2);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

static void block_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* For people, beside the agent that runs. */
static int print_anchors(const struct agent *a)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *text = NULL;
	int r = anchors_text(a->cfg.state_dir, &text, &err);
	if (r < 0)
		agent_log("%s", err.text[0] ? err.text : strerror(-r));
	return r < 0 || fputs(text, stdout) < 0 || fflush(stdout) ? EXIT_FAILURE : 0;
}

int main(int argc, char **argv)
{
	struct agent a = {0};
	struct phx_err err = {0};
	if (argc == 2 + TASK_KEEPER_WORDS && !strcmp(argv[1], TASK_KEEPER_WORD))
		return task_keeper_main(argv + 2);
	int r = agent_config_init(argc, argv, &a.cfg, &err);
	if (r != 0) {
		if (r < 0)
			agent_log("%s", err.text);
		return r < 0 ? EXIT_CONFIG : 0;
	}
	if (a.cfg.anchors)
		return print_anchors(&a);
	/* there is no udev in the deploy initramfs for libdevmapper to wait for */
	if (a.cfg.deploy)
		setenv("DM_DISABLE_UDEV", "1", 1);
	save_memory();
	block_signals();
	r = agent_start(&a, &err);
	if (r == 0)
		r = turn(a.loop);
	if (r < 0)
		agent_log("%s", err.text[0] ? err.text : strerror(-r));
	agent_finish(&a);
	/* in the deploy initramfs, /init starts the agent again unless it is to leave */
	_exit(r < 0 ? 1 : a.cfg.deploy && !atomic_load(&a.leave) ? 2 : 0);
}
