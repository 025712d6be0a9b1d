/* Real programs: what they get, what comes back, and that none outlives its time. */
#include "base/spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "unit/base/test_base.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static int64_t clock_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void test_output_and_status(void **state)
{
	(void)state;
	const struct phx_run run = {.argv = ARGV("sh", "-c", "echo out; echo err >&2; exit 7")};
	struct phx_run_result res = {0};
	assert_int_equal(phx_run(&run, &res, NULL), 0);
	assert_int_equal(res.status, 7);
	assert_string_equal(res.out, "out\n");
	assert_string_equal(res.errout, "err\n");
	phx_run_result_fini(&res);
	phx_run_result_fini(&res);
	assert_null(res.out);
}

/* No shell in between: arguments arrive as they are. */
static void test_arguments_are_not_interpreted(void **state)
{
	(void)state;
	const struct phx_run run = {
		.argv = ARGV("printf", "%s|", "a b", "$HOME", "`id`", ";", "", "*")};
	struct phx_run_result res = {0};
	assert_int_equal(phx_run(&run, &res, NULL), 0);
	assert_string_equal(res.out, "a b|$HOME|`id`|;||*|");
	phx_run_result_fini(&res);
}

static void test_input(void **state)
{
	(void)state;
	enum { N = 300000 }; /* more than a pipe holds, both ways at once */
	PHX_AUTO_FREE char *much = malloc(N + 1);
	memset(much, 'x', N);
	much[N] = '\0';
	const struct phx_run run = {.argv = ARGV("cat"), .input = much};
	struct phx_run_result res = {0};
	assert_int_equal(phx_run(&run, &res, NULL), 0);
	assert_int_equal(strlen(res.out), N);
	phx_run_result_fini(&res);
}

static void test_no_input_is_end_of_file(void **state)
{
	(void)state;
	const struct phx_run run = {.argv = ARGV("cat"), .timeout_ms = 5000};
	struct phx_run_result res = {0};
	assert_int_equal(phx_run(&run, &res, NULL), 0);
	assert_string_equal(res.out, "");
	phx_run_result_fini(&res);
}

/* A program that reads nothing must not kill its caller by SIGPIPE. */
static void test_input_nobody_reads(void **state)
{
	(void)state;
	enum { N = 300000 };
	PHX_AUTO_FREE char *much = malloc(N + 1);
	memset(much, 'x', N);
	much[N] = '\0';
	const struct phx_run run = {.argv = ARGV("sh", "-c", "exec <&-; sleep 0.2; echo done"),
				    .input = much};
	struct phx_run_result res = {0};
	assert_int_equal(phx_run(&run, &res, NULL), 0);
	assert_int_equal(res.status, 0);
	assert_string_equal(res.out, "done\n");
	phx_run_result_fini(&res);
}

static void test_environment(void **state)
{
	(void)state;
	setenv("PHX_TEST_KEPT", "kept", 1);
	setenv("PHX_TEST_SET", "old", 1);
	const struct phx_run run = {
		.argv = ARGV("sh", "-c", "echo $PHX_TEST_KEPT $PHX_TEST_SET"),
		.env_add = ARGV("PHX_TEST_SET=new", "PHX_TEST_MORE=1"),
	};
	struct phx_run_result res = {0};
	assert_int_equal(phx_run(&run, &res, NULL), 0);
	assert_string_equal(res.out, "kept new\n");
	assert_string_equal(getenv("PHX_TEST_SET"), "old");
	assert_null(getenv("PHX_TEST_MORE"));
	phx_run_result_fini(&res);
}

static void test_no_such_program(void **state)
{
	(void)state;
	struct phx_run_result res = {0};
	struct phx_err err = {0};
	const struct phx_run missing = {.argv = ARGV("/nosuch/program", "x")};
	assert_int_equal(phx_run(&missing, &res, &err), -ENOENT);
	assert_says(&err, "/nosuch/program: No such file");
	const struct phx_run not_executable = {.argv = ARGV("/etc/passwd")};
	assert_int_equal(phx_run(&not_executable, &res, NULL), -EACCES);
	assert_null(res.out);
}

