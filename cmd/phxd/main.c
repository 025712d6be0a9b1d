/* phxd: the common service framework of the resource provider. Wires core to
 * drivers, then turns the loop: deadlines, silence, signals, watchdog. */
#include "phxd/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { EXIT_USAGE_ = 64, EXIT_CONFIG_ = 78 };
enum { MAX_WAIT_MS = 1000, TIMER_ACCURACY_US = 10000, FILES_BESIDE = 1024, N_LISTENERS = 3 };

/* ---- what the engine calls ---- */

static void act(void *arg, const struct phx_action *action)
{
	struct daemon *d = arg;
	exec_action(d->exec, action);
}

static void committed(void *arg, uint64_t seq)
{
	struct daemon *d = arg;
	waits_wake(d->waits, seq);
}

/* ---- the loop ---- */

struct loop {
	struct daemon *d;
	sd_event *event;
	sd_event_source *timer;
};

static int min(int a, int b)
{
	return a < b ? a : b;
}

static int turn(struct loop *l)
{
	int ms = engine_tick(l->d->engine, MAX_WAIT_MS);
	ms = min(ms, live_tick(l->d->live));
	ms = min(ms, waits_tick(l->d->waits));
	ms = min(ms, balance_tick(l->d->balance));
	ms = min(ms, slurm_tick(l->d->slurm));
	uint64_t now;
	sd_event_now(l->event, CLOCK_MONOTONIC, &now);
	sd_event_source_set_time(l->timer, now + (uint64_t)ms * 1000);
	return sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *arg)
{
	(void)s;
	(void)usec;
	return turn(arg);
}

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *arg)
{
	struct loop *l = arg;
	struct phx_err err = { 0 };
	(void)s;
	if (si->ssi_signo != SIGHUP)
		return sd_event_exit(l->event, 0);
	sd_notify(0, "RELOADING=1");
	if (catalog_load(l->d, NULL, &err) < 0)
		fprintf(stderr, "phxd: reload: %s\n", err.text);
	return sd_notify(0, "READY=1");
}

static int run_loop(struct daemon *d)
{
	struct loop l = { .d = d };
	int r = sd_event_default(&l.event);
	r = r < 0 ? r : sd_event_add_time(l.event, &l.timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US, on_timer, &l);
	r = r < 0 ? r : sd_event_add_signal(l.event, NULL, SIGTERM, on_signal, &l);
	r = r < 0 ? r : sd_event_add_signal(l.event, NULL, SIGINT, on_signal, &l);
	r = r < 0 ? r : sd_event_add_signal(l.event, NULL, SIGHUP, on_signal, &l);
	r = r < 0 ? r : sd_event_set_watchdog(l.event, true);
	if (r >= 0) {
		sd_notify(0, "READY=1\nSTATUS=serving");
		r = sd_event_loop(l.event);
		sd_notify(0, "STOPPING=1");
	}
	sd_event_source_unref(l.timer);
	sd_event_unref(l.event);
	return r;
}

/* ---- start and stop ---- */

static int make_dirs(const struct daemon *d, struct phx_err *err)
{
	const struct {
		const char *path;
		mode_t mode;
	} dirs[] = {
		{ d->cfg.state_dir, 0755 },   { d->cfg.run_dir, 0755 },	    { d->cfg.pki_dir, 0700 },
		{ d->cfg.key_dir, 0700 },     { d->cfg.image_dir, 0755 },   { d->cfg.package_dir, 0755 },
		{ d->cfg.output_dir, 0750 },
	};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(dirs); i++)
		r = phx_dir_make(dirs[i].path, dirs[i].mode, err);
	return r;
}

static int open_pki(struct daemon *d, struct phx_err *err)
{
	const char *names[40] = { d->cfg.address };
	size_t n = 1;
	PHX_LIST_EACH(struct phx_word, w, &d->cfg.server_names)
		if (n < PHX_ARRAY_SIZE(names))
			names[n++] = w->text;
	return phx_pki_open(d->cfg.pki_dir, names, n, &d->pki, err);
}

static int open_engine(struct daemon *d, struct phx_err *err)
{
	struct engine_config config = { .journal = d->cfg.journal,
					.snapshot_every = d->cfg.snapshot_every,
					.keep_days = d->cfg.journal_keep_days,
					.site_key_path = d->site_key_path,
					.act = act,
					.committed = committed,
					.arg = d };
	snprintf(d->site_key_path, sizeof(d->site_key_path), "%s/site.key", d->cfg.pki_dir);
	int r = engine_open(&config, &d->engine, err);
	if (r == 0)
		d->started_ms = engine_now(d->engine);
	return r;
}

/* A journal that knows nothing beside keys that it once ordered was lost, or is not mounted: going on would give those
 * disks up and their nodes to strangers. */
