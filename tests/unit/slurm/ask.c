/* Whose configuration Slurm's commands run with, and whose rights they have: programs that stand
 * for them are run as the daemon runs the real ones, and write down what they are. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "slurm/slurm.h"

enum { NOBODY = 65534 };

struct place {
	char dir[64], conf[128], log[128];
};

static void put(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(phx_file_write(path, text, strlen(text), mode, NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static int setup(void **state)
{
	static struct place p;
	strcpy(p.dir, "/tmp/phx-slurm.XXXXXX");
	assert_non_null(mkdtemp(p.dir));
	assert_int_equal(chmod(p.dir, 0755), 0);
	snprintf(p.conf, sizeof(p.conf), "%s/queue.conf", p.dir);
	snprintf(p.log, sizeof(p.log), "%s/log", p.dir);
	put(p.conf, "", 0644);
	*state = &p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[96];
	snprintf(command, sizeof(command), "rm -r %s", p->dir);
	return system(command);
}

/* ---- whose configuration ---- */

static void test_names_and_paths(void **state)
{
	char path[PATH_MAX];
	(void)state;
	phx_slurm_conf_path("/etc/phoenix/slurm", "queue", path);
	assert_string_equal(path, "/etc/phoenix/slurm/queue.conf");
	phx_slurm_conf_path("/etc/phoenix/slurm", "", path);
	assert_string_equal(path, PHX_SLURM_CONF_DEFAULT);
	phx_slurm_conf_path("/etc/phoenix/slurm", "/home/mallory/evil.conf", path);
	assert_string_equal(path, "/etc/phoenix/slurm/evil.conf");
	phx_slurm_conf_path("/etc/phoenix/slurm", PHX_SLURM_CONF_DEFAULT, path);
	assert_string_equal(path, PHX_SLURM_CONF_DEFAULT);
}

static int find(const char *path, char *ret_real, struct phx_err *err)
{
	phx_err_clear(err);
	return phx_slurm_conf_find(path, ret_real, err);
}

static void test_conf_is_root_s(void **state)
{
	struct place *p = *state;
	struct phx_err err = {0};
	char real[PATH_MAX] = "untouched", missing[160];
	snprintf(missing, sizeof(missing), "%s/none.conf", p->dir);
	assert_int_equal(find(missing, real, &err), -ENOENT);
	assert_int_equal(find(p->dir, real, &err), -EPERM);
	assert_non_null(strstr(err.text, "regular file"));
	chmod(p->conf, 0666);
	assert_int_equal(find(p->conf, real, &err), -EPERM);
	chmod(p->conf, 0664);
	assert_int_equal(find(p->conf, real, &err), -EPERM);
	assert_non_null(strstr(err.text, "written by others"));
	chmod(p->conf, 0644);
	chmod(p->dir, 0777);
	assert_int_equal(find(p->conf, real, &err), -EPERM);
	assert_non_null(strstr(err.text, p->dir));
	assert_string_equal(real, "untouched");
	chmod(p->dir, 0755);
	assert_int_equal(find(p->conf, real, &err), 0);
	assert_string_equal(real, p->conf);
}

static void test_conf_of_another(void **state)
{
	struct place *p = *state;
	struct phx_err err = {0};
	char real[PATH_MAX];
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(p->conf, NOBODY, NOBODY), 0);
	assert_int_equal(find(p->conf, real, &err), -EPERM);
	assert_non_null(strstr(err.text, "not root's"));
	assert_int_equal(chown(p->conf, 0, 0), 0);
	assert_int_equal(chown(p->dir, NOBODY, 0), 0);
	assert_int_equal(find(p->conf, real, &err), -EPERM);
	assert_int_equal(chown(p->dir, 0, 0), 0);
	assert_int_equal(find(p->conf, real, &err), 0);
}

/* A link of another's may be renamed at any moment: what it led to is checked, and that is what the
 * commands are given. */
static void test_links_are_followed_once(void **state)
{
	struct place *p = *state;
	struct phx_err err = {0};
	char other[96], link[128], real[PATH_MAX];
	snprintf(other, sizeof(other), "%s/theirs", p->dir);
	snprintf(link, sizeof(link), "%s/slurm.conf", other);
	assert_int_equal(mkdir(other, 0777), 0);
	assert_int_equal(chmod(other, 0777), 0);
	assert_int_equal(symlink(p->conf, link), 0);
	assert_int_equal(phx_slurm_conf_find(link, real, &err), 0);
	assert_string_equal(real, p->conf);
}

/* ---- whose rights ---- */

static void put_program(const struct place *p, const char *name)
{
	char path[128], text[512];
	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	snprintf(text, sizeof(text),
		 "#!/bin/sh\necho \"%s $*\" >>%s\n(id -u; id -G; grep NoNewPrivs /proc/self/status "
		 "| tr -d '\\t'; echo $SLURM_CONF; "
		 "echo secret=$PHX_SECRET; echo $PWD) >>%s\n",
		 name, p->log, p->log);
	put(path, text, 0755);
}

static void expect_log(const struct place *p, const char *command)
{
	PHX_AUTO_FREE char *text = NULL;
	char expected[512];
	size_t n;
	assert_int_equal(phx_file_read(p->log, 1 << 16, &text, &n, NULL), 0);
	snprintf(expected, sizeof(expected), "%s\n%d\n%d\nNoNewPrivs:1\n%s\nsecret=\n/\n", command,
		 NOBODY, NOBODY, p->conf);
	assert_string_equal(text, expected);
	put(p->log, "", 0666);
}

static void test_commands_are_not_root_s(void **state)
{
	struct place *p = *state;
	struct phx_err err = {0};
	struct phx_slurm slurm = {.conf = p->conf, .as = {NOBODY, NOBODY}, .timeout_ms = 20000};
	struct phx_engine_order order = {.kind = PHX_ENGINE_REQUEUE, .target = "7"};
	char path[4096], was[2048];
	if (geteuid() != 0)
		skip();
	put_program(p, "scontrol");
	put_program(p, "scancel");
	put(p->log, "", 0666);
	snprintf(was, sizeof(was), "%s", getenv("PATH"));
	snprintf(path, sizeof(path), "%s:%s", p->dir, was);
	setenv("PATH", path, 1);
	setenv("PHX_SECRET", "of the daemon", 1);
	assert_int_equal(phx_slurm_tell(&slurm, &order, &err), 0);
	expect_log(p, "scontrol requeue 7");
	order.kind = PHX_ENGINE_CANCEL;
	assert_int_equal(phx_slurm_tell(&slurm, &order, &err), 0);
	expect_log(p, "scancel 7");
	slurm.as = (struct phx_run_as){0};
	assert_int_equal(phx_slurm_tell(&slurm, &order, &err), -EPERM);
	assert_non_null(strstr(err.text, "never run as root"));
	setenv("PATH", was, 1);
	unsetenv("PHX_SECRET");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names_and_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conf_is_root_s, setup, teardown),
		cmocka_unit_test_setup_teardown(test_conf_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_are_followed_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_commands_are_not_root_s, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
