/* Trees are removed whole, whatever somebody put there, and nothing beside them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/tree.h"
#include "base/util.h"

struct place {
	char dir[64];
	int fd;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	strcpy(p->dir, "/tmp/phx-tree-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	assert_int_equal(mkdirat(p->fd, "tree", 0700), 0);
	assert_int_equal(mkdirat(p->fd, "beside", 0700), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	close(p->fd);
	assert_int_equal(phx_dir_remove(p->dir, NULL), 0);
	free(p);
	return 0;
}

static void put(const struct place *p, const char *name)
{
	int fd = openat(p->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
}

static bool is_there(const struct place *p, const char *name)
{
	struct stat st;
	return fstatat(p->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void gone(const struct place *p)
{
	struct phx_err err = {0};
	if (phx_tree_remove(p->fd, "tree", &err) < 0)
		fail_msg("%s", err.text);
	assert_false(is_there(p, "tree"));
	assert_int_equal(phx_tree_remove(p->fd, "tree", NULL), 0); /* twice */
}

static void test_kinds(void **state)
{
	const struct place *p = *state;
	put(p, "beside/kept");
	put(p, "tree/file");
	put(p, "tree/-rf *\n\xff");
	assert_int_equal(mkdirat(p->fd, "tree/a", 0), 0);
	assert_int_equal(mkdirat(p->fd, "tree/.phx-0", 0700), 0); /* the name that is taken first */
	put(p, "tree/.phx-0/file");
	assert_int_equal(mkdirat(p->fd, "tree/.phx-0/a", 0700), 0);
	assert_int_equal(symlinkat("../beside", p->fd, "tree/link"), 0);
	assert_int_equal(symlinkat("../../beside", p->fd, "tree/.phx-0/link"), 0);
	assert_int_equal(symlinkat("loop", p->fd, "tree/loop"), 0);
	assert_int_equal(mkfifoat(p->fd, "tree/fifo", 0600), 0);
	assert_int_equal(mknodat(p->fd, "tree/socket", S_IFSOCK | 0600, 0), 0);
	assert_int_equal(linkat(p->fd, "beside/kept", p->fd, "tree/hard", 0), 0);
	gone(p);
	assert_true(is_there(p, "beside/kept"));
}

