/* The launcher: see launch.h. Called by main.c.
 *
 *   start ──▶ head runs ──ends by itself──▶ ends with its status
 *     ▲          │ SIGTERM, SIGINT, SIGHUP: the head gets them
 *     └─ a signal ended it, and it had served
 *
 * Its thread waits for signals and for the end of the head; what the head asks is answered by
 * others (launcher_answer.c). */
#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "apart/calls.h"
#include "apart/confine.h"
#include "base/file.h"
#include "phxd/apart.h"
#include "phxd/daemon.h"
#include "phxd/head_user.h"
#include "phxd/launcher.h"

enum { THREADS = 16, ENDED_BY_SIGNAL = 128 };

/* ---- what root may ---- */

/* dnsmasq answers machines that have no address yet; it alone of all that is started here keeps the
 * first of these when it becomes its user. The hands keep the second, for wake-on-LAN. */
static const struct {
	unsigned cap;
	bool of_dnsmasq; /* only where that is started */
} caps[] = {
	{CAP_NET_ADMIN, true},
	{CAP_NET_RAW, false},
	{CAP_NET_BIND_SERVICE, false},
	{CAP_SETUID, false},
	{CAP_SETGID, false},
	{CAP_SETPCAP, false},
	{CAP_CHOWN, false},
	{CAP_FOWNER, false},
	{CAP_DAC_OVERRIDE, false},
	{CAP_DAC_READ_SEARCH, false}, /* the hands: password files of root */
	{CAP_KILL, false},            /* processes that are other users */
};

/* As the unit has it, and less where the configuration wants less: all that is started here has no
 * more than the launcher, since none gains privileges. */
static int keep_caps(const struct phx_config *cfg, struct phx_err *err)
{
	bool dnsmasq = cfg->dhcp_mode != PHX_DHCP_NONE || cfg->tftp == PHX_TFTP_DNSMASQ;
	uint64_t keep = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(caps); i++)
		if (dnsmasq || !caps[i].of_dnsmasq)
			keep |= 1ull << caps[i].cap;
	return geteuid() == 0 ? phx_confine_caps(keep, "the launcher", err) : 0;
}

/* ---- its processes ---- */

/* Removes the variables for talking to the service manager: the head tells us instead. */
static const char **head_env(void)
{
	static const char *const ours[] = {"NOTIFY_SOCKET=", "WATCHDOG_PID="};
	size_t n = 0, to = 0;
	while (environ[n])
		n++;
	const char **env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++) {
		bool keep = true;
		for (size_t k = 0; k < PHX_ARRAY_SIZE(ours); k++)
			keep = keep && !phx_str_starts(environ[i], ours[k]);
		if (keep)
			env[to++] = environ[i];
	}
	return env;
}

