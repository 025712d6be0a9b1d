/* Files below somebody else's directory: whatever it holds, nothing leads out of it. */
#include "unit/base/test_base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/tree.h"

static void paths_are_checked(void **state)
{
	static const char *const good[] = {"a",       "a/b", "..a",     "a..b/c.d",
					   ".hidden", "a b", "\xc3\xa4"};
	static const char *const bad[] = {"",     "/",    "/a",     "a/",    "a//b", ".",   "..",
					  "../a", "a/..", "a/../b", "a/./b", "a\nb", "\x7f"};
	char longer[300];
	(void)state;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(good); i++)
		assert_int_equal(phx_beneath_check(good[i], NULL), 0);
	for (size_t i = 0; i < PHX_ARRAY_SIZE(bad); i++) {
		struct phx_err err = {0};
		assert_int_equal(phx_beneath_check(bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "within the data directory"));
	}
	memset(longer, 'a', sizeof(longer));
	longer[255] = '\0';
	assert_int_equal(phx_beneath_check(longer, NULL), 0);
	longer[255] = 'a';
	longer[256] = '\0';
	assert_int_equal(phx_beneath_check(longer, NULL), -EINVAL);
}

struct place {
	char root[64], inside[80], secret[80];
	int dir;
};

static int make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	snprintf(p->root, sizeof(p->root), "/tmp/phx-beneath.XXXXXX");
	if (!mkdtemp(p->root))
		return -1;
	snprintf(p->inside, sizeof(p->inside), "%s/data", p->root);
	snprintf(p->secret, sizeof(p->secret), "%s/secret", p->root);
	mkdir(p->inside, 0755);
	phx_file_write(p->secret, "secret", 6, 0600, NULL);
	p->dir = open(p->inside, O_RDONLY | O_DIRECTORY);
	*state = p;
	return 0;
}

static int unmake(void **state)
{
	struct place *p = *state;
	close(p->dir);
	phx_dir_remove(p->root, NULL);
	free(p);
	return 0;
}

static int publish(struct place *p, const char *path, const char *from, uint64_t max)
{
	struct phx_err err = {0};
	int fd = open(from, O_RDONLY);
	int r = phx_beneath_publish(p->dir, path, fd, max,
				    (struct phx_beneath_owner){.uid = getuid(), .gid = getgid()},
				    &err);
	close(fd);
	if (r < 0)
		assert_true(err.text[0]);
	return r;
}

static int look(struct place *p, const char *path, uint64_t max)
{
	struct phx_err err = {0};
	uint64_t size = 77;
	int fd = phx_beneath_open(p->dir, path, max, &size, &err);
	if (fd < 0) {
		assert_true(err.text[0]);
		return fd;
	}
	close(fd);
	return (int)size;
}

static void published_whole(void **state)
{
	struct place *p = *state;
	assert_int_equal(publish(p, "a/b/c", p->secret, 100), 0);
	assert_int_equal(look(p, "a/b/c", 100), 6);
	assert_int_equal(look(p, "a/b/c", 5), -EFBIG);
	assert_int_equal(look(p, "a/b", 100), -EINVAL);
	assert_int_equal(look(p, "a/x", 100), -ENOENT);
	/* again, over what is there; too large: what was there stays, and nothing beside it */
	assert_int_equal(publish(p, "a/b/c", p->secret, 6), 0);
	assert_int_equal(publish(p, "a/b/c", p->secret, 5), -EFBIG);
	assert_int_equal(look(p, "a/b/c", 100), 6);
	assert_int_equal(unlinkat(p->dir, "a/b/c", 0), 0);
	assert_int_equal(unlinkat(p->dir, "a/b", AT_REMOVEDIR), 0);
	/* what is a directory is not replaced, a file is no directory */
	assert_true(publish(p, "a", p->secret, 100) < 0);
	assert_int_equal(publish(p, "f", p->secret, 100), 0);
	assert_true(publish(p, "f/g", p->secret, 100) < 0);
}

/* Published by root for somebody: it is his, and the directories on the way to it. */
/* How often "f" came whole, of what is told since the last look. */
static unsigned arrivals(int watch)
{
	char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(watch, bytes, sizeof(bytes));
	unsigned moved = 0;
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e = (const void *)(bytes + at);
		at += (ssize_t)(sizeof(*e) + e->len);
		moved += e->mask & IN_MOVED_TO && !strcmp(e->name, "f");
	}
	return moved;
}

/* Whoever waits for files there is told that it came whole, also in the place of another. */
static void published_is_told_as_whole(void **state)
{
	struct place *p = *state;
	int watch = inotify_init1(IN_NONBLOCK);
	assert_true(inotify_add_watch(watch, p->inside, IN_CREATE | IN_MOVED_TO) >= 0);
	assert_int_equal(publish(p, "f", p->secret, 100), 0);
	assert_int_equal(arrivals(watch), 1);
	assert_int_equal(publish(p, "f", p->secret, 100), 0);
	assert_int_equal(arrivals(watch), 1);
	close(watch);
}

