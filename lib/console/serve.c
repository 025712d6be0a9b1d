/* The process that has the consoles: starts, gives up what it does not need, answers. Started by
 * consoles.c, through the program's main. */
#include "console/internal.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/clock.h"
#include "base/file.h"

enum {
	FIRST_PATH = 9,
	THREADS = 32,
	ALL_RATE = 4 << 20, /* bytes a second of all consoles together */
	FILES = 65536,
	READ = PHX_CONFINE_READ | PHX_CONFINE_IF_THERE,
	RUN = READ | PHX_CONFINE_EXEC,
	CHANGE = READ | PHX_CONFINE_WRITE,
	ALL = RUN | PHX_CONFINE_WRITE | PHX_CONFINE_DIRS,
	PATHS_MAX = 64,
};

/* What ipmiconsole, conserver and a script of the site need of a system. */
static const struct phx_confine_path of_system[] = {
	{"/usr", RUN},
	{"/bin", RUN},
	{"/sbin", RUN},
	{"/lib", RUN},
	{"/lib32", RUN},
	{"/lib64", RUN},
	{"/etc/ld.so.cache", READ},
	{"/etc/ld.so.preload", READ},
	{"/etc/nsswitch.conf", READ},
	{"/etc/hosts", READ},
	{"/etc/hosts.allow", READ},
	{"/etc/hosts.deny", READ},
	{"/etc/host.conf", READ},
	{"/etc/gai.conf", READ},
	{"/etc/resolv.conf", READ},
	{"/etc/services", READ},
	{"/etc/protocols", READ},
	{"/etc/passwd", READ},
	{"/etc/group", READ},
	{"/etc/localtime", READ},
	{"/etc/ssl/openssl.cnf", READ},
	{"/etc/freeipmi", READ},
	{"/run/systemd/resolve", READ},
	{"/proc", READ},
	{"/dev/null", CHANGE},
	{"/dev/zero", READ},
	{"/dev/urandom", READ},
	{"/dev/random", READ},
	{"/dev/ptmx", CHANGE},
	{"/dev/pts", CHANGE},
};

/* Its directories are made by root, and given to it. */
static int give(const void *arg, const struct passwd *pw, struct phx_err *err)
{
	const struct consoles *c = arg;
	PHX_AUTO_FREE char *run = phx_path("%s/consoles", c->config->run_dir);
	const char *const dirs[] = {run, c->sockets, c->secrets, c->logs};
	int r = run ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(dirs); i++)
		r = phx_confine_give_dir(dirs[i], pw, err);
	return r;
}

static int confine(const struct consoles *c, struct phx_err *err)
{
	struct phx_confine_path paths[PATHS_MAX];
	PHX_AUTO_FREE char *run = phx_path("%s/consoles", c->config->run_dir);
	size_t n = PHX_ARRAY_SIZE(of_system);
	if (!run)
		return -ENOMEM;
	memcpy(paths, of_system, sizeof(of_system));
	paths[n++] = (struct phx_confine_path){c->config->bmc_dir, RUN};
	paths[n++] = (struct phx_confine_path){run, ALL};
	paths[n++] = (struct phx_confine_path){c->logs, CHANGE};
	paths[n++] = (struct phx_confine_path){c->config->conserver, RUN};
	PHX_LIST_EACH(struct phx_word, w, c->config->paths)
		if (n < PATHS_MAX)
			paths[n++] = (struct phx_confine_path){w->text, ALL};
	const struct phx_confine confine = {.what = "the process that has the consoles",
					    .user = c->config->user,
					    .give = give,
					    .arg = c,
					    .caps_beneath = 1ull << CAP_DAC_READ_SEARCH,
					    .lock_memory =
						    false, /* its programs inherit no limit */
					    .paths = paths,
					    .n_paths = n,
					    .calls = PHX_CALLS_consoles};
	return phx_confine_self(&confine, err);
}

