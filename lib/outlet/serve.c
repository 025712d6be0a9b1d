/* The two processes that tell outlets: see outlet.h. Started by phxd's launcher, through its main;
 * each gives up root before it answers, and all that its task does not need. */
#include "outlet/outlet.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/file.h"
#include "base/json.h"

enum {
	THREADS = PHX_PROGRAMS_MAX + 4,
	NICE = 10, /* programs have what others leave */
	SECRET_MIN = 16,
	SECRET_MAX = 4096,
	PATHS_MAX = 64,
	PROGRAM_WORDS = 5, /* PROGRAM --programs USER OWNER DIR */
	WEBHOOK_WORDS = 4, /* PROGRAM --webhooks USER CONFIG */
	READ = PHX_CONFINE_READ | PHX_CONFINE_IF_THERE,
	RUN = READ | PHX_CONFINE_EXEC,
	ALL = RUN | PHX_CONFINE_WRITE | PHX_CONFINE_DIRS,
};

struct server {
	/* of programs */
	const char *dir;
	uid_t owner;
	/* of webhooks */
	struct phx_config cfg;
	char *secrets[PHX_WEBHOOKS_MAX];
	struct phx_err wrong[PHX_WEBHOOKS_MAX]; /* what is wrong with a secret */
};

/* ---- what they are asked ---- */

static int op_list(struct server *s, const struct phx_apart_question *q,
		   struct phx_apart_reply *ret, struct phx_err *err)
{
	struct phx_list list = {0};
	(void)q;
	int r = s->dir ? phx_programs_list(s->dir, s->owner, &list, err) : -ENOSYS;
	PHX_AUTO_FREE char *text = r ? NULL : phx_json_list_text(&phx_program_record, &list);
	if (text)
		phx_buf_add(&ret->body, text, strlen(text));
	PHX_LIST_EACH(struct phx_program, p, &list)
		phx_record_fini(&phx_program_record, p);
	phx_list_fini(&list);
	return r || text ? r : -ENOMEM;
}

static int op_run(struct server *s, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		  struct phx_err *err)
{
	uint64_t most = PHX_OUTLET_TIMEOUT_MAX_S * 1000;
	uint64_t ms = q->number && q->number < most ? q->number : most;
	(void)ret;
	return s->dir ? phx_program_run(s->dir, s->owner, q->name, q->body, (uint32_t)ms, err)
		      : -ENOSYS;
}

static int op_post(struct server *s, const struct phx_apart_question *q,
		   struct phx_apart_reply *ret, struct phx_err *err)
{
	(void)ret;
	for (uint32_t i = 0; i < s->cfg.webhooks.n; i++) {
		const struct phx_webhook *w = PHX_LIST_AT(&s->cfg.webhooks, struct phx_webhook, i);
		if (strcmp(w->name, q->name) != 0)
			continue;
		if (!s->secrets[i])
			return phx_err_set(err, -EPERM, "%s", s->wrong[i].text);
		return phx_webhook_post(w, s->secrets[i], q->number, q->body, err);
	}
	return phx_err_set(err, -ENOENT, "phoenix.conf has no webhook '%.63s'", q->name);
}

static const struct {
	int (*fn)(struct server *s, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		  struct phx_err *err);
} ops[] = {
#define OP(name, function) [PHX_OUTLET_##name] = {function},
#include "outlet/ops.def"
#undef OP
};

static int answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		  struct phx_err *err)
{
	if (q->op >= PHX_ARRAY_SIZE(ops))
		return -ENOSYS;
	/* their bodies are texts */
	if (q->n && (!q->body || memchr(q->body, 0, q->n)))
		return -EPROTO;
	return ops[q->op].fn(arg, q, ret, err);
}

/* ---- what they keep ---- */

static const struct phx_confine_path of_programs[] = {
	{"/usr", RUN},       {"/bin", RUN},         {"/sbin", RUN},
	{"/lib", RUN},       {"/lib32", RUN},       {"/lib64", RUN},
	{"/opt", RUN},       {"/etc", READ},        {"/run", READ},
	{"/proc", READ},     {"/sys", READ},        {"/dev/null", READ | PHX_CONFINE_WRITE},
	{"/dev/zero", READ}, {"/dev/random", READ}, {"/dev/urandom", READ},
};

static const struct phx_confine_path of_webhooks[] = {
	{"/usr", READ},
	{"/lib", READ},
	{"/lib64", READ},
	{"/etc/ld.so.cache", READ},
	{"/etc/nsswitch.conf", READ},
	{"/etc/hosts", READ},
	{"/etc/host.conf", READ},
	{"/etc/gai.conf", READ},
	{"/etc/resolv.conf", READ},
	{"/etc/services", READ},
	{"/etc/ssl/certs", READ},
	{"/etc/ssl/openssl.cnf", READ},
	{"/run/systemd/resolve", READ},
	{"/dev/null", READ | PHX_CONFINE_WRITE},
	{"/dev/urandom", READ},
};

static size_t add(struct phx_confine_path *paths, size_t n, const char *path, unsigned rights)
{
	if (path[0] && n < PATHS_MAX)
		paths[n++] = (struct phx_confine_path){path, rights};
	return n;
}

