/* What is left to a process that has given up its rights, seen from inside: each case is a process
 * of its own, whose exit status is a bit for each thing that it found open. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apart/confine.h"
#include "base/file.h"
#include "base/tree.h"

static char dir[64], seen[96], hidden[96], run[96];

static int setup(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-confine.XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0700) < 0)
		return -1;
	snprintf(seen, sizeof(seen), "%s/seen", dir);
	snprintf(hidden, sizeof(hidden), "%s/hidden", dir);
	snprintf(run, sizeof(run), "%s/run", dir);
	return mkdir(seen, 0700) < 0 || phx_file_write(hidden, "x", 1, 0644, NULL) < 0 ||
			phx_file_write(run, "#!/bin/true\n", 12, 0755, NULL) < 0
		? -1
		: 0;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

/* 255: could not be confined. */
static int in_child(const struct phx_confine *c, int (*look)(void))
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(phx_confine_self(c, NULL) < 0 ? 255 : look());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static bool can_make(const char *name)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", seen, name);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	return fd >= 0 && write(fd, "y", 1) == 1 && close(fd) == 0 && unlink(path) == 0;
}

static bool can_mkdir(void)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/d", seen);
	return mkdir(path, 0700) == 0 && rmdir(path) == 0;
}

static bool can_run(const char *path)
{
	int status = -1;
	pid_t pid = fork();
	if (pid == 0) {
		execl(path, path, NULL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static int look_at_files(void)
{
	struct rlimit core;
	return (open(seen, O_RDONLY | O_DIRECTORY) >= 0 ? 1 : 0) | (can_make("f") ? 2 : 0) |
		(can_mkdir() ? 4 : 0) | (open(hidden, O_RDONLY) >= 0 ? 8 : 0) |
		(can_run("/bin/true") ? 16 : 0) | (can_run(run) ? 32 : 0) |
		(getrlimit(RLIMIT_CORE, &core) < 0 || core.rlim_max ? 64 : 0);
}

#define READ_EXEC (PHX_CONFINE_READ | PHX_CONFINE_EXEC)
#define SYSTEM \
	{"/usr", READ_EXEC}, {"/lib", READ_EXEC}, {"/lib64", READ_EXEC}, \
	{ \
		"/bin", READ_EXEC \
	}

static int with_rights(unsigned rights)
{
	const struct phx_confine_path paths[] = {{seen, rights}, SYSTEM};
	const struct phx_confine c = {.what = "it",
				      .user = "",
				      .paths = paths,
				      .n_paths = PHX_ARRAY_SIZE(paths),
				      .calls = PHX_CALLS_hands};
	return in_child(&c, look_at_files);
}

static void paths_have_the_rights_of_their_row(void **state)
{
	(void)state;
	assert_int_equal(with_rights(PHX_CONFINE_READ), 1 | 16);
	assert_int_equal(with_rights(PHX_CONFINE_READ | PHX_CONFINE_WRITE), 1 | 2 | 16);
	assert_int_equal(with_rights(PHX_CONFINE_READ | PHX_CONFINE_DIRS), 1 | 4 | 16);
}

static void a_file_may_have_a_row(void **state)
{
	const struct phx_confine_path paths[] = {
		{hidden, PHX_CONFINE_READ | PHX_CONFINE_WRITE | PHX_CONFINE_DIRS},
		{run, READ_EXEC},
		{"/nonexistent", PHX_CONFINE_READ | PHX_CONFINE_IF_THERE},
		SYSTEM};
	struct phx_confine c = {.what = "it",
				.user = "",
				.paths = paths,
				.n_paths = PHX_ARRAY_SIZE(paths),
				.calls = PHX_CALLS_hands};
	const struct phx_confine_path missing[] = {{"/nonexistent", PHX_CONFINE_READ}};
	(void)state;
	assert_int_equal(in_child(&c, look_at_files), 8 | 16 | 32);
	/* what must be there and is not */
	c.paths = missing;
	c.n_paths = 1;
	assert_int_equal(in_child(&c, look_at_files), 255);
}

/* ---- calls ---- */

static int look_at_calls(void)
{
	return (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 1 : 0) | (getppid() > 0 ? 2 : 0) |
		(umask(0) != (mode_t)-1 ? 4 : 0);
}

static void calls_of_its_groups_alone(void **state)
{
	const struct phx_confine_path paths[] = {{seen, PHX_CONFINE_READ}};
	struct phx_confine c = {
		.what = "it", .user = "", .paths = paths, .n_paths = 1, .calls = PHX_CALLS_base};
	(void)state;
	assert_int_equal(in_child(&c, look_at_calls), 2);
	c.calls |= PHX_CALLS_change;
	assert_int_equal(in_child(&c, look_at_calls), 2 | 4);
	c.calls |= PHX_CALLS_connect;
	assert_int_equal(in_child(&c, look_at_calls), 1 | 2 | 4);
}

/* ---- its user ---- */

static int given(const void *arg, const struct passwd *pw, struct phx_err *err)
{
	return phx_confine_give_dir(arg, pw, err);
}

/* Of files in `seen`, which was given to it, and beside it. */
static int look_at_user(void)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/secret", seen);
	return (geteuid() == 0 ? 1 : 0) | (open(hidden, O_RDWR) >= 0 ? 2 : 0) |
		(can_make("f") ? 4 : 0) | (open(path, O_RDONLY) >= 0 ? 8 : 0) |
		(socket(AF_PACKET, SOCK_DGRAM, 0) >= 0 ? 16 : 0) |
		(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE) ? 32 : 0);
}

static void it_becomes_its_user_and_keeps_what_is_named(void **state)
{
	const struct phx_confine_path paths[] = {{seen, PHX_CONFINE_READ | PHX_CONFINE_WRITE}};
	struct phx_confine c = {.what = "it",
				.user = "nobody",
				.paths = paths,
				.n_paths = 1,
				.calls = PHX_CALLS_hands};
	char path[128];
	struct stat st;
	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(path, sizeof(path), "%s/secret", seen);
	assert_int_equal(phx_file_write(path, "s", 1, 0600, NULL), 0);
	chmod(dir, 0755);
	assert_int_equal(in_child(&c, look_at_user), 0);
	/* what root alone may read, beneath the rules alone */
	c.caps_beneath = 1ull << CAP_DAC_READ_SEARCH;
	assert_int_equal(in_child(&c, look_at_user), 8);
	c.caps_beneath = 0;
	c.caps = 1ull << CAP_NET_RAW;
	assert_int_equal(in_child(&c, look_at_user), 16);
	c.caps = 0;
	c.give = given;
	c.arg = seen;
	assert_int_equal(in_child(&c, look_at_user), 4 | 8);
	assert_int_equal(stat(path, &st), 0);
	assert_int_not_equal(st.st_uid, 0);
	/* whom a directory above shuts out is told so; and who is not there is not root instead */
	chmod(dir, 0700);
	assert_int_equal(in_child(&c, look_at_user), 255);
	chmod(dir, 0755);
	c.user = "phx-no-such-user";
	assert_int_equal(in_child(&c, look_at_user), 255);
}

static int look_at_program(void)
{
	return can_run(run);
}

static void its_programs_have_what_is_passed_on(void **state)
{
	static const char script[] =
		"#!/bin/sh\nexec grep -q '^CapEff:.0000000000000400$' /proc/self/status\n";
	const struct phx_confine_path paths[] = {
		{run, READ_EXEC}, {"/proc", PHX_CONFINE_READ}, SYSTEM};
	struct phx_confine c = {.what = "it",
				.user = "nobody",
				.caps = 1ull << CAP_NET_RAW | 1ull << CAP_NET_BIND_SERVICE,
				.caps_on = 1ull << CAP_NET_BIND_SERVICE,
				.paths = paths,
				.n_paths = PHX_ARRAY_SIZE(paths),
				.calls = PHX_CALLS_hands};
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(phx_file_write(run, script, sizeof(script) - 1, 0755, NULL), 0);
	chmod(dir, 0755);
	assert_int_equal(in_child(&c, look_at_program), 1);
	/* what it does not keep itself it passes to nobody */
	c.caps = 1ull << CAP_NET_RAW;
	assert_int_equal(in_child(&c, look_at_program), 0);
	c.caps |= 1ull << CAP_NET_BIND_SERVICE;
	c.caps_on = 0;
	assert_int_equal(in_child(&c, look_at_program), 0);
}

static void what_is_given_does_not_follow_links(void **state)
{
	struct passwd pw = {.pw_name = (char *)"nobody", .pw_uid = 65534, .pw_gid = 65534};
	char path[128];
	struct stat st;
	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(path, sizeof(path), "%s/link", seen);
	assert_int_equal(symlink(hidden, path), 0);
	assert_int_equal(phx_confine_give_dir(seen, &pw, NULL), 0);
	assert_int_equal(stat(hidden, &st), 0);
	assert_int_equal(st.st_uid, 0);
	snprintf(path, sizeof(path), "%s/second-name", seen);
	assert_int_equal(link(hidden, path), 0);
	assert_int_equal(phx_confine_give_dir(seen, &pw, NULL), 0);
	assert_int_equal(stat(hidden, &st), 0);
	assert_int_equal(st.st_uid, 0);
	snprintf(path, sizeof(path), "%s/link", seen);
	assert_int_equal(phx_confine_give_dir(path, &pw, NULL), -ENOTDIR);
}

/* Root, and what root starts: bits for what is more than was to be kept. */
static int caps_left(void)
{
	char line[128];
	uint64_t all = ~0ull, left = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t set = 0;
		if (sscanf(line, "CapPrm: %" SCNx64, &set) == 1 ||
		    sscanf(line, "CapEff: %" SCNx64, &set) == 1 ||
		    sscanf(line, "CapBnd: %" SCNx64, &set) == 1) {
			left |= set;
			all &= set;
		}
	}
	if (f)
		fclose(f);
	const uint64_t wanted = 1ull << CAP_KILL | 1ull << CAP_CHOWN;
	return (left & ~wanted ? 1 : 0) | (all != wanted ? 2 : 0);
}

static void root_keeps_what_it_is_left(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		struct phx_err err = {0};
		if (phx_confine_caps(1ull << CAP_KILL | 1ull << CAP_CHOWN, "it", &err) < 0)
			_exit(255);
		_exit(caps_left());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(paths_have_the_rights_of_their_row),
		TEST(a_file_may_have_a_row),
		TEST(calls_of_its_groups_alone),
		TEST(it_becomes_its_user_and_keeps_what_is_named),
		TEST(its_programs_have_what_is_passed_on),
		TEST(what_is_given_does_not_follow_links),
		TEST(root_keeps_what_it_is_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
