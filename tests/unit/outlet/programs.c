/* Programs of event_dir (lib/outlet/programs.c): which are taken, which are refused and with what
 * words, and how one ends. The programs are real, small scripts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "outlet/outlet.h"

static char dir[] = "/tmp/phx-programs.XXXXXX";
static struct phx_err err;
static struct phx_list programs;

static const char *path_of(const char *name)
{
	static char path[200];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, mode_t mode, const char *text)
{
	assert_int_equal(phx_file_write(path_of(name), text, strlen(text), mode, NULL), 0);
	assert_int_equal(chmod(path_of(name), mode), 0);
}

static void forget(void)
{
	PHX_LIST_EACH(struct phx_program, p, &programs)
		phx_record_fini(&phx_program_record, p);
	phx_list_fini(&programs);
	phx_err_clear(&err);
}

static int setup(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	phx_err_clear(&err);
	return mkdtemp(dir) && chmod(dir, 0755) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	char command[100];
	(void)state;
	forget();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static const struct phx_program *list_one(void)
{
	forget();
	assert_int_equal(phx_programs_list(dir, geteuid(), &programs, &err), 0);
	assert_int_equal(programs.n, 1);
	return PHX_LIST_AT(&programs, struct phx_program, 0);
}

static void programs_are_listed_by_name(void **state)
{
	(void)state;
	put("20-mail", 0755, "#!/bin/sh\n");
	put("10-page", 0755, "#!/bin/sh\n");
	put("10-page.conf", 0644, "kinds = [ \"missing\", \"quarantine\" ]; timeout_s = 5;\n");
	put("README", 0644, "no program\n");
	put(".hidden", 0755, "#!/bin/sh\n");
	put("20-mail.conf", 0755, "timeout_s = 7;\n"); /* executable, and none all the same */
	assert_int_equal(phx_programs_list(dir, geteuid(), &programs, &err), 0);
	assert_int_equal(programs.n, 2);
	const struct phx_program *p = programs.items;
	assert_string_equal(p[0].name, "10-page");
	assert_string_equal(p[0].error, "");
	assert_int_equal(p[0].timeout_s, 5);
	assert_int_equal(p[0].kinds.n, 2);
	assert_string_equal(p[1].name, "20-mail");
	assert_int_equal(p[1].timeout_s, 7);
	assert_int_equal(p[1].kinds.n, 0);
}

static void no_directory_is_no_program(void **state)
{
	(void)state;
	assert_int_equal(phx_programs_list(path_of("none"), geteuid(), &programs, &err), 0);
	assert_int_equal(programs.n, 0);
}

static void what_others_can_change_is_refused(void **state)
{
	(void)state;
	put("it", 0775, "#!/bin/sh\n");
	assert_non_null(strstr(list_one()->error, "it"));
	assert_int_equal(phx_program_run(dir, geteuid(), "it", "{}", 5000, &err), -EPERM);
	put("it", 0755, "#!/bin/sh\n");
	assert_string_equal(list_one()->error, "");
	/* its words, too */
	put("it.conf", 0666, "timeout_s = 5;\n");
	assert_non_null(strstr(list_one()->error, "it.conf"));
	unlink(path_of("it.conf"));
	/* whose it is */
	forget();
	assert_int_equal(phx_programs_list(dir, geteuid() + 1, &programs, &err), -EPERM);
	assert_non_null(strstr(err.text, "must belong to user"));
	/* and the directory */
	assert_int_equal(chmod(dir, 0777), 0);
	forget();
	assert_int_equal(phx_programs_list(dir, geteuid(), &programs, &err), -EPERM);
	assert_non_null(strstr(err.text, dir));
	phx_err_clear(&err);
	assert_int_equal(phx_program_run(dir, geteuid(), "it", "{}", 5000, &err), -EPERM);
}

static void wrong_words_are_refused(void **state)
{
	(void)state;
	put("it", 0755, "#!/bin/sh\n");
	put("it.conf", 0644, "kinds = [ \"vanished\" ];\n");
	assert_non_null(strstr(list_one()->error, "'vanished' is no kind of event"));
	put("it.conf", 0644, "\ntimeout = 5;\n");
	assert_non_null(strstr(list_one()->error, "it.conf:2"));
	put("it.conf", 0644, "timeout_s = 1000;\n");
	assert_non_null(strstr(list_one()->error, "it.conf:1"));
}

static void too_many_are_refused(void **state)
{
	char name[20];
	(void)state;
	for (int i = 0; i <= PHX_PROGRAMS_MAX; i++) {
		snprintf(name, sizeof(name), "p%02d", i);
		put(name, 0755, "#!/bin/sh\n");
	}
	assert_int_equal(phx_programs_list(dir, geteuid(), &programs, &err), 0);
	const struct phx_program *p = programs.items;
	assert_string_equal(p[PHX_PROGRAMS_MAX - 1].error, "");
	assert_non_null(strstr(p[PHX_PROGRAMS_MAX].error, "at most"));
}