static int make_paths(struct consoles *c, struct phx_err *err)
{
	const struct {
		char *to;
		const char *dir, *name;
		bool is_dir;
	} rows[] = {
		{c->sockets, c->config->run_dir, "consoles/s", true},
		{c->secrets, c->config->run_dir, "consoles/secrets", true},
		{c->logs, c->config->state_dir, "console-logs", true},
		{c->conf, c->config->run_dir, "consoles/conserver.cf", false},
		{c->passwd, c->config->run_dir, "consoles/conserver.passwd", false},
		{c->conserver_log, c->config->run_dir, "consoles/conserver.log", false},
	};
	int r = 0;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(rows); i++) {
		int n = snprintf(rows[i].to, sizeof(c->sockets), "%s/%s", rows[i].dir,
				 rows[i].name);
		r = n < 0 || (size_t)n >= sizeof(c->sockets) ? -ENAMETOOLONG
			: rows[i].is_dir                     ? phx_dir_make(rows[i].to, 0700, err)
							     : 0;
	}
	return r;
}

/* Each console has a few descriptors. */
static void allow_files(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return;
	l.rlim_cur = l.rlim_max < FILES ? l.rlim_max : FILES;
	(void)setrlimit(RLIMIT_NOFILE, &l);
}

static int begin(struct consoles *c, struct phx_err *err)
{
	pthread_t thread;
	pthread_mutex_init(&c->lock, NULL);
	phx_cond_init(&c->marked);
	c->conserver.pidfd = -1;
	c->conserver_due_ms = c->conf_due_ms = INT64_MAX;
	c->rate = (struct phx_console_rate){.per_s = ALL_RATE, .burst = ALL_RATE};
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = c->epoll < 0 || c->wake < 0 ? -errno : consoles_watch(c, c->wake, OF_WAKE, 0);
	r = r ? r : consoles_keep_password(c, err);
	return r ? r : -pthread_create(&thread, NULL, consoles_turn, c);
}

/* What ran until now may have the line of a BMC for a while: its file, without the secret, says so
 * to who comes next (lines.c). */
static void wipe_secrets(struct consoles *c)
{
	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < c->n_lines; i++) {
		PHX_AUTO_FREE char *path =
			c->lines[i] ? phx_path("%s/%s", c->secrets, c->lines[i]->node) : NULL;
		if (path)
			(void)!truncate(path, 0);
	}
}

static int serve(int fd, const struct phx_consoles_config *config)
{
	struct consoles *c = calloc(1, sizeof(*c));
	struct phx_err err = {0};
	const struct phx_apart_server server = {.body_max = CONSOLES_BODY_MAX,
						.threads = THREADS,
						.answer = consoles_answer,
						.arg = c};
	if (!c)
		return -ENOMEM;
	c->config = config;
	phx_apart_deaf();
	allow_files();
	int r = make_paths(c, &err);
	r = r ? r : confine(c, &err);
	r = r ? r : begin(c, &err);
	if (r < 0)
		fprintf(stderr, "phxd: consoles: %s\n", err.text[0] ? err.text : strerror(-r));
	r = r ? r : phx_apart_serve(fd, &server);
	if (r == -EPIPE)
		wipe_secrets(c);
	return r;
}

void phx_consoles_serve(int fd, int argc, char **argv)
{
	struct phx_list paths = {0};
	int r = argc < FIRST_PATH ? -EINVAL : 0;
	for (int i = FIRST_PATH; r == 0 && i < argc; i++) {
		struct phx_word *w = phx_list_push(&paths, sizeof(*w));
		r = w ? PHX_STR_SET(w->text, argv[i]) : -ENOMEM;
	}
	if (r < 0)
		_exit(1);
	const struct phx_consoles_config config = {.user = argv[2],
						   .bmc_dir = argv[3],
						   .run_dir = argv[4],
						   .state_dir = argv[5],
						   .conserver = argv[6],
						   .port = (uint32_t)strtoul(argv[7], NULL, 10),
						   .log_mb = (uint32_t)strtoul(argv[8], NULL, 10),
						   .paths = &paths};
	r = serve(fd, &config);
	_exit(r == -EPIPE ? 0 : 1); /* all that it has started ends with it */
}