static int confine_programs(char **argv, struct phx_err *err)
{
	struct phx_confine_path paths[PATHS_MAX];
	size_t n = PHX_ARRAY_SIZE(of_programs);
	memcpy(paths, of_programs, sizeof(of_programs));
	n = add(paths, n, argv[PROGRAM_WORDS - 1], RUN);
	for (char **own = argv + PROGRAM_WORDS; *own; own++)
		n = add(paths, n, *own, ALL);
	const struct phx_confine c = {.what = "the process that runs programs of event_dir",
				      .user = geteuid() == 0 ? argv[2] : "",
				      .paths = paths,
				      .n_paths = n,
				      .calls = PHX_CALLS_runner};
	return phx_confine_self(&c, err);
}

static int confine_webhooks(const struct server *s, char **argv, struct phx_err *err)
{
	struct phx_confine_path paths[PATHS_MAX];
	size_t n = PHX_ARRAY_SIZE(of_webhooks);
	memcpy(paths, of_webhooks, sizeof(of_webhooks));
	PHX_LIST_EACH(struct phx_webhook, w, &s->cfg.webhooks)
		n = add(paths, n, w->ca_file, READ);
	const struct phx_confine c = {.what = "the process that sends to webhooks",
				      .user = geteuid() == 0 ? argv[2] : "",
				      .lock_memory = true,
				      .paths = paths,
				      .n_paths = n,
				      .calls = PHX_CALLS_webhooks};
	return phx_confine_self(&c, err);
}

/* ---- secrets ---- */

static int read_secret(const char *path, char **ret, struct phx_err *err)
{
	struct stat st;
	size_t n;
	int r = phx_file_trusted(path, err);
	if (r == 0 && (stat(path, &st) < 0 || st.st_mode & 077))
		r = phx_err_set(err, -EPERM, "%s: others than its owner may read it: chmod 600",
				path);
	r = r ? r : phx_file_read(path, SECRET_MAX, ret, &n, err);
	if (r < 0)
		return r;
	while (n && strchr("\r\n", (*ret)[n - 1]))
		(*ret)[--n] = '\0';
	if (n >= SECRET_MIN && strlen(*ret) == n)
		return 0;
	free(PHX_TAKE(*ret));
	return phx_err_set(err, -EINVAL, "%s: a secret is a text of %d bytes at least", path,
			   SECRET_MIN);
}

static void read_secrets(struct server *s)
{
	for (uint32_t i = 0; i < s->cfg.webhooks.n; i++) {
		const struct phx_webhook *w = PHX_LIST_AT(&s->cfg.webhooks, struct phx_webhook, i);
		if (!w->secret_file[0])
			s->secrets[i] = strdup("");
		else if (read_secret(w->secret_file, &s->secrets[i], &s->wrong[i]) < 0)
			phx_err_prefix(&s->wrong[i], -EPERM, "secret_file");
	}
}

/* ---- the processes ---- */

/* Nothing of the service manager's, nor of who started phxd. */
static void begin_environment(void)
{
	clearenv();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("LANG", "C.UTF-8", 1);
	setenv("HOME", "/", 1);
}

static _Noreturn void serve(int fd, struct server *s, int r, const struct phx_err *err)
{
	const struct phx_apart_server server = {
		.body_max = PHX_OUTLET_BODY_MAX, .threads = THREADS, .answer = answer, .arg = s};
	if (r < 0)
		fprintf(stderr, "phxd: %s\n", err->text[0] ? err->text : strerror(-r));
	r = r ? r : phx_apart_serve(fd, &server);
	/* what is under way ends with it: the head is gone */
	_exit(r == -EPIPE ? 0 : 1);
}

static int check_user(const char *user, struct phx_err *err)
{
	return geteuid() == 0 && (!user[0] || !strcmp(user, "root"))
		? phx_err_set(err, -EPERM, "event_user: must not be root")
		: 0;
}

void phx_programs_serve(int fd, int argc, char **argv)
{
	struct server s = {0};
	struct phx_err err = {0};
	uint64_t owner = 0;
	phx_apart_deaf();
	begin_environment();
	int r = argc < PROGRAM_WORDS ? -EINVAL : phx_u64_parse(argv[3], 0, UINT32_MAX - 1, &owner);
	r = r ? r : check_user(argv[2], &err);
	if (r == 0) {
		s.dir = argv[PROGRAM_WORDS - 1];
		s.owner = (uid_t)owner;
		setpriority(PRIO_PROCESS, 0, NICE);
		r = confine_programs(argv, &err);
	}
	serve(fd, &s, r, &err);
}

void phx_webhooks_serve(int fd, int argc, char **argv)
{
	struct server s = {0};
	struct phx_err err = {0};
	phx_apart_deaf();
	begin_environment();
	int r = argc < WEBHOOK_WORDS ? -EINVAL : check_user(argv[2], &err);
	r = r ? r : phx_config_load(argv[WEBHOOK_WORDS - 1], &s.cfg, &err);
	if (r == 0) {
		read_secrets(&s);
		curl_global_init(CURL_GLOBAL_DEFAULT);
		r = confine_webhooks(&s, argv, &err);
	}
	serve(fd, &s, r, &err);
}