static void it_gets_the_event(void **state)
{
	char script[200];
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	(void)state;
	snprintf(script, sizeof(script), "#!/bin/sh\nexec cat >%s/got\n", dir);
	put("it", 0755, script);
	assert_int_equal(phx_program_run(dir, geteuid(), "it", "{\"seq\":1}", 5000, &err), 0);
	assert_int_equal(phx_file_read(path_of("got"), 100, &text, &n, NULL), 0);
	assert_string_equal(text, "{\"seq\":1}");
}

static void failures_have_words(void **state)
{
	(void)state;
	put("it", 0755, "#!/bin/sh\nprintf 'no \\033[2Jmail\\nmore\\n' >&2; exit 3\n");
	assert_int_equal(phx_program_run(dir, geteuid(), "it", "{}", 5000, &err), -EBADMSG);
	assert_string_equal(err.text, "it ended with status 3: no ?[2Jmail");
	phx_err_clear(&err);
	put("it", 0755, "#!/bin/sh\nkill -9 $$\n");
	assert_int_equal(phx_program_run(dir, geteuid(), "it", "{}", 5000, &err), -EBADMSG);
	assert_string_equal(err.text, "it ended with status 137");
	phx_err_clear(&err);
	assert_int_equal(phx_program_run(dir, geteuid(), "gone", "{}", 5000, &err), -ENOENT);
	phx_err_clear(&err);
	assert_int_equal(phx_program_run(dir, geteuid(), "../bin/sh", "{}", 5000, &err), -EINVAL);
	phx_err_clear(&err);
	assert_int_equal(phx_program_run(dir, geteuid(), "it.conf", "{}", 5000, &err), -EINVAL);
}

/* It has nothing against the event: it wants it later, or cannot be run. */
static void later_is_no_refusal(void **state)
{
	static const char *const scripts[] = {"#!/bin/sh\nexit 75\n",
					      "#!/bin/sh\nexec no-such-program\n",
					      "#!/bin/sh\nexec /etc/passwd\n"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(scripts); i++) {
		phx_err_clear(&err);
		put("it", 0755, scripts[i]);
		assert_int_equal(phx_program_run(dir, geteuid(), "it", "{}", 5000, &err), -EIO);
	}
	phx_err_clear(&err);
	put("it", 0755, "#!/bin/no-such-shell\n");
	assert_int_not_equal(phx_program_run(dir, geteuid(), "it", "{}", 5000, &err), -EBADMSG);
}

/* One that hangs, or never stops writing, is ended with what it started. */
static void time_is_limited(void **state)
{
	static const char *const scripts[] = {"#!/bin/sh\nsleep 600 & sleep 600\n",
					      "#!/bin/sh\nexec yes\n", "#!/bin/sh\nexec yes >&2\n"};
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(scripts); i++) {
		int64_t begun = phx_clock_ms();
		put("it", 0755, scripts[i]);
		phx_err_clear(&err);
		assert_int_equal(phx_program_run(dir, geteuid(), "it", "{}", 500, &err),
				 -ETIMEDOUT);
		assert_true(phx_clock_ms() - begun < 60000);
	}
}

/* It need not read what it is told. */
static void one_may_not_read(void **state)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf text = {0};
	(void)state;
	for (int i = 0; i < 30000; i++)
		phx_buf_addf(&text, "1234567 ");
	put("it", 0755, "#!/bin/sh\nexit 0\n");
	assert_int_equal(phx_program_run(dir, geteuid(), "it", text.data, 20000, &err), 0);
}

static void cursors_are_read_again(void **state)
{
	const struct phx_cursor c = {.journal = "0123abcd", .seq = 12345678901};
	struct phx_cursor got = {0};
	(void)state;
	assert_int_equal(phx_cursor_read(path_of("c"), &got, &err), -ENOENT);
	assert_int_equal(phx_cursor_write(path_of("c"), &c, &err), 0);
	assert_int_equal(phx_cursor_read(path_of("c"), &got, NULL), 0);
	assert_string_equal(got.journal, c.journal);
	assert_true(got.seq == c.seq);
	static const char *const bad[] = {"",
					  "{",
					  "[]",
					  "{\"journal\":\"a\"}",
					  "{\"seq\":1}",
					  "{\"journal\":\"a\",\"seq\":-1}",
					  "{\"journal\":\"a\",\"seq\":\"1\"}"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_err e = {0};
		put("c", 0644, bad[i]);
		assert_int_equal(phx_cursor_read(path_of("c"), &got, &e), -EBADMSG);
		assert_true(got.seq == c.seq && strstr(e.text, "must be"));
	}
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(programs_are_listed_by_name),
		T(no_directory_is_no_program),
		T(what_others_can_change_is_refused),
		T(wrong_words_are_refused),
		T(too_many_are_refused),
		T(it_gets_the_event),
		T(failures_have_words),
		T(later_is_no_refusal),
		T(time_is_limited),
		T(one_may_not_read),
		T(cursors_are_read_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
