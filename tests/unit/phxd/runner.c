/* The process that runs Slurm's commands (cmd/phxd/runner.c): as whom it may run, what it takes for
 * a command, and that it arrives as it was asked for. The socket between the two sides is real, and
 * the command is a fake that says how it was called. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/socket.h>

#include "phxd/runner.c" /* a part of a program, not of the library */

static struct phx_config cfg;
static struct phx_err err;
static struct phx_apart *runner;
static pthread_t thread;
static int theirs;

/* what it calls */

static int fake_refusal, fake_run_result;
static unsigned fake_n_runs;

int head_user_refuse(const struct phx_config *of, uid_t uid, struct phx_err *e)
{
	(void)of, (void)uid;
	return fake_refusal ? phx_err_set(e, fake_refusal, "that is a user of ours") : 0;
}

int phx_slurm_run(const struct phx_slurm *slurm, const char *const *argv,
		  struct phx_run_result *ret, struct phx_err *e)
{
	struct phx_buf b = {0};
	fake_n_runs++;
	assert_int_equal(slurm->as.uid, geteuid());
	assert_int_equal(slurm->timeout_ms, COMMAND_MS);
	if (fake_run_result)
		return phx_err_set(e, fake_run_result, "slurm says no");
	phx_buf_addf(&b, "%s:", slurm->conf);
	for (; *argv; argv++)
		phx_buf_addf(&b, " [%s]", *argv);
	*ret = (struct phx_run_result){.out = phx_buf_take(&b), .errout = strdup("")};
	return 0;
}

static void *serve(void *arg)
{
	const struct phx_apart_server server = {.body_max = BODY_MAX, .answer = answer};
	(void)arg;
	phx_apart_serve(theirs, &server);
	return NULL;
}

static int setup(void **state)
{
	int ends[2];
	(void)state;
	cfg = (struct phx_config){0};
	fake_refusal = fake_run_result = 0;
	fake_n_runs = 0;
	phx_err_clear(&err);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	theirs = ends[1];
	int r = runner_new(ends[0], &runner);
	return r ? r : pthread_create(&thread, NULL, serve, NULL);
}

static int teardown(void **state)
{
	(void)state;
	phx_apart_end(runner);
	pthread_join(thread, NULL);
	close(theirs);
	return 0;
}

/* ---- as whom ---- */

static void commands_run_neither_as_root_nor_as_nobody_knows_whom(void **state)
{
	struct phx_run_as as = {.uid = 77};
	int fd = -1;
	(void)state;
	assert_int_equal(find_user("root", &as, &err), -EPERM);
	assert_non_null(strstr(err.text, "is root or of root's group"));
	phx_err_clear(&err);
	assert_int_equal(find_user("phx-no-such-user", &as, &err), -ENOENT);
	assert_non_null(strstr(err.text, "there is no user 'phx-no-such-user'"));
	assert_int_equal(as.uid, 77);
	PHX_STR_SET(cfg.engine_user, "root");
	assert_int_equal(runner_spawn(&cfg, &fd, &err), -EPERM);
	assert_int_equal(fd, -1);
}

static void commands_do_not_run_as_a_user_of_our_processes(void **state)
{
	int fd = -1;
	(void)state;
	PHX_STR_SET(cfg.engine_user, "nobody");
	fake_refusal = -EPERM;
	assert_int_equal(runner_spawn(&cfg, &fd, &err), -EPERM);
	assert_string_equal(err.text, "that is a user of ours");
	assert_int_equal(fd, -1);
}

/* ---- what is asked ---- */

static void a_command_arrives_word_by_word(void **state)
{
	static const char *const argv[] = {"squeue", "-o", "a b", "", "c", NULL};
	PHX_AUTO(phx_run_result_fini) struct phx_run_result out = {0};
	(void)state;
	assert_int_equal(runner_ask(runner, "/etc/slurm.conf", argv, &out, &err), 0);
	assert_string_equal(out.out, "/etc/slurm.conf: [squeue] [-o] [a b] [] [c]");
	assert_string_equal(out.errout, "");
	assert_int_equal(out.status, 0);
}

static void what_the_command_says_comes_back_as_an_error(void **state)
{
	static const char *const argv[] = {"squeue", NULL};
	struct phx_run_result out = {0};
	(void)state;
	fake_run_result = -EIO;
	assert_int_equal(runner_ask(runner, "/etc/slurm.conf", argv, &out, &err), -EIO);
	assert_string_equal(err.text, "slurm says no");
	assert_null(out.out);
}

/* The question of somebody who has taken over the head. */
static int asked(uint32_t op, const char *body, uint32_t n)
{
	const struct phx_apart_question q = {.op = op, .body = body, .n = n};
	PHX_AUTO_REPLY struct phx_apart_reply reply = {0};
	phx_err_clear(&err);
	return phx_apart_ask(runner, &q, 0, &reply, &err);
}

static void what_is_no_command_runs_nothing(void **state)
{
	char many[2 * WORDS_MAX];
	(void)state;
	assert_int_equal(asked(RUN + 1, "conf\0squeue", 12), -ENOSYS);
	assert_int_equal(asked(RUN, "", 0), -EPROTO);
	assert_int_equal(asked(RUN, "conf", 5), -EPROTO);
	/* the last word has no end of its own */
	assert_int_equal(asked(RUN, "conf\0squeue", 11), -EPROTO);
	for (size_t i = 0; i < sizeof(many); i += 2) {
		many[i] = 'a';
		many[i + 1] = '\0';
	}
	assert_int_equal(asked(RUN, many, sizeof(many)), -EPROTO);
	assert_int_equal(fake_n_runs, 0);
	assert_int_equal(asked(RUN, many, sizeof(many) - 2), 0);
	assert_int_equal(fake_n_runs, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(commands_run_neither_as_root_nor_as_nobody_knows_whom),
		TEST(commands_do_not_run_as_a_user_of_our_processes),
		TEST(a_command_arrives_word_by_word),
		TEST(what_the_command_says_comes_back_as_an_error),
		TEST(what_is_no_command_runs_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