static void published_for_its_owner(void **state)
{
	struct place *p = *state;
	struct phx_beneath_owner owner = {.uid = 65534, .gid = 65533};
	struct stat st;
	if (getuid() != 0)
		skip();
	int fd = open(p->secret, O_RDONLY);
	assert_int_equal(phx_beneath_publish(p->dir, "his/file", fd, 100, owner, NULL), 0);
	close(fd);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(fstatat(p->dir, i ? "his" : "his/file", &st, 0), 0);
		assert_int_equal(st.st_uid, owner.uid);
		assert_int_equal(st.st_gid, owner.gid);
	}
}

static void links_lead_nowhere(void **state)
{
	struct place *p = *state;
	assert_int_equal(symlinkat("../secret", p->dir, "link"), 0);
	assert_int_equal(symlinkat("..", p->dir, "up"), 0);
	assert_int_equal(symlinkat("/", p->dir, "slash"), 0);
	assert_int_equal(mkfifoat(p->dir, "pipe", 0666), 0);
	assert_int_equal(look(p, "link", 100), -ELOOP);
	assert_int_equal(look(p, "up/secret", 100), -ELOOP);
	assert_int_equal(look(p, "slash/etc/passwd", 1 << 20), -ELOOP);
	assert_int_equal(look(p, "../secret", 100), -EINVAL);
	assert_int_equal(look(p, "pipe", 100), -EINVAL);
	assert_int_equal(publish(p, "up/new", p->secret, 100), -ELOOP);
	assert_int_equal(publish(p, "../new", p->secret, 100), -EINVAL);
	/* a link as the last part is replaced itself, not what it names */
	assert_int_equal(publish(p, "link", "/etc/hostname", 1 << 20), 0);
	PHX_AUTO_FREE char *text = NULL;
	assert_int_equal(phx_file_read(p->secret, 100, &text, NULL, NULL), 0);
	assert_string_equal(text, "secret");
	char path[100];
	snprintf(path, sizeof(path), "%s/new", p->root);
	assert_int_equal(access(path, F_OK), -1);
}

static unsigned entries(const char *dir)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, NULL, NULL);
	assert_true(n >= 2);
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return (unsigned)n - 2;
}

/* Killed while it writes, it leaves nothing: not in a place of its own, and not where a file is
 * replaced. */
static void a_killed_writer_leaves_nothing(void **state)
{
	struct place *p = *state;
	static const char block[200000];
	int pipe_fds[2], unnamed = openat(p->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (unnamed < 0)
		skip(); /* this file system has no files without a name */
	close(unnamed);
	assert_int_equal(pipe(pipe_fds), 0);
	pid_t child = fork();
	if (child == 0) {
		struct phx_err err = {0};
		close(pipe_fds[1]);
		phx_beneath_publish(p->dir, "big", pipe_fds[0], 1 << 30,
				    (struct phx_beneath_owner){.uid = getuid(), .gid = getgid()},
				    &err);
		_exit(0);
	}
	close(pipe_fds[0]);
	/* more than a pipe holds: it has begun to write */
	assert_int_equal(phx_write_all(pipe_fds[1], block, sizeof(block)), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(pipe_fds[1]);
	assert_int_equal(entries(p->inside), 0);
}

static int take_away(struct place *p, const char *path)
{
	struct phx_err err = {0};
	int r = phx_beneath_remove(p->dir, path, &err);
	assert_int_equal(err.text[0] != 0, r < 0);
	return r;
}

/* What is removed is below the directory: a link goes, and not what it leads to. */
static void removed(void **state)
{
	struct place *p = *state;
	assert_int_equal(publish(p, "a/b", p->secret, 100), 0);
	assert_int_equal(symlinkat("../secret", p->dir, "link"), 0);
	assert_int_equal(symlinkat("..", p->dir, "up"), 0);
	assert_int_equal(mkfifoat(p->dir, "pipe", 0666), 0);
	assert_int_equal(take_away(p, "a/x"), -ENOENT);
	assert_int_equal(take_away(p, "a"), -EINVAL);
	assert_int_equal(take_away(p, "pipe"), -EINVAL);
	assert_int_equal(take_away(p, "up/secret"), -ELOOP);
	assert_int_equal(take_away(p, "../secret"), -EINVAL);
	assert_int_equal(take_away(p, "a/b"), 0);
	assert_int_equal(look(p, "a/b", 100), -ENOENT);
	assert_int_equal(take_away(p, "a/b"), -ENOENT);
	assert_int_equal(take_away(p, "link"), 0);
	assert_int_equal(access(p->secret, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_checked),
		cmocka_unit_test_setup_teardown(published_whole, make, unmake),
		cmocka_unit_test_setup_teardown(published_is_told_as_whole, make, unmake),
		cmocka_unit_test_setup_teardown(published_for_its_owner, make, unmake),
		cmocka_unit_test_setup_teardown(links_lead_nowhere, make, unmake),
		cmocka_unit_test_setup_teardown(removed, make, unmake),
		cmocka_unit_test_setup_teardown(a_killed_writer_leaves_nothing, make, unmake),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