static void test_killed_by_signal(void **state)
{
	(void)state;
	const struct phx_run run = {.argv = ARGV("sh", "-c", "kill -9 $$")};
	struct phx_run_result res = {0};
	assert_int_equal(phx_run(&run, &res, NULL), 0);
	assert_int_equal(res.status, 128 + SIGKILL);
	phx_run_result_fini(&res);
}

/* Runs too long: -ETIMEDOUT in time, and its children are gone with it. */
static void check_timeout(const char *script, int most_ms)
{
	char path[] = "/tmp/phx-spawn.XXXXXX";
	close(mkstemp(path));
	const struct phx_run run = {.argv = ARGV("sh", "-c", script, "sh", path),
				    .timeout_ms = 300};
	struct phx_run_result res = {0};
	struct phx_err err = {0};
	int64_t begin = clock_ms();
	assert_int_equal(phx_run(&run, &res, &err), -ETIMEDOUT);
	assert_true(clock_ms() - begin < most_ms);
	assert_says(&err, "sh: ");
	assert_null(res.out);
	PHX_AUTO_FREE char *pid = NULL;
	assert_int_equal(phx_file_read(path, 64, &pid, NULL, NULL), 0);
	unlink(path);
	assert_true(atoi(pid) > 0);
	for (int i = 0; i < 100 && kill(atoi(pid), 0) == 0; i++)
		usleep(10000); /* an orphan is reaped by init when it likes */
	PHX_AUTO_FREE char *stat_path = phx_path("/proc/%d/stat", atoi(pid));
	PHX_AUTO_FREE char *stat = NULL;
	if (phx_file_read(stat_path, 4096, &stat, NULL, NULL) == 0)
		assert_non_null(strstr(stat, ") Z ")); /* dead, at most not yet reaped */
}

static void test_timeout_kills_the_group(void **state)
{
	(void)state;
	check_timeout("sleep 30 & echo $! >$1; wait", 3000);
}

/* Closing its outputs does not hide a program from its timeout. */
static void test_timeout_with_closed_outputs(void **state)
{
	(void)state;
	check_timeout("echo $$ >$1; exec sleep 5 >&- 2>&-", 3000);
}

static void test_output_is_bounded(void **state)
{
	(void)state;
	const struct phx_run run = {
		.argv = ARGV("sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x; echo end >&2"),
		.output_max = 1000};
	struct phx_run_result res = {0};
	assert_int_equal(phx_run(&run, &res, NULL), 0);
	assert_int_equal(res.status, 0); /* it could write all of it */
	assert_int_equal(strlen(res.out), 1000);
	assert_string_equal(res.errout, "end\n");
	phx_run_result_fini(&res);
}

static void test_check(void **state)
{
	(void)state;
	struct phx_err err = {0};
	struct phx_run_result res = {0};
	const struct phx_run good = {.argv = ARGV("echo", "x")};
	const struct phx_run bad = {
		.argv = ARGV("sh", "-c", "echo out; echo first >&2; echo second >&2; exit 3")};
	const struct phx_run mute = {.argv = ARGV("false")};
	assert_int_equal(phx_run_check(&good, NULL, &err), 0);
	assert_int_equal(phx_run_check(&good, &res, &err), 0);
	assert_string_equal(res.out, "x\n");
	phx_run_result_fini(&res);
	assert_int_equal(phx_run_check(&bad, &res, &err), -EIO);
	assert_string_equal(err.text, "sh: exit status 3: first");
	assert_null(res.out);
	phx_err_clear(&err);
	assert_int_equal(phx_run_check(&mute, NULL, &err), -EIO);
	assert_string_equal(err.text, "false: exit status 1");
}