/* All that we were told, behind what makes it the head. */
static const char **head_argv(char *const *ours)
{
	size_t n = 0;
	while (ours[n])
		n++;
	const char **argv = calloc(n + 3, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = "/proc/self/exe";
	argv[1] = "--head";
	for (size_t i = 1; i < n; i++)
		argv[i + 1] = ours[i];
	return argv;
}

static int start_head(struct launcher *l, struct phx_err *err)
{
	PHX_AUTO_FREE const char **argv = head_argv(l->argv);
	PHX_AUTO_FREE const char **env = head_env();
	if (!argv || !env)
		return -ENOMEM;
	const struct phx_launch launch = {.argv = argv, .env = env, .death_signal = SIGKILL};
	pthread_mutex_lock(&l->lock);
	int fd, r = phx_apart_spawn(&launch, "the head", &l->head, &fd, err);
	l->ready = false;
	pthread_mutex_unlock(&l->lock);
	return r ? r : launcher_hear(l, fd, err);
}

/* ---- its loop ---- */

static void pass_on(struct launcher *l)
{
	struct signalfd_siginfo si;
	if (read(l->signals, &si, sizeof(si)) != sizeof(si))
		return;
	l->ending = l->ending || si.ssi_signo != SIGHUP;
	phx_process_signal(l->head.pidfd, (int)si.ssi_signo);
}

static bool is_ready(struct launcher *l)
{
	pthread_mutex_lock(&l->lock);
	bool ready = l->ready;
	pthread_mutex_unlock(&l->lock);
	return ready;
}

static bool again(struct launcher *l, int status)
{
	return l->serves && is_ready(l) && !l->ending && status > ENDED_BY_SIGNAL &&
		launcher_restarts(status - ENDED_BY_SIGNAL);
}

/* The head has ended: restarts it, or sets *ret_end and returns the status to end with. */
static int head_ended(struct launcher *l, bool *ret_end, struct phx_err *err)
{
	pid_t pid = l->head.pid;
	pthread_mutex_lock(&l->lock);
	int status = phx_process_status(l->head.pidfd);
	phx_close_fd(&l->head.pidfd);
	pthread_mutex_unlock(&l->lock);
	*ret_end = !again(l, status);
	if (*ret_end)
		return status > ENDED_BY_SIGNAL ? EXIT_FAILURE : status;
	fprintf(stderr, "phxd: the head, process %d, was ended by signal %d: it is started again\n",
		(int)pid, status - ENDED_BY_SIGNAL);
	int r = begin_check(l->cfg, false, err);
	r = r ? r : head_user_give(l->cfg, err);
	r = r ? r : re_place_give(l->cfg, err);
	return r ? r : start_head(l, err);
}

/* Returns the status to end with, or a negative errno. Feeds the watchdog while a head reads its
 * journal again, as nobody else does then. */
static int attend(struct launcher *l, struct phx_err *err)
{
	bool end = false;
	int r = 0;
	while (r == 0 && !end) {
		struct pollfd fds[] = {{.fd = l->signals, .events = POLLIN},
				       {.fd = l->head.pidfd, .events = POLLIN}};
		int ms = l->watchdog_us && !is_ready(l) ? (int)(l->watchdog_us / 2000) : -1;
		if (poll(fds, PHX_ARRAY_SIZE(fds), ms) == 0)
			sd_notify(0, "WATCHDOG=1");
		if (fds[0].revents)
			pass_on(l);
		if (fds[1].revents)
			r = head_ended(l, &end, err);
	}
	return r;
}

static int open_signals(void)
{
	sigset_t mask;
	phx_signals_hold(&mask);
	int fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

static void end_all(struct launcher *l)
{
	pthread_mutex_lock(&l->lock); /* stays locked: no question is answered any more */
	phx_children_free(l->children);
	launcher_collect(&l->vault);
	launcher_collect(&l->hands);
	launcher_collect(&l->consoles);
	launcher_end_planner(l);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(l->doors); i++)
		if (l->doors[i].pid)
			launcher_collect(&l->doors[i]);
	if (l->listening[PHX_HTTP_UNIX])
		unlink(l->cfg->socket);
	for (size_t i = 0; i < PHX_HTTP_LISTENERS; i++)
		if (l->listening[i])
			close(l->listening[i]);
	phx_close_fd(&l->signals);
}

/* Threads that answer may still run when this returns: the caller must exit, and free nothing. */
int launcher_run(const struct phx_config *cfg, char **argv, bool new_journal, bool serves)
{
	struct launcher l = {.cfg = cfg,
			     .argv = argv,
			     .serves = serves,
			     .head.pidfd = -1,
			     .vault.pidfd = -1,
			     .hands.pidfd = -1,
			     .consoles.pidfd = -1,
			     .planner.pidfd = -1};
	struct phx_err err = {0};
	l.server = (struct phx_apart_server){.body_max = LAUNCH_BODY_MAX,
					     .threads = THREADS,
					     .answer = launcher_answer,
					     .arg = &l};
	pthread_mutex_init(&l.lock, NULL);
	l.signals = open_signals();
	sd_watchdog_enabled(0, &l.watchdog_us);
	int r = l.signals < 0 ? l.signals : apart_check_users(cfg, &err);
	r = r ? r : begin_check(cfg, new_journal, &err);
	r = r ? r : begin_make_dirs(cfg, &err);
	r = r ? r : head_user_give(cfg, &err);
	r = r ? r : re_place_give(cfg, &err);
	r = r ? r : keep_caps(cfg, &err);
	r = r ? r : phx_calls_keep(PHX_CALLS_launcher, "the launcher", &err);
	r = r ? r : start_head(&l, &err);
	r = r ? r : attend(&l, &err);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text[0] ? err.text : strerror(-r));
	end_all(&l);
	return r < 0 ? begin_status(r) : r;
}