static int check_journal(struct daemon *d, struct phx_err *err)
{
	bool fresh = engine_lock(d->engine)->seq == 0;
	engine_unlock(d->engine);
	DIR *dir = fresh ? opendir(d->cfg.key_dir) : NULL;
	int r = 0;
	for (struct dirent *e; dir && r == 0 && (e = readdir(dir));)
		if (e->d_name[0] != '.')
			r = phx_err_set(err, -ENOENT, "%s is empty, but %s holds keys of encrypted disks: restore the journal, "
					"or move the keys away to give those disks up", d->cfg.journal, d->cfg.key_dir);
	if (dir)
		closedir(dir);
	return r;
}

static int start_http(struct daemon *d, struct phx_err *err)
{
	struct phx_http_server_config config = {
		.routes = routes,
		.n_routes = n_routes,
		.arg = d,
		.unix_path = d->cfg.socket,
		.unix_gid = (gid_t)-1,
		.tls_address = d->cfg.address,
		.tls_port = (uint16_t)d->cfg.https_port,
		.plain_address = d->cfg.address,
		.plain_port = (uint16_t)d->cfg.http_port,
		.pki = d->pki,
		.spool_dir = d->cfg.output_dir,
		.threads = d->cfg.http_threads,
		.connections_max = d->cfg.connections_max,
		.per_address_max = d->cfg.connections_per_address,
	};
	int r = phx_http_server_start(&config, &d->http, err);
	/* who may do what is decided by peer credentials: users submit jobs through the same socket */
	if (r == 0 && chmod(d->cfg.socket, 0666) < 0)
		r = phx_err_set(err, -errno, "%s: %s", d->cfg.socket, strerror(errno));
	return r;
}

/* Before anything that could let time pass. */
static int begin_anew(struct daemon *d, struct phx_err *err)
{
	struct phx_event ev = { .kind = PHX_EV_restart, .by = "phxd" };
	int r = engine_submit(d->engine, &ev, NULL, err);
	return r == -EROFS ? 0 : r; /* it shows what there is, and changes nothing */
}

static int start(struct daemon *d, struct phx_err *err)
{
	int r = make_dirs(d, err);
	r = r ? r : open_pki(d, err);
	r = r ? r : open_engine(d, err);
	r = r ? r : check_journal(d, err);
	r = r ? r : begin_anew(d, err);
	r = r ? r : live_new(d, &d->live);
	r = r ? r : waits_new(d, &d->waits);
	r = r ? r : balance_new(d, &d->balance);
	r = r ? r : slurm_new(d, &d->slurm);
	r = r ? r : exec_new(d, &d->exec, err);
	r = r ? r : catalog_load(d, NULL, err);
	if (r == 0)
		re_dirs_sync(d);
	r = r ? r : net_start(d, err);
	r = r ? r : start_http(d, err);
	if (r == 0)
		engine_resume(d->engine);
	return r;
}

static void stop(struct daemon *d)
{
	/* who waits is answered, then nobody asks, then nobody works, then nothing is left */
	live_stop(d->live);
	waits_stop(d->waits);
	phx_http_server_free(d->http);
	slurm_free(d->slurm);
	exec_free(d->exec);
	net_stop(d);
	balance_free(d->balance);
	waits_free(d->waits);
	live_free(d->live);
	engine_close(d->engine);
	phx_pki_free(d->pki);
	phx_config_fini(&d->cfg);
}

static void usage(FILE *to)
{
	fprintf(to, "usage: phxd [-c FILE] [--check] [--version]\n"
		    "  -c, --config FILE  configuration (default %s)\n"
		    "      --check        read the configuration, say what is wrong, and end\n",
		PHX_CONFIG_PATH);
}

/* A connection is a descriptor, and an agent has one or two; the usual soft limit is 1024. */
static void allow_files(rlim_t n)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= n)
		return;
	files.rlim_cur = n < files.rlim_max ? n : files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "config", required_argument, NULL, 'c' },
						 { "check", no_argument, NULL, 'k' },
						 { "version", no_argument, NULL, 'v' },
						 { "help", no_argument, NULL, 'h' },
						 { 0 } };
	struct daemon d = { .config_path = PHX_CONFIG_PATH };
	struct phx_err err = { 0 };
	bool check = false;
	for (int c; (c = getopt_long(argc, argv, "c:h", options, NULL)) != -1;) {
		if (c == 'c')
			d.config_path = optarg;
		else if (c == 'k')
			check = true;
		else if (c == 'v')
			return puts("phxd " PHX_VERSION) < 0;
		else {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : EXIT_USAGE_;
		}
	}
	int r = phx_config_load(d.config_path, &d.cfg, &err);
	if (r < 0 || check) {
		if (r < 0)
			fprintf(stderr, "phxd: %s\n", err.text);
		phx_config_fini(&d.cfg);
		return r < 0 ? EXIT_CONFIG_ : 0;
	}
	sigset_t mask;
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);
	allow_files((rlim_t)d.cfg.connections_max * N_LISTENERS + FILES_BESIDE);
	r = start(&d, &err);
	r = r < 0 ? r : run_loop(&d);
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err.text[0] ? err.text : strerror(-r));
	stop(&d);
	return r < 0 ? 1 : 0;
}