static int count_fds(void)
{
	int n = 0;
	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_no_descriptor_leaks(void **state)
{
	(void)state;
	struct phx_run_result res = {0};
	int before = count_fds();
	const struct phx_run good = {.argv = ARGV("sh", "-c", "ls /proc/$$/fd")};
	const struct phx_run missing = {.argv = ARGV("/nosuch")};
	PHX_AUTO_CLOSE int careless = fcntl(STDERR_FILENO, F_DUPFD, 123);
	assert_int_equal(careless, 123);
	assert_int_equal(phx_run_check(&good, &res, NULL), 0);
	assert_memory_equal(res.out, "0\n1\n", 4);
	assert_null(strstr(res.out, "123"));
	phx_run_result_fini(&res);
	assert_int_equal(phx_run(&missing, &res, NULL), -ENOENT);
	assert_int_equal(count_fds(), before + 1);
}

/* what is asked of it: uid and gid, all groups, capabilities, no_new_privs, how many variables,
 * where */
static const char who_am_i[] = "id -u; id -g; id -G; grep -E '^(CapEff|CapPrm|NoNewPrivs)' "
			       "/proc/self/status | tr -d '\\t'; "
			       "env | grep -vE '^(PWD|SHLVL|_|OLDPWD)=' | cut -d= -f1 | sort; pwd";

static void test_as_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	struct phx_run_result res = {0};
	struct phx_err err = {0};
	const struct phx_run_as nobody = {.uid = 65534, .gid = 65533};
	const char *const env[] = {"GIVEN=1", NULL};
	const struct phx_run run = {
		.argv = ARGV("sh", "-c", who_am_i), .as = &nobody, .env_add = env};
	setenv("LD_PRELOAD_SECRET", "x", 1);
	gid_t groups[] = {4, 27};
	assert_int_equal(setgroups(2, groups), 0);
	assert_int_equal(phx_run_check(&run, &res, &err), 0);
	assert_string_equal(res.out,
			    "65534\n65533\n65533\nCapPrm:0000000000000000\nCapEff:"
			    "0000000000000000\nNoNewPrivs:1\n"
			    "GIVEN\nPATH\n/\n");
	assert_int_equal(setgroups(0, NULL), 0);
	unsetenv("LD_PRELOAD_SECRET");
	phx_run_result_fini(&res);
}

/* who is not root gets no other user, and then the program does not run at all */
/* (uid_t)-1 is "as it is" for the system's calls */
static void test_as_nobody_at_all(void **state)
{
	(void)state;
	struct phx_run_result res = {0};
	const struct phx_run_as wrong[] = {{.uid = (uid_t)-1, .gid = 65534},
					   {.uid = 65534, .gid = (gid_t)-1}};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(wrong); i++) {
		const struct phx_run run = {.argv = ARGV("true"), .as = &wrong[i]};
		assert_int_equal(phx_run(&run, &res, NULL), -EPERM);
	}
}

static void test_as_one_that_cannot_be(void **state)
{
	(void)state;
	struct phx_run_result res = {0};
	const struct phx_run_as other = {.uid = 12345, .gid = 12345};
	const struct phx_run run = {.argv = ARGV("sh", "-c", "exit 0"), .as = &other};
	pid_t pid = fork();
	if (pid == 0)
		_exit((geteuid() == 0 && setresuid(65534, 65534, 65534) < 0) ||
		      phx_run(&run, &res, NULL) != -EPERM);
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_another_user),
		cmocka_unit_test(test_as_one_that_cannot_be),
		cmocka_unit_test(test_as_nobody_at_all),
		cmocka_unit_test(test_output_and_status),
		cmocka_unit_test(test_arguments_are_not_interpreted),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_no_input_is_end_of_file),
		cmocka_unit_test(test_input_nobody_reads),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_no_such_program),
		cmocka_unit_test(test_killed_by_signal),
		cmocka_unit_test(test_timeout_kills_the_group),
		cmocka_unit_test(test_timeout_with_closed_outputs),
		cmocka_unit_test(test_output_is_bounded),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_no_descriptor_leaks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
