/* See runner.h. Started by launcher_answer.c, through main.c; asked by slurm.c. */
#include "phxd/runner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/account.h"
#include "phxd/head_user.h"
#include "slurm/slurm.h"

enum {
	COMMAND_MS = 10000, /* one command may take so long */
	ANSWER_MS = 2 * COMMAND_MS,
	BODY_MAX = 65 << 20, /* a command may print so much */
	WORDS_MAX = 32
};
enum { RUN };

/* ---- the launcher's side ---- */

static int find_user(const char *name, struct phx_run_as *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *texts = NULL;
	struct passwd pw;
	if (phx_user_named(name, &pw, &texts) < 0)
		return phx_err_set(
			err, -ENOENT,
			"engine_user: there is no user '%s' on this head, and Slurm's commands do "
			"not run as root: "
			"make it, or name another in phoenix.conf (phoenix-agreement(5), SLURM)",
			name);
	if (pw.pw_uid == 0 || pw.pw_gid == 0 || !phx_id_valid(pw.pw_uid) ||
	    !phx_id_valid(pw.pw_gid))
		return phx_err_set(err, -EPERM,
				   "engine_user: '%s' is root or of root's group, and Slurm's "
				   "commands do not run so",
				   name);
	*ret = (struct phx_run_as){.uid = pw.pw_uid, .gid = pw.pw_gid};
	return 0;
}

int runner_spawn(const struct phx_config *cfg, int *ret_fd, struct phx_err *err)
{
	const char *argv[RUNNER_ARGS_MAX + 1] = {"/proc/self/exe", "--runner", cfg->slurm_dir};
	size_t n = RUNNER_ARGS_MIN;
	struct phx_run_as as;
	const struct phx_launch how = {.argv = argv, .as = &as};
	struct phx_process p;
	PHX_LIST_EACH(struct phx_word, w, &cfg->slurm_paths)
		if (n < RUNNER_ARGS_MAX)
			argv[n++] = w->text;
	int r = find_user(cfg->engine_user, &as, err);
	r = r ? r : head_user_refuse(cfg, as.uid, err);
	r = r ? r : phx_apart_spawn(&how, "the runner", &p, ret_fd, err);
	if (r == 0)
		phx_apart_collect_later(&p);
	return r;
}

/* ---- the runner ---- */

/* The configuration, then the command's words, each with its '\0'. */
static int words_of(const struct phx_apart_question *q, const char *ret[WORDS_MAX + 1])
{
	size_t n = 0;
	const char *end = q->body + q->n;
	for (const char *at = q->body; at < end && n < WORDS_MAX; at += strlen(at) + 1)
		ret[n++] = at;
	ret[n] = NULL;
	return n < 2 || n == WORDS_MAX || end[-1] ? -EPROTO : 0;
}

static int answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		  struct phx_err *err)
{
	const char *words[WORDS_MAX + 1];
	PHX_AUTO(phx_run_result_fini) struct phx_run_result out = {0};
	struct phx_slurm slurm = {.as = {.uid = geteuid(), .gid = getegid()},
				  .timeout_ms = COMMAND_MS};
	(void)arg;
	int r = q->op == RUN ? words_of(q, words) : -ENOSYS;
	if (r < 0)
		return r;
	slurm.conf = words[0];
	r = phx_slurm_run(&slurm, words + 1, &out, err);
	if (r == 0)
		phx_buf_add(&ret->body, out.out, strlen(out.out) + 1);
	return r;
}

/* ---- what it sees ---- */

enum {
	READ = PHX_CONFINE_READ | PHX_CONFINE_IF_THERE,
	RUN_THERE = READ | PHX_CONFINE_EXEC,
	ALL = RUN_THERE | PHX_CONFINE_WRITE | PHX_CONFINE_DIRS,
	PATHS_MAX = 80,
};

/* What Slurm's commands need of a system: themselves and their plugins, names of users and hosts,
 * their configuration and munge's socket. */
static const struct phx_confine_path of_system[] = {
	{"/usr", RUN_THERE},
	{"/bin", RUN_THERE},
	{"/sbin", RUN_THERE},
	{"/lib", RUN_THERE},
	{"/lib32", RUN_THERE},
	{"/lib64", RUN_THERE},
	{"/opt", RUN_THERE},
	{"/etc", READ},
	{"/run", READ},
	{"/var/lib/sss", READ},
	{"/proc", READ},
	{"/sys", READ},
	{"/dev/null", READ | PHX_CONFINE_WRITE},
	{"/dev/urandom", READ},
};

/* Where commands are looked for: directories that the user can get to. Cuts `path` into them. */
static size_t add_programs(struct phx_confine_path *paths, size_t n, char *path)
{
	for (char *dir; (dir = strsep(&path, ":"));)
		if (dir[0] == '/' && n < PATHS_MAX && access(dir, X_OK) == 0)
			paths[n++] = (struct phx_confine_path){dir, RUN_THERE};
	return n;
}

static int confine(char **argv, struct phx_err *err)
{
	struct phx_confine_path paths[PATHS_MAX];
	size_t n = PHX_ARRAY_SIZE(of_system);
	const char *path = getenv("PATH");
	PHX_AUTO_FREE char *dirs = strdup(path ? path : "");
	if (!dirs)
		return -ENOMEM;
	memcpy(paths, of_system, sizeof(of_system));
	paths[n++] = (struct phx_confine_path){argv[2], READ};
	for (char **own = argv + RUNNER_ARGS_MIN; *own; own++)
		paths[n++] = (struct phx_confine_path){*own, ALL};
	const struct phx_confine c = {.what = "the runner",
				      .user = "",
				      .paths = paths,
				      .n_paths = add_programs(paths, n, dirs),
				      .calls = PHX_CALLS_runner};
	return phx_confine_self(&c, err);
}

int runner_run(char **argv)
{
	const struct phx_apart_server server = {.body_max = BODY_MAX, .answer = answer};
	struct phx_err err = {0};
	phx_apart_deaf();
	int r = geteuid() == 0 ? phx_err_set(&err, -EPERM, "the runner is never root")
			       : confine(argv, &err);
	if (r < 0) {
		fprintf(stderr, "phxd: %s\n", err.text);
		return 1;
	}
	return phx_apart_serve(STDIN_FILENO, &server) == -EPIPE ? 0 : 1;
}

/* ---- who asks ---- */

int runner_new(int fd, struct phx_apart **ret)
{
	const struct phx_apart_config config = {
		.what = "the runner", .answer_ms = ANSWER_MS, .body_max = BODY_MAX};
	return phx_apart_take(&config, fd, ret);
}

int runner_ask(void *runner, const char *conf, const char *const *argv, struct phx_run_result *ret,
	       struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf words = {0};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	phx_buf_add(&words, conf, strlen(conf) + 1);
	for (size_t i = 0; argv[i]; i++)
		phx_buf_add(&words, argv[i], strlen(argv[i]) + 1);
	if (words.failed)
		return -ENOMEM;
	const struct phx_apart_question q = {.op = RUN, .body = words.data, .n = (uint32_t)words.n};
	int r = phx_apart_ask(runner, &q, 0, &reply, err);
	if (r < 0)
		return r;
	*ret = (struct phx_run_result){.out = strndup(reply.body.data, reply.body.n),
				       .errout = strdup("")};
	if (ret->out && ret->errout)
		return 0;
	phx_run_result_fini(ret);
	return -ENOMEM;
}