static void test_what_is_no_directory(void **state)
{
	const struct place *p = *state;
	put(p, "beside/kept");
	assert_int_equal(unlinkat(p->fd, "tree", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("beside", p->fd, "tree"), 0);
	gone(p);
	assert_true(is_there(p, "beside/kept"));
}

/* Deeper than descriptors, paths and stacks go. */
/* Deeper than a stack or a table of descriptors bears. */
static void dig(const struct place *p)
{
	enum { DEPTH = 5000 };
	mkdirat(p->fd, "tree", 0700);
	int at = openat(p->fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < DEPTH; i++) {
		assert_int_equal(mkdirat(at, "deeper", 0700), 0);
		int below = openat(at, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		close(at);
		at = below;
	}
	close(openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(at);
}

static int remove_it(const struct place *p)
{
	return phx_tree_remove(p->fd, "tree", NULL);
}

static int remove_its_path(const struct place *p)
{
	PHX_AUTO_FREE char *path = phx_path("%s/tree/", p->dir);
	return phx_dir_remove(path, NULL);
}

/* In a process of its own, which may have 32 descriptors and 256 KiB of stack. */
static void with_little(const struct place *p, int (*act)(const struct place *p))
{
	const struct rlimit files = {32, 32}, stack = {256 << 10, 256 << 10};
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_STACK, &stack) < 0 ||
		      act(p) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(is_there(p, "tree"));
}

static void test_depth(void **state)
{
	const struct place *p = *state;
	dig(p);
	with_little(p, remove_it);
	dig(p);
	with_little(p, remove_its_path);
}

/* What stays, for something is mounted in it, is root's by then: whoever had it adds nothing. */
static void test_its_owner_adds_nothing(void **state)
{
	const struct place *p = *state;
	PHX_AUTO_FREE char *path = phx_path("%s/tree", p->dir);
	PHX_AUTO_FREE char *mounted = phx_path("%s/tree/a", p->dir);
	struct stat st;
	assert_int_equal(mkdirat(p->fd, "tree/a", 0777), 0);
	assert_int_equal(fchownat(p->fd, "tree", 65534, 65534, 0), 0);
	assert_int_equal(fchmodat(p->fd, "tree", 0777, 0), 0);
	if (geteuid() != 0 || mount("none", mounted, "tmpfs", 0, NULL) < 0)
		skip();
	assert_int_equal(phx_dir_remove(path, NULL), -EXDEV);
	assert_int_equal(umount(mounted), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(phx_dir_remove(path, NULL), 0);
}

static bool lock(const struct place *p, const char *name, int flag)
{
	int flags = 0, fd = openat(p->fd, name, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	bool done = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 &&
		(flags |= flag, ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0);
	close(fd);
	return done;
}

/* tmpfs of old kernels has no such flags, and who is not root may not. */
static void test_flags(void **state)
{
	const struct place *p = *state;
	assert_int_equal(mkdirat(p->fd, "tree/a", 0700), 0);
	put(p, "tree/a/file");
	put(p, "tree/log");
	if (!lock(p, "tree/a/file", FS_IMMUTABLE_FL)) {
		print_message("no such flags here\n");
		return;
	}
	assert_true(lock(p, "tree/a", FS_IMMUTABLE_FL));
	assert_true(lock(p, "tree/log", FS_APPEND_FL));
	assert_true(lock(p, "tree", FS_IMMUTABLE_FL));
	gone(p);
}

/* In a child with mounts of its own: 0, or what went wrong. */
static int among_mounts(const struct place *p)
{
	char beside[128], at[128], file[160], over[160], top[128];
	snprintf(beside, sizeof(beside), "%s/beside", p->dir);
	snprintf(at, sizeof(at), "%s/tree/a/mount", p->dir);
	snprintf(top, sizeof(top), "%s/tree/mount", p->dir);
	snprintf(file, sizeof(file), "%s/beside/kept", p->dir);
	snprintf(over, sizeof(over), "%s/tree/a/over", p->dir);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 77;
	if (mount(beside, top, NULL, MS_BIND, NULL) < 0 ||
	    mount(beside, at, NULL, MS_BIND, NULL) < 0 ||
	    mount("tmpfs", at, "tmpfs", 0, NULL) < 0 || mount(file, over, NULL, MS_BIND, NULL) < 0)
		return 2;
	/* what was opened before is of the mounts of before */
	int fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return phx_tree_remove(fd, "tree", NULL) < 0 ? 3 : is_there(p, "tree") ? 4 : 0;
}

/* Of another file system, of the same one, over each other, over a file. */
static void test_mounts(void **state)
{
	const struct place *p = *state;
	int status;
	put(p, "beside/kept");
	assert_int_equal(mkdirat(p->fd, "tree/a", 0700), 0);
	assert_int_equal(mkdirat(p->fd, "tree/a/mount", 0700), 0);
	assert_int_equal(mkdirat(p->fd, "tree/mount", 0700), 0);
	put(p, "tree/a/over");
	pid_t pid = fork();
	if (pid == 0)
		_exit(among_mounts(p));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("no mounts of our own here\n");
		return;
	}
	assert_int_equal(status, 0);
	assert_true(is_there(p, "beside/kept"));
}

static void test_no_path(void **state)
{
	const struct place *p = *state;
	static const char *const names[] = {"", ".", "..", "tree/../beside", "/tmp", "tree/"};
	put(p, "beside/kept");
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		assert_int_equal(phx_tree_remove(p->fd, names[i], NULL), -EINVAL);
	assert_true(is_there(p, "beside/kept"));
	assert_true(is_there(p, "tree"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(test_kinds),  TEST(test_what_is_no_directory),
					   TEST(test_depth),  TEST(test_its_owner_adds_nothing),
					   TEST(test_flags),  TEST(test_mounts),
					   TEST(test_no_path)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
