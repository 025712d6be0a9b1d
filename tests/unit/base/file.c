/* Files on a real file system: limits, publishing by rename, what stays when the
 * disk is full, and a removal that follows no link and leaves no file system. */
#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/tree.h"
#include "unit/base/test_base.h"

static char dir[64];

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/phx-file.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

/* Path below the test's directory; good until 8 more were asked for. */
static const char *in_dir(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *text)
{
	assert_int_equal(phx_file_write(in_dir(name), text, strlen(text), 0644, NULL), 0);
}

static void assert_holds(const char *name, const char *text)
{
	PHX_AUTO_FREE char *data = NULL;
	assert_int_equal(phx_file_read(in_dir(name), 4096, &data, NULL, NULL), 0);
	assert_string_equal(data, text);
}

static int count_entries(const char *path)
{
	int n = 0;
	DIR *d = opendir(path);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void test_write_and_read(void **state)
{
	(void)state;
	static const char data[] = "a\0b\n";
	PHX_AUTO_FREE char *got = NULL;
	size_t n = 0;
	struct stat st;
	assert_int_equal(phx_file_write(in_dir("f"), data, 4, 0600, NULL), 0);
	assert_int_equal(phx_file_read(in_dir("f"), 100, &got, &n, NULL), 0);
	assert_int_equal(n, 4);
	assert_memory_equal(got, data, 5);
	assert_int_equal(stat(in_dir("f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	put("f", "new");
	assert_holds("f", "new");
	put("f", "");
	assert_holds("f", "");
}

/* The mode is the one asked for, whatever the umask. */
static void test_mode_and_umask(void **state)
{
	(void)state;
	struct stat st;
	mode_t old = umask(077);
	assert_int_equal(phx_file_write(in_dir("m"), "x", 1, 0644, NULL), 0);
	umask(old);
	assert_int_equal(stat(in_dir("m"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
}

static void test_read_limit(void **state)
{
	(void)state;
	char big[20000];
	memset(big, 'x', sizeof(big));
	PHX_AUTO_FREE char *got = NULL;
	size_t n = 0;
	struct phx_err err = {0};
	assert_int_equal(phx_file_write(in_dir("big"), big, sizeof(big), 0600, NULL), 0);
	assert_int_equal(phx_file_read(in_dir("big"), sizeof(big) - 1, &got, &n, &err), -EFBIG);
	assert_says(&err, "big: larger than expected");
	assert_null(got);
	assert_int_equal(n, 0);
	assert_int_equal(phx_file_read(in_dir("big"), sizeof(big), &got, &n, NULL), 0);
	assert_int_equal(n, sizeof(big));
	PHX_AUTO_FREE char *endless = NULL;
	assert_int_equal(phx_file_read("/dev/zero", 1 << 20, &endless, NULL, NULL), -EFBIG);
}

static void test_read_what_cannot_be_read(void **state)
{
	(void)state;
	PHX_AUTO_FREE char *got = NULL;
	struct phx_err err = {0};
	assert_int_equal(phx_file_read(in_dir("nosuch"), 100, &got, NULL, &err), -ENOENT);
	assert_says(&err, "nosuch: No such file");
	phx_err_clear(&err);
	assert_int_equal(phx_file_read(dir, 100, &got, NULL, &err), -EISDIR);
	assert_says(&err, dir);
	assert_null(got);
}

static void test_write_fails_and_nothing_changed(void **state)
{
	(void)state;
	struct phx_err err = {0};
	assert_int_equal(phx_file_write(in_dir("no/such/dir"), "x", 1, 0600, &err), -ENOENT);
	assert_says(&err, "no/such/dir");
	assert_int_equal(mkdir(in_dir("d"), 0755), 0);
	put("d/keep", "kept");
	int before = count_entries(dir);
	assert_int_equal(phx_file_write(in_dir("d"), "x", 1, 0600, NULL), -EISDIR);
	assert_int_equal(count_entries(dir), before); /* no temporary remains */
	assert_holds("d/keep", "kept");
}

/* A reader never sees half a file: the old inode stays whole. */
static void test_old_reader_keeps_old_file(void **state)
{
	(void)state;
	char buf[16] = "";
	put("pub", "old text");
	PHX_AUTO_CLOSE int fd = open(in_dir("pub"), O_RDONLY);
	put("pub", "new");
	assert_int_equal(read(fd, buf, sizeof(buf)), 8);
	assert_string_equal(buf, "old text");
}

static void test_temporary_is_no_link(void **state)
{
	(void)state;
	char name[64];
	put("victim", "precious");
	snprintf(name, sizeof(name), "pub2.%d.tmp", (int)gettid());
	assert_int_equal(symlink(in_dir("victim"), in_dir(name)), 0);
	assert_true(phx_file_write(in_dir("pub2"), "x", 1, 0600, NULL) < 0);
	assert_holds("victim", "precious");
}

/* A private small file system at `name`, when this user may have one. */
static void mount_small(const char *name)
{
	assert_int_equal(phx_dir_make(in_dir(name), 0755, NULL), 0);
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", in_dir(name), "tmpfs", 0, "size=64k") < 0)
		skip();
}

static void test_full_disk(void **state)
{
	(void)state;
	static const char big[256 * 1024];
	struct phx_err err = {0};
	mount_small("full");
	put("full/f", "old");
	assert_int_equal(phx_file_write(in_dir("full/f"), big, sizeof(big), 0600, &err), -ENOSPC);
	assert_says(&err, "full/f: No space left");
	assert_holds("full/f", "old");
	assert_int_equal(count_entries(in_dir("full")), 1);
	assert_int_equal(umount(in_dir("full")), 0);
}

static void test_remove_stays_on_its_file_system(void **state)
{
	(void)state;
	struct phx_err err = {0};
	mount_small("tree/mnt");
	put("tree/mnt/keep", "kept");
	assert_int_equal(phx_dir_remove(in_dir("tree"), &err), -EXDEV);
	assert_says(&err, "tree");
	assert_holds("tree/mnt/keep", "kept");
	assert_int_equal(umount(in_dir("tree/mnt")), 0);
	assert_int_equal(phx_dir_remove(in_dir("tree"), NULL), 0);
}

static void test_remove_follows_no_links(void **state)
{
	(void)state;
	struct stat st;
	assert_int_equal(phx_dir_make(in_dir("out/side"), 0755, NULL), 0);
	put("out/side/keep", "kept");
	assert_int_equal(phx_dir_make(in_dir("rm/a/b/c"), 0755, NULL), 0);
	put("rm/a/b/f", "x");
	assert_int_equal(symlink(in_dir("out"), in_dir("rm/a/link")), 0);
	assert_int_equal(symlink("/nosuch/place", in_dir("rm/dangling")), 0);
	assert_int_equal(mkfifo(in_dir("rm/fifo"), 0600), 0);
	assert_int_equal(phx_dir_remove(in_dir("rm"), NULL), 0);
	assert_int_equal(lstat(in_dir("rm"), &st), -1);
	assert_holds("out/side/keep", "kept");
	assert_int_equal(symlink(in_dir("out"), in_dir("toplink")), 0);
	assert_int_equal(phx_dir_remove(in_dir("toplink"), NULL), 0); /* the link itself */
	assert_int_equal(lstat(in_dir("toplink"), &st), -1);
	assert_holds("out/side/keep", "kept");
}

static void test_remove_missing_and_file(void **state)
{
	(void)state;
	struct stat st;
	assert_int_equal(phx_dir_remove(in_dir("nosuch"), NULL), 0);
	put("single", "x");
	assert_int_equal(phx_dir_remove(in_dir("single"), NULL), 0);
	assert_int_equal(lstat(in_dir("single"), &st), -1);
}

static void test_dir_make(void **state)
{
	(void)state;
	struct stat st;
	struct phx_err err = {0};
	assert_int_equal(phx_dir_make(in_dir("x/y//z/"), 0750, NULL), 0);
	assert_int_equal(stat(in_dir("x/y/z"), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(phx_dir_make(in_dir("x/y"), 0750, NULL), 0);
	assert_int_equal(phx_dir_make("/", 0750, NULL), 0);
	put("x/file", "x");
	assert_int_equal(phx_dir_make(in_dir("x/file"), 0750, &err), -ENOTDIR);
	assert_says(&err, "x/file: not a directory");
	assert_int_equal(phx_dir_make(in_dir("x/file/below"), 0750, NULL), -ENOTDIR);
	assert_true(phx_dir_make("", 0750, NULL) < 0);
}

static void test_write_all(void **state)
{
	(void)state;
	PHX_AUTO_CLOSE int full = open("/dev/full", O_WRONLY);
	assert_int_equal(phx_write_all(full, "x", 1), -ENOSPC);
	assert_int_equal(phx_write_all(full, "x", 0), 0);
	assert_int_equal(phx_write_all(-1, "x", 1), -EBADF);
}

static void test_close_and_path(void **state)
{
	(void)state;
	int fd = open("/dev/null", O_RDONLY);
	int copy = fd;
	phx_close_fd(&fd);
	phx_close_fd(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(fcntl(copy, F_GETFD), -1);
	PHX_AUTO_FREE char *p = phx_path("%s/%03d", "/a", 7);
	assert_string_equal(p, "/a/007");
}

/* killed by the kernel in the middle of its writing */
static void write_and_die(const char *path)
{
	static const char data[65536];
	const struct rlimit few = {4096, 4096};
	pid_t pid = fork();
	int status;
	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGXFSZ, SIG_DFL);
		setrlimit(RLIMIT_FSIZE, &few);
		phx_file_write(path, data, sizeof(data), 0600, NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static size_t count_files(const char *in)
{
	DIR *d = opendir(in);
	size_t n = 0;
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}

static void check_trusted(const char *name, int want, const char *say)
{
	struct phx_err err = {0};
	assert_int_equal(phx_file_trusted(in_dir(name), &err), want);
	assert_non_null(strstr(err.text, say));
}

/* What anybody else could change nobody trusts: the file, a directory above, a link's way. */
static void test_trusted(void **state)
{
	(void)state;
	assert_int_equal(phx_dir_make(in_dir("t/sub"), 0755, NULL), 0);
	put("t/sub/file", "x");
	assert_int_equal(symlink("sub/file", in_dir("t/link")), 0);
	check_trusted("t/sub/file", 0, "");
	check_trusted("t/link", 0, "");
	check_trusted("t/none", -ENOENT, "t/none");
	assert_int_equal(chmod(in_dir("t/sub/file"), 0664), 0);
	check_trusted("t/sub/file", -EPERM, "t/sub/file: others may change it (owner");
	assert_int_equal(chmod(in_dir("t/sub/file"), 0644), 0);
	assert_int_equal(chmod(in_dir("t/sub"), 0777), 0);
	check_trusted("t/sub/file", -EPERM, "t/sub: ");
	check_trusted("t/link", -EPERM, "t/sub: ");
	assert_int_equal(chmod(in_dir("t/sub"), 01777), 0); /* each keeps what is his */
	check_trusted("t/sub/file", 0, "");
	if (geteuid() == 0) {
		assert_int_equal(chown(in_dir("t/sub/file"), 65534, 65534), 0);
		check_trusted("t/link", -EPERM, "t/sub/file: ");
	}
	assert_int_equal(phx_file_trusted("relative", NULL), -EINVAL);
}

static void test_sweep(void **state)
{
	/* a data directory of an RE may have such a name, and whatever is no temporary stays */
	static const char *const others[] = {"a.tmp",   "b.12x.tmp", "c.12.tmp.gz",
					     ".12.tmp", "12.tmp",    "d.0.tmp"};
	PHX_AUTO_FREE char *in = phx_path("%s/swept", dir);
	PHX_AUTO_FREE char *path = phx_path("%s/file", in), *marker = phx_path("%s/.marker", in),
			   *sub = phx_path("%s/re.12.tmp", in);
	(void)state;
	assert_int_equal(phx_dir_make(sub, 0755, NULL), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(others); i++) {
		PHX_AUTO_FREE char *other = phx_path("%s/%s", in, others[i]);
		assert_int_equal(phx_file_write(other, "x", 1, 0600, NULL), 0);
	}
	size_t n = count_files(in);
	write_and_die(path);
	write_and_die(marker);
	assert_int_equal(count_files(in), n + 2);
	phx_file_sweep(in);
	assert_int_equal(count_files(in), n);
	phx_file_sweep(path); /* is not there */
}

/* Another process makes the file `path` (or nothing), and ends. */
static int maker(const char *path, uint32_t after_ms, pid_t *ret_pid)
{
	*ret_pid = fork();
	if (*ret_pid == 0) {
		phx_sleep_ms(after_ms);
		int fd = path ? open(path, O_WRONLY | O_CREAT, 0600) : 0;
		_exit(fd < 0);
	}
	int pidfd = pidfd_open(*ret_pid, 0);
	assert_true(pidfd >= 0);
	return pidfd;
}

static void test_await(void **state)
{
	PHX_AUTO_FREE char *path = phx_path("%s/awaited", dir);
	PHX_AUTO_FREE char *nowhere = phx_path("%s/no-folder/awaited", dir);
	(void)state;
	pid_t pid;
	assert_int_equal(phx_file_await(path, -1, 30), -ETIMEDOUT);
	assert_int_equal(phx_file_await(nowhere, -1, 30), -ENOENT);
	/* who is to make it ends without */
	int pidfd = maker(NULL, 0, &pid);
	assert_int_equal(phx_file_await(path, pidfd, 60000), -ESRCH);
	close(pidfd);
	waitpid(pid, NULL, 0);
	/* what it did last counts, and somebody whom nobody knows is waited for, too */
	for (int known = 0; known < 2; known++) {
		pidfd = maker(path, 50, &pid);
		assert_int_equal(phx_file_await(path, known ? pidfd : -1, 60000), 0);
		assert_int_equal(phx_file_await(path, pidfd, 0), 0);
		close(pidfd);
		waitpid(pid, NULL, 0);
		unlink(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_and_read),
		cmocka_unit_test(test_mode_and_umask),
		cmocka_unit_test(test_read_limit),
		cmocka_unit_test(test_read_what_cannot_be_read),
		cmocka_unit_test(test_write_fails_and_nothing_changed),
		cmocka_unit_test(test_old_reader_keeps_old_file),
		cmocka_unit_test(test_temporary_is_no_link),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_remove_stays_on_its_file_system),
		cmocka_unit_test(test_remove_follows_no_links),
		cmocka_unit_test(test_remove_missing_and_file),
		cmocka_unit_test(test_dir_make),
		cmocka_unit_test(test_write_all),
		cmocka_unit_test(test_close_and_path),
		cmocka_unit_test(test_trusted),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_await),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
