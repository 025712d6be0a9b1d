/* The loop of phxd: deadlines, silence, signals, watchdog. */
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "phxd/consoles.h"
#include "phxd/daemon.h"
#include "phxd/site.h"

enum { MAX_WAIT_MS = 2000 /* how often the journal is checked at least */ };

struct loop {
	struct daemon *d;
	sd_event *event;
	sd_event_source *wake;
	uint64_t alive_us;
};

static int min(int a, int b)
{
	return a < b ? a : b;
}

/* A turn of the loop: each part does what is due and says when it wants the next turn. */
static int turn(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
	struct loop *l = arg;
	struct daemon *d = l->d;
	(void)s;
	(void)fd;
	(void)revents;
	int64_t due_ms = wake_begin(d->wake);
	int ms = engine_tick(d->engine, MAX_WAIT_MS);
	if (ms < 0)
		return sd_event_exit(l->event, ms);
	ms = min(ms, live_tick(d->live, due_ms));
	ms = min(ms, directors_tick(d->directors));
	ms = min(ms, slurm_tick(d->slurm));
	ms = min(ms, refused_tick(d->refused));
	ms = min(ms, keys_tick(d->keys));
	ms = min(ms, site_portions_tick(d->site_portions));
	ms = min(ms, hands_tick(d->hands));
	ms = min(ms, consoles_tick(d->consoles));
	watches_tick(d->watches);
	wake_in(d->wake, ms);
	return 0;
}

/* The service manager watches the launcher, which passes on that we are alive. */
static int say_alive(sd_event_source *s, uint64_t usec, void *arg)
{
	struct loop *l = arg;
	launch_say(l->d->launch, LAUNCH_ALIVE);
	int r = sd_event_source_set_time(s, usec + l->alive_us);
	/* a source of time is called once, and off then */
	return r < 0 ? r : sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int watch_us(struct loop *l)
{
	uint64_t now, period = 0;
	/* WATCHDOG_PID, the launcher, is not in our environment */
	int r = sd_watchdog_enabled(0, &period);
	if (r <= 0)
		return r;
	l->alive_us = period / 2;
	r = sd_event_now(l->event, CLOCK_MONOTONIC, &now);
	return r < 0 ? r : sd_event_add_time(l->event, NULL, CLOCK_MONOTONIC, now, 0, say_alive, l);
}

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *arg)
{
	struct loop *l = arg;
	struct phx_err err = {0};
	(void)s;
	if (si->ssi_signo != SIGHUP)
		return sd_event_exit(l->event, 0);
	launch_say(l->d->launch, LAUNCH_RELOADING);
	outlets_reload(l->d->outlets);
	if (catalog_load(l->d, "phxd", NULL, NULL, &err) < 0)
		fprintf(stderr, "phxd: reload: %s\n", err.text);
	launch_say(l->d->launch, LAUNCH_READY);
	return 0;
}

int loop_serve(struct daemon *d)
{
	struct loop l = {.d = d};
	int r = sd_event_default(&l.event);
	r = r < 0 ? r : sd_event_add_io(l.event, &l.wake, wake_fd(d->wake), EPOLLIN, turn, &l);
	r = r < 0 ? r : sd_event_add_signal(l.event, NULL, SIGTERM, on_signal, &l);
	r = r < 0 ? r : sd_event_add_signal(l.event, NULL, SIGINT, on_signal, &l);
	r = r < 0 ? r : sd_event_add_signal(l.event, NULL, SIGHUP, on_signal, &l);
	r = r < 0 ? r : watch_us(&l);
	if (r >= 0) {
		wake_in(d->wake, 0);
		launch_say(d->launch, LAUNCH_READY);
		r = sd_event_loop(l.event);
		launch_say(d->launch, LAUNCH_STOPPING);
	}
	sd_event_source_unref(l.wake);
	sd_event_unref(l.event);
	return r;
}
