/* See runner.h. Started by launcher_answer.c, through main.c; asked by slurm.c. */
#include "phxd/runner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apart/calls.h"
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
	static const char *const argv[] = {"/proc/self/exe", "--runner", NULL};
	struct phx_run_as as;
	const struct phx_launch how = {.argv = argv, .as = &as};
	struct phx_process p;
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

int runner_run(void)
{
	const struct phx_apart_server server = {.body_max = BODY_MAX, .answer = answer};
	struct phx_err err = {0};
	phx_apart_deaf();
	int r = geteuid() == 0 ? phx_err_set(&err, -EPERM, "the runner is never root")
			       : phx_calls_keep(PHX_CALLS_runner, "the runner", &err);
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
