/* Programs known by pid and start time: found, ended, never confused. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/tree.h"
#include "phx-lab/proc.c" /* part of a program, not of the library */

static char dir[] = "/tmp/phx-lab-proc.XXXXXX";
static char pid_file[64], log_file[64];

static int setup(void **state)
{
	(void)state;
	const char *d = mkdtemp(dir);
	snprintf(pid_file, sizeof(pid_file), "%s/p.pid", d);
	snprintf(log_file, sizeof(log_file), "%s/p.log", d);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

static int run(const char *const *argv, struct phx_err *err)
{
	const struct lab_program p = {
		.argv = argv, .pid_file = pid_file, .log_file = log_file, .work_dir = dir};
	phx_err_clear(err);
	return lab_start(&p, err);
}

static void is_started_found_and_ended(void **state)
{
	(void)state;
	struct phx_err err = {0};
	assert_int_equal(run((const char *const[]){"sleep", "60", NULL}, &err), 0);
	int pid = phx_process_noted(pid_file);
	assert_true(pid > 0);
	assert_int_equal(phx_process_end_noted(pid_file, false, 2000, &err), 0);
	assert_int_equal(phx_process_noted(pid_file), 0);
	assert_int_equal(access(pid_file, F_OK), -1);
	assert_int_equal(phx_process_since(pid), 0);
}

static void deaf_programs_are_killed(void **state)
{
	(void)state;
	struct phx_err err = {0};
	assert_int_equal(
		run((const char *const[]){"sh", "-c",
					  "trap '' TERM; echo ready; while :; do sleep 1; done",
					  NULL},
		    &err),
		0);
	int pid = phx_process_noted(pid_file);
	PHX_AUTO_FREE char *log = NULL;
	size_t n = 0;
	for (int i = 0; i < 100 && !n; i++) {
		free(PHX_TAKE(log));
		phx_sleep_ms(20);
		assert_int_equal(phx_file_read(log_file, 1024, &log, &n, NULL), 0);
	}
	assert_int_equal(phx_process_end_noted(pid_file, false, 100, &err), 0);
	assert_int_equal(phx_process_since(pid), 0);
}

static void a_pid_used_again_is_not_ours(void **state)
{
	(void)state;
	struct phx_err err = {0};
	char text[64];
	/* our own pid with another start time: as if the pid had been given away since */
	int n = snprintf(text, sizeof(text), "%d %llu\n", getpid(),
			 (unsigned long long)phx_process_since(getpid()) + 1);
	assert_int_equal(phx_file_write(pid_file, text, (size_t)n, 0644, NULL), 0);
	assert_int_equal(phx_process_noted(pid_file), 0);
	assert_int_equal(phx_process_end_noted(pid_file, false, 100, &err),
			 0); /* and we are still here */
}

static void broken_pid_files_name_nobody(void **state)
{
	(void)state;
	static const char *const texts[] = {"",       "x",     "1",
					    "-1 5\n", "0 0\n", "99999999999999999999 1\n"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++) {
		assert_int_equal(phx_file_write(pid_file, texts[i], strlen(texts[i]), 0644, NULL),
				 0);
		assert_int_equal(phx_process_noted(pid_file), 0);
	}
	unlink(pid_file);
	assert_int_equal(phx_process_noted(pid_file), 0);
	assert_int_equal(phx_process_end_noted(pid_file, false, 100, NULL), 0);
}

static void what_cannot_start_says_why(void **state)
{
	(void)state;
	struct phx_err err = {0};
	assert_int_equal(run((const char *const[]){"no-such-program-at-all", NULL}, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no-such-program-at-all"));
	assert_int_equal(access(pid_file, F_OK), -1);
	const struct lab_program p = {.argv = (const char *const[]){"true", NULL},
				      .pid_file = pid_file,
				      .log_file = log_file,
				      .netns = "no-such-netns"};
	phx_err_clear(&err);
	assert_int_equal(lab_start(&p, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_started_found_and_ended),
		cmocka_unit_test(deaf_programs_are_killed),
		cmocka_unit_test(a_pid_used_again_is_not_ours),
		cmocka_unit_test(broken_pid_files_name_nobody),
		cmocka_unit_test(what_cannot_start_says_why),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
